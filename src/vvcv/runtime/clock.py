"""Time that was given: work that would not end within it is not begun, and work under way ends with what it has."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

import numpy as np
from scipy.linalg.lapack import dpotrf

_DEADLINE: ContextVar[float] = ContextVar("deadline", default=np.inf)

#: Rows of the factorisation that tells how fast this machine is, and how often it is taken, together for a twentieth of
#: a second. (By 512 rows 4000 would seem to take half as long again as they do.)
PROBE_ROWS, PROBES = 1024, 3


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """A block that has at most so many seconds, or fewer where less is left.

    >>> with limited(60.0):
    ...     0 < time_left() <= 60
    True
    """
    token = _DEADLINE.set(min(_DEADLINE.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def time_left() -> float:
    """Seconds that are left; infinite where no limit was given."""
    deadline = _DEADLINE.get()
    return deadline if deadline == np.inf else deadline - time.monotonic()


@cache
def factorisation_seconds(rows: int) -> float:
    """About how long a Cholesky factorisation of so many rows takes here, told from a small one.

    >>> factorisation_seconds(2000) > factorisation_seconds(1000) > 0
    True
    """
    if rows != PROBE_ROWS:
        return factorisation_seconds(PROBE_ROWS) * (rows / PROBE_ROWS) ** 3
    matrix, seconds = np.asfortranarray(np.eye(rows) + 0.1), []
    for _ in range(PROBES):
        started = time.perf_counter()
        dpotrf(matrix, lower=1)
        seconds.append(time.perf_counter() - started)
    return min(seconds)
