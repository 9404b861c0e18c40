"""`vvcv evidence FILE`: log evidence from the draws of power posteriors in a file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from ..files.named import read_arrays
from .messages import DOUBTFUL, MaxGigabytes, in_one_line, most_bytes, require_picture, require_places, say


def evidence_command(
    file: Annotated[
        Path,
        typer.Argument(
            help="An .npz or netCDF file with log_likelihoods, temperatures, points, scores_likelihood, scores_prior."
        ),
    ],
    plot: Annotated[Path | None, typer.Option(help="Where a picture goes, if anywhere.")] = None,
    compare: Annotated[bool, typer.Option(help="Also plain averages, stepping stones and MBAR.")] = True,
    max_gb: MaxGigabytes = 2.0,
) -> None:
    """Log evidence with an error bar, from draws of all power posteriors.

    The first axis of every array is the temperatures; or all have one row per draw, temperatures too. Exit codes are
    those of `vvcv estimate`.

    Example: vvcv evidence powers.npz --no-compare
    """
    from ..thermodynamic import evidence
    from ..thermodynamic.samples import FIELDS

    names = {name for others in FIELDS.values() for name in others}
    with in_one_line(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        require_places(file, plot)
        if plot is not None:
            require_picture(plot)
        result = evidence(read_arrays(file, names, most_bytes(max_gb)), compare=compare)
    for warning in caught:
        typer.echo(f"warning: {warning.message}", err=True)
    say(str(result))
    if plot is not None:
        with in_one_line():
            result.plot()[0].figure.savefig(plot, dpi=150)
        typer.echo(f"Picture: {plot}")
    if any(_says_error(warning) for warning in caught):
        raise typer.Exit(DOUBTFUL)


def _says_error(warning: warnings.WarningMessage) -> bool:
    from ..checks import AlarmWarning

    lines = str(warning.message).splitlines()
    return issubclass(warning.category, AlarmWarning) and any(line.startswith("error") for line in lines)
