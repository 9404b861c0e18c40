"""What every command that reads a file has in common: one line when something is wrong, and its exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

#: Exit codes: all is well; the data are wrong, so that numbers are not to be believed; the command could not be run.
GOOD, DOUBTFUL, REFUSED = 0, 1, 2

FormatHelp = "CSV, Parquet, npz, netCDF, zarr or ArviZ's files; CmdStan's diagnostic CSV."

File = Annotated[Path, typer.Argument(help=f"Points, scores and values: {FormatHelp}")]
MaxGigabytes = Annotated[float, typer.Option("--max-gb", min=0, help="Refuse files with more numbers than this.")]


@contextmanager
def in_one_line() -> Iterator[None]:
    """Errors that a person can do something about become one line and exit code 2."""
    try:
        yield
    except (ValueError, OSError, ImportError, MemoryError) as error:
        typer.echo(f"error: {' '.join(str(error).split()) or type(error).__name__}", err=True)
        raise typer.Exit(REFUSED) from None
