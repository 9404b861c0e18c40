"""What every command that reads a file has in common: one line when something is wrong, and its exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Annotated

import typer

from ..data import require
from ..report.plot import matplotlib_module
from ..runtime.disk import place_for

#: Exit codes, where not all is well: the data are wrong, so that numbers are not to be believed; the command could not
#: be run.
DOUBTFUL, REFUSED = 1, 2

FormatHelp = "CSV, Parquet, npz, netCDF, zarr or ArviZ's files; CmdStan's diagnostic CSV."

File = Annotated[Path, typer.Argument(help=f"Points, scores and values: {FormatHelp}")]
MaxGigabytes = Annotated[float, typer.Option("--max-gb", min=0, help="Refuse files with more numbers than this.")]


@contextmanager
def in_one_line() -> Iterator[None]:
    """Errors that a person can do something about become one line and exit code 2."""
    try:
        yield
    except BrokenPipeError:  # of `| head`, which has what it wants: typer ends in silence
        raise
    except (ValueError, OSError, ImportError, MemoryError) as error:
        typer.echo(f"error: {' '.join(str(error).split()) or type(error).__name__}", err=True)
        raise typer.Exit(REFUSED) from None


def say(answer: str) -> None:
    """Print an answer; where it cannot be written, on a full disk, that is one line too."""
    with in_one_line():
        typer.echo(answer)


def most_bytes(gigabytes: float) -> int:
    """Bytes that may be read; infinitely many are as many as there can be.

    >>> most_bytes(2.0), most_bytes(float("inf")) == sys.maxsize
    (2000000000, True)
    """
    return min(int(min(gigabytes, sys.maxsize) * 1e9), sys.maxsize)


def require_places(read: Path | None, *written: Path | None) -> None:
    """Refuse, before any work is done, to write where nothing can be, or over another file of the same command."""
    asked = [path for path in written if path is not None]
    for path in asked:
        require(not place_for(path).is_dir(), f"{str(path)!r} is a folder, but a file is to be written. Name the file.")
    for one, other in combinations(asked if read is None else (read, *asked), 2):
        require(
            one.resolve() != other.resolve(), f"{str(other)!r} is named twice, and would be lost. Choose another name."
        )


def require_picture(path: Path) -> None:
    """Refuse, before any work is done, a picture of a format that is not drawn.

    >>> require_picture(Path("flow.png"))
    """
    bases = matplotlib_module("matplotlib.backend_bases")  # not for commands that draw nothing
    known = bases.FigureCanvasBase.get_supported_filetypes()
    require(
        path.suffix[1:].lower() in ("", *known),
        f"A picture's name must end in one of {', '.join(sorted(known))}, but is {path.name!r}. Rename it.",
    )
