"""How many parameters a model may have: all dimensions alike, or a weight and a lengthscale for each."""

from __future__ import annotations

import math

from ..linear_system.design import Design
from ..linear_system.model import Model
from .parameters import Parameters

#: Ties of the levels: all dimensions alike, each with its own weight, each with its own weight and lengthscale.
LEVELS: tuple[frozenset[str], ...] = (
    frozenset({"log_lengthscale", "log_axes"}),
    frozenset({"log_lengthscale"}),
    frozenset(),
)

#: So many values for so many parameters: fewer choose them by chance.
VALUES, PARAMETERS = 4, 3


def richest_level(model: Model, design: Design) -> int:
    """The last level with enough values for its parameters."""
    counts = [Parameters(model, tied).count for tied in LEVELS]
    return max((k for k, count in enumerate(counts) if VALUES * count <= PARAMETERS * design.values.size), default=0)


def rows_for_each_axis(design: Design, most: int) -> int:
    """Rows with which every axis of one task has its own weight and lengthscale; none where that takes too many."""
    needed = math.ceil(VALUES * 2 * (design.side.points.shape[1] + 1) / PARAMETERS)
    return needed if needed <= most and design.values.ndim == 1 else 0
