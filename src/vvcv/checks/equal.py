"""Values of a model that are all the same: of what is rare they may have seen nothing, and their error bar is zero."""

from __future__ import annotations

from ..data.task import Task, Tasks
from .findings import Finding

#: Probability with which runs miss an event as likely as the alarm says: as that of an interval of two standard errors.
MISSED = 0.05


def describe_equal(tasks: Tasks) -> list[Finding]:
    """Models of uncertain inputs all of whose runs gave one value; elements of a posterior may well be constant."""
    return [_equal(task, name) for task, name in zip(tasks, tasks.names, strict=True) if _is_equal(task)]


def likely_to_miss(n: int) -> float:
    """Probability of an event that n independent runs miss with probability `MISSED`.

    >>> round(likely_to_miss(15), 2)
    0.18
    """
    return 1 - MISSED ** (1 / n)


def _is_equal(task: Task) -> bool:
    return bool(task.inputs) and bool((task.values == task.values[0]).all())


def _equal(task: Task, name: str) -> Finding:
    message = (
        f"all {task.size} values are {task.values[0]:g}, of which no error bar can be told: an event of probability "
        f"{likely_to_miss(task.size):.2g} is missed by so many runs one time in {1 / MISSED:g}."
    )
    remedy = (
        "Unless the model is constant, make more runs, or have it return how far the event is, such as load - capacity."
    )
    return Finding("warning", "equal-values", message, remedy, name)
