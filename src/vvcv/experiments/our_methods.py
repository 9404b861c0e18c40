"""Our rows: what a user gets from `vvcv.estimate`, with defaults and rung by rung."""

from __future__ import annotations

from collections.abc import Sequence

from ..data import Tasks
from ..estimate import estimate
from .experiment import Cell, Method, Vector

#: Rungs in the order of the table, and the default last.
RUNGS = ("zv", "cf", "secf", "vv", "vv-secf", "auto")
QUICK = ("zv", "vv", "auto")


def our_methods(quick: bool = False) -> dict[str, Method]:
    """Every rung by a call of its own, as a user would; a quick run leaves some out."""
    return {rung: Method(_label(rung), _run(rung), ours=True) for rung in (QUICK if quick else RUNGS)}


def _run(rung: str):
    def run(cell: Cell, data: Sequence[Tasks], seeds: Sequence[int]) -> list[Vector]:
        return [estimate(tasks, rung).mean for tasks in data]

    return run


def _label(rung: str) -> str:
    return "ours: default" if rung == "auto" else f"ours: {rung}"
