"""The control variate that an estimate has found, as a function that a user can call."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from ..data import finite_array, require
from ..runtime.precision import float64
from .weights import Answer


class ControlVariate:
    """g = (g_1, ..., g_T) with Pi_t[g_t] = 0 for every task t (paper, eq. 5): call it with points, scores, task."""

    def __init__(self, names: tuple[str, ...], answers: list[Answer], dimension: int) -> None:
        self.names = names
        self._variates = [answer.variate for answer in answers]
        self._dimension = dimension

    @float64
    def __call__(self, points: Any, scores: Any, task: str | int = 0) -> Float[np.ndarray, " k"]:
        """Values of g_t at points, given the scores of task t's target there."""
        index = self.names.index(task) if task in self.names else task
        require(
            isinstance(index, int | np.integer) and -len(self.names) <= index < len(self.names),
            f"task must be one of the names {list(self.names)} or an index below {len(self.names)}, but is {task!r}.",
        )
        points, scores = finite_array(points, "points"), finite_array(scores, "scores")
        if points.ndim < 2 and points.size % self._dimension == 0:
            points = points.reshape(-1, self._dimension)
        scores = scores.reshape(points.shape) if scores.size == points.size else scores
        require(
            points.ndim == 2 and points.shape[1] == self._dimension and scores.shape == points.shape,
            f"points and scores must have shape (k, {self._dimension}), but have {points.shape} and {scores.shape}.",
        )
        return self._variates[int(index)](points, scores)
