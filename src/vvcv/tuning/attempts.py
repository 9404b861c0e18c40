"""Attempts that may fail numerically: a candidate that does is left out, never the estimate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from scipy.linalg import LinAlgError

from ..runtime.threads import Outcome, side_by_side

R = TypeVar("R")


def those_that_work(attempts: Iterable[Callable[[], R]], required: bool = True, at_once: bool = False) -> list[R]:
    """What the attempts give, those left out that fail numerically; if all do and one is required, the last failure.

    One after the other, or, where they are small enough not to need the whole machine each, at once.

    >>> import numpy as np
    >>> those_that_work([lambda: 1, lambda: np.linalg.cholesky(-np.eye(1))])
    [1]
    """
    outcomes = side_by_side(list(attempts)) if at_once else map(Outcome, attempts)
    results: list[R] = []
    failure: LinAlgError | None = None
    for outcome in outcomes:
        if isinstance(outcome.error, LinAlgError):
            failure = outcome.error
        else:
            results.append(outcome.result())
    if required and failure is not None and not results:
        raise failure
    return results
