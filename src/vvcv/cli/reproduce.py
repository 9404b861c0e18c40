"""`vvcv reproduce NAME`: the paper's tables and figures, its own rows and ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .messages import in_one_line


def reproduce_command(
    name: Annotated[str, typer.Argument(help="An experiment, or all; `vvcv reproduce list` prints the names.")],
    quick: Annotated[
        bool, typer.Option("--quick/--full", help="A few replications in a few minutes, or as many as the paper's.")
    ] = False,
    replications: Annotated[int | None, typer.Option(min=1, help="Replications of every cell.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed from which every replication's own is derived.")] = 0,
    out: Annotated[Path, typer.Option(help="Results go to OUT/NAME.")] = Path("results"),
    methods: Annotated[
        str | None, typer.Option(help='Rows to run, separated by commas; "paper" and "ours" name groups.')
    ] = None,
    replication: Annotated[
        int | None, typer.Option(min=0, help="Run this replication alone, counted from 0, and print its answers.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Discard what is stored for these rows first.")] = False,
) -> None:
    """Run a table or figure of the paper, or resume it: CSV, Markdown table, PNG and SVG, published numbers beside.

    Example: vvcv reproduce list
    """
    from ..experiments import EXPERIMENTS, load_experiment
    from ..experiments.runner import replicate, reproduce

    if name == "list":
        typer.echo("\n".join(EXPERIMENTS))
        return
    rows = None if methods is None else methods.split(",")
    given: dict[str, Any] = {"quick": quick, "seed": seed, "methods": rows}
    with in_one_line():
        for each in EXPERIMENTS if name == "all" else (name,):
            experiment = load_experiment(each)
            if replication is not None:
                _print_answers(each, replicate(experiment, replication, **given))
                continue
            results = reproduce(experiment, out, replications=replications, fresh=fresh, **given)
            typer.echo((results.folder / "table.md").read_text())
            typer.echo(f"Files: {results.folder}")


def _print_answers(name: str, found: list[tuple[Any, str, Any, float]]) -> None:
    for cell, method, answer, error in found:
        numbers = " ".join(f"{number:.10g}" for number in answer)
        typer.echo(f"{name}: {cell}, {method}: error {error:.6g}, answer {numbers}")
