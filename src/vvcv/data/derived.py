"""Another integrand on the same sample: a task that shares points, scores and chains with the one it comes from."""

from __future__ import annotations

from copy import copy
from typing import Any

from .task import Task
from .validation import finite_array, require, visible


def derived(task: Task, values: Any, name: str) -> Task:
    """The task with other values; points and scores are not copied.

    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 5)
    >>> first = Task(x, -x, x, name="x")
    >>> square = derived(first, first.values**2, "x^2")
    >>> square, square.points is first.points
    (Task('x^2', n=5, d=1), True)
    """
    what = f"values of task {name!r}"
    values = visible(finite_array(values, what), what)
    require(values.shape == (task.size,), f"values must have shape ({task.size},), but have shape {values.shape}.")
    values.flags.writeable = False
    other = copy(task)
    object.__setattr__(other, "values", values)
    object.__setattr__(other, "name", name)
    return other
