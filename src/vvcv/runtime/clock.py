"""Time that was given: work that would not end within it is not begun, and work under way ends with what it has."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Event

import numpy as np
from scipy.linalg.lapack import dpotrf

_DEADLINE: ContextVar[float] = ContextVar("deadline", default=np.inf)

#: Set when work was found to be out of time, also in a part that must leave some to others.
_MISSED: ContextVar[Event | None] = ContextVar("missed", default=None)

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
    missed = _MISSED.set(_MISSED.get() or Event())
    try:
        yield
    finally:
        _DEADLINE.reset(token)
        _MISSED.reset(missed)


def time_left() -> float:
    """Seconds that are left; infinite where no limit was given."""
    deadline = _DEADLINE.get()
    left = deadline if deadline == np.inf else deadline - time.monotonic()
    if left <= 0:
        _note()
    return left


def time_for(seconds: float) -> bool:
    """Whether work of so many seconds would end in time; where not, time was short.

    >>> with limited(1.0):
    ...     time_for(0.1), time_was_short(), time_for(60.0), time_was_short()
    (True, False, False, True)
    """
    enough = seconds <= time_left()
    if not enough:
        _note()
    return enough


def _note() -> None:
    missed = _MISSED.get()
    if missed is not None:
        missed.set()


def time_was_short() -> bool:
    """Whether anyone, in any part of this block, has found that no time was left, or too little.

    >>> with limited(60.0):
    ...     with limited(0.0):
    ...         out_of_time = time_left() <= 0
    ...     out_of_time, time_was_short()
    (True, True)
    """
    missed = _MISSED.get()
    return time_left() <= 0 or (missed is not None and missed.is_set())


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
