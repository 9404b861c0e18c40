"""The control variate that an estimate has found, as a function that a user can call."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from ..data.rows import index_of_task, points_and_scores
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
        points, scores = points_and_scores(points, scores, self._dimension)
        return self._variates[index_of_task(task, self.names)](points, scores)
