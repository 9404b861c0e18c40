"""`vvcv check FILE`: points and scores from a file, checked before any estimate is made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ..checks import check
from ..data import Tasks
from ..data.files import read_arrays

#: Names under which samplers store what is needed; nutpie's come last.
POINTS = ("points", "unconstrained_draw")
SCORES = ("scores", "gradient")
VALUES = ("values",)


def check_command(
    file: Annotated[Path, typer.Argument(help="An .npz or netCDF file with points, scores and, if any, values.")],
) -> None:
    """Check scores against points: wrong sign, missing Jacobian, mixed-up rows, wrong units, heavy tails."""
    try:
        result = check(read_tasks(file))
    except (ValueError, OSError, ImportError) as error:
        typer.echo(f"error    file               {error}", err=True)
        raise typer.Exit(2) from None
    typer.echo(str(result))
    if not result.ok:
        raise typer.Exit(1)


def read_tasks(file: Path) -> Tasks:
    """Tasks from a file: points and scores `(n, d)` or `(chain, draw, d)`, and values with a last axis for tasks."""
    arrays = read_arrays(file, {*POINTS, *SCORES, *VALUES})
    points, scores = _named(arrays, POINTS, file), _named(arrays, SCORES, file)
    values = next((arrays[name] for name in VALUES if name in arrays), None)
    # A check needs no values: the first coordinate stands in, whose tails are those of the points.
    first = points[..., 0] if points.ndim > 1 else points
    return Tasks.shared(points, scores, first if values is None else values)


def _named(arrays: Mapping[str, np.ndarray], names: tuple[str, ...], file: Path) -> np.ndarray:
    found = next((name for name in names if name in arrays), None)
    if found is None:
        raise ValueError(
            f"The file must hold an array named {' or '.join(names)}, but {file.name!r} holds {sorted(arrays)}."
        )
    return arrays[found]
