"""Our rows: what a user gets from `vvcv.estimate`, with defaults and rung by rung."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ..data import Tasks
from ..estimation import METHODS, Estimate, compare, estimate
from .experiment import Cell, Method, Vector

#: The default, which climbs all rungs, and each of them.
RUNGS = ("auto", *METHODS[1:])
QUICK = ("auto", "zv", "vv")

#: What the seconds of our rows mean.
NOTE = (
    "Where tasks have points of their own, our single rungs are read off the ladder that the default has climbed: its "
    "seconds are those of all. A rung that needs more points than there are has no number."
)


def our_methods(quick: bool = False) -> dict[str, Method]:
    """The default and every rung; a quick run leaves some out."""
    return {rung: Method(_label(rung), _run(rung), ours=True) for rung in (QUICK if quick else RUNGS)}


def _run(rung: str):
    def run(cell: Cell, data: Sequence[Tasks], seeds: Sequence[int]) -> list[Vector]:
        return [_mean(tasks, rung) for tasks in data]

    return run


def _mean(tasks: Tasks, rung: str) -> Vector:
    if tasks.share_points:  # there the default does not climb every rung
        return estimate(tasks, rung, on_alarm="ignore").mean
    found = _ladder(tasks).get(rung)
    return np.full(len(tasks), np.nan) if found is None else found.mean


@lru_cache(maxsize=1)
def _ladder(tasks: Tasks) -> dict[str, Estimate]:
    """All rungs that these data allow, each fitted once."""
    return compare(tasks, RUNGS, refused="skip", on_alarm="ignore")


def _label(rung: str) -> str:
    return "ours: default" if rung == "auto" else f"ours: {rung}"
