"""What is said where a rung cannot serve a task: the rule, what was found, what to do."""

from __future__ import annotations

from ..candidates.rungs import FEWEST_POINTS
from ..runtime.memory import bytes_needed


class RefusedError(ValueError):
    """A rung cannot serve a task: too few points, or too many for the machine."""


def too_many_rows(method: str, task: str, rows: int, room: int) -> str:
    """An exact fit of more rows than there is room for.

    >>> too_many_rows("cf", "a", 100_000, 12_000)[:60]
    "method 'cf' must factorise a matrix of 100000 rows for task "
    """
    return (
        f"method {method!r} must factorise a matrix of {rows} rows for task {task!r}, which takes "
        f"{bytes_needed(rows) / 1e9:.0f} GB, and time like its cube; there is room for {room} rows."
        " Thin the sample, or use method 'inducing' or 'auto'."
    )


def no_factor(method: str, task: str, points: int) -> str:
    """Kernel matrices none of which could be factorised.

    >>> no_factor("cf", "a", 9)[:45]
    "method 'cf' must factorise a kernel matrix of"
    """
    return (
        f"method {method!r} must factorise a kernel matrix of the {points} distinct points of task {task!r}, which "
        "failed for every kernel tried. Points that nearly coincide do this: merge them, or use 'auto'."
    )


def too_few_points(method: str, task: str, points: int, dimension: int) -> str:
    """Fewer points than a rung has something to choose by.

    >>> too_few_points("zv", "a", 2, 5)[:45]
    "method 'zv' needs more points than task 'a' h"
    """
    return (
        f"method {method!r} needs more points than task {task!r} has: {points} distinct points in dimension "
        f"{dimension} (kernels need {FEWEST_POINTS}, polynomials more than their coefficients, and beside a kernel "
        "three times as many). Add points, or use 'auto'."
    )
