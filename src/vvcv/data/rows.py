"""Points with their scores where a control variate is evaluated, and the task whose it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from .axes import in_order_of
from .validation import finite_array, require


def points_and_scores(
    points: Any, scores: Any, dimension: int
) -> tuple[Float[np.ndarray, "k d"], Float[np.ndarray, "k d"]]:
    """Both as arrays of one row for each point; a vector is one point, or k numbers where points are numbers.

    >>> points_and_scores([1.0, 2.0], [-1.0, -2.0], dimension=2)[1]
    array([[-1., -2.]])
    """
    given = finite_array(points, "points"), finite_array(in_order_of(points, scores), "scores")
    x, s = (
        array.reshape(-1, dimension) if array.ndim < 2 and array.size % dimension == 0 else array for array in given
    )
    require(
        given[0].shape == given[1].shape and x.ndim == 2 and x.shape[1] == dimension,
        f"points and scores must have shape (k, {dimension}), as those of the fit, but have {given[0].shape} and "
        f"{given[1].shape}.",
    )
    return x, s


def index_of_task(task: str | int, names: Sequence[str]) -> int:
    """The place of a task that is named, or counted from 0; from the end if below.

    >>> index_of_task("b", ["a", "b"]), index_of_task(-1, ["a", "b"])
    (1, 1)
    """
    index = names.index(task) if task in names else task
    require(
        isinstance(index, int | np.integer) and -len(names) <= index < len(names),
        f"There is no task {task!r}; the names are {list(names)}, in this order from 0.",
    )
    return int(index) % len(names)
