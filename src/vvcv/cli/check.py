"""`vvcv check FILE`: points and scores from a file, checked before any estimate is made."""

from __future__ import annotations

import typer

from .messages import DOUBTFUL, File, MaxGigabytes, in_one_line, most_bytes, say


def check_command(file: File, max_gb: MaxGigabytes = 2.0) -> None:
    """Check scores against points: wrong sign, missing Jacobian, mixed-up rows, wrong units, heavy tails.

    Exit code 0: nothing found; 1: something is wrong with the data; 2: the file cannot be read.

    Example: vvcv check draws.csv
    """
    from ..checks import check
    from ..files import read_tasks

    with in_one_line():
        result = check(read_tasks(file, most_bytes(max_gb)))
    say(str(result))
    if not result.ok:
        raise typer.Exit(DOUBTFUL)
