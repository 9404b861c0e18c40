"""The command line: `vvcv demo` and what else a person would rather type than program."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..data import require
from .check import check_command
from .estimate import convert_command, estimate_command, summary_command
from .evidence import evidence_command
from .messages import in_one_line, require_picture, require_places
from .reproduce import reproduce_command

app = typer.Typer(no_args_is_help=True, pretty_exceptions_show_locals=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        from ..runtime.version import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Many related expectations at once, with error bars.

    Example: vvcv estimate draws.csv
    """


@app.command()
def demo(
    runs: Annotated[int, typer.Option(min=11, help="Model runs per fidelity.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the random inputs.")] = 0,
    out: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("vvcv-demo.png"),
) -> None:
    """Expected flow through a borehole from a few cheap and a few dear model runs.

    Example: vvcv demo --runs 12
    """
    from .demo import run_demo

    with in_one_line():
        require(seed >= 0, f"--seed must be a whole number of at least 0, but is {seed}.")
        require_places(None, out)
        require_picture(out)
        run_demo(runs, seed, out)


app.command("estimate")(estimate_command)
app.command("summary")(summary_command)
app.command("convert")(convert_command)
app.command("check")(check_command)
app.command("evidence")(evidence_command)
app.command("reproduce")(reproduce_command)


@app.command()
def version() -> None:
    """Print the version."""
    _print_version(True)


def main() -> None:
    """Entry point of the `vvcv` program; names that a terminal cannot show are escaped, and lose no answer."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app()


if __name__ == "__main__":
    main()
