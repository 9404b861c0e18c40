"""What a solution takes."""

from __future__ import annotations

from ..runtime.clock import factorisation_seconds
from ..stein.host_gram import MOST_ROWS
from .fits import ROUNDED_ROWS

#: What a solution with its errors takes, in factorisations of its size (2.3 to 3.5 of 1000 to 4000 rows), and the
#: seconds of a compilation where one is needed.
FACTORISATIONS, COMPILATION = 3.0, 2.0


def seconds_to_solve(rows: int) -> float:
    """About how long the solution of so many rows takes on this machine, twice where errors are judged on rounded data.

    >>> seconds_to_solve(100) < seconds_to_solve(4000)
    True
    """
    times = 2 if rows <= ROUNDED_ROWS else 1
    return times * FACTORISATIONS * factorisation_seconds(rows) + (COMPILATION if rows > MOST_ROWS else 0.0)
