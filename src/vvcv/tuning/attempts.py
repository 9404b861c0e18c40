"""Attempts that may fail numerically, or come too late: a candidate that does is left out, never the estimate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from scipy.linalg import LinAlgError

from ..runtime.threads import Outcome, side_by_side
from .interrupt import stop_requested

R = TypeVar("R")


class TooLateError(LinAlgError):
    """There is an answer already, and no time for another."""


def those_that_work(attempts: Iterable[Callable[[], R]], required: bool = True, at_once: bool = False) -> list[R]:
    """What the attempts give, those left out that fail numerically; if all do and one is required, the last failure.

    One after the other or, where each is worth a thread and does not need the whole machine, at once. When the fit is
    to end with what it has, those not yet begun are left out too, unless none has worked so far.

    >>> import numpy as np
    >>> those_that_work([lambda: 1, lambda: np.linalg.cholesky(-np.eye(1))])
    [1]
    """
    results: list[R] = []

    def in_time(attempt: Callable[[], R]) -> R:
        if results and stop_requested():
            raise TooLateError
        result = attempt()
        results.append(result)
        return result

    calls = [lambda attempt=attempt: in_time(attempt) for attempt in attempts]
    outcomes = side_by_side(calls) if at_once else [Outcome(call) for call in calls]
    failures = [outcome.error for outcome in outcomes if isinstance(outcome.error, LinAlgError)]
    if required and failures and not results:
        raise failures[-1]
    return [outcome.result() for outcome in outcomes if not isinstance(outcome.error, LinAlgError)]
