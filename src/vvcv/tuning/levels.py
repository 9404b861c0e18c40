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


#: Most numbers, for each value, that are chosen on one task's values alone where tasks on points of their own are
#: fitted together: with more, a fit may predict all values left out by luck. Of a dear model in four dimensions errors
#: from 15 runs are .75 times as large if fits of that task alone do not count which chose more (.3 to .5 alike; at .6
#: .97 times), and .5 times if it has no such kernel of its own beside that of all; of two others with 12 and 15 runs
#: .84 and 1 times, of 20 and more runs .96 to 1.14 times, 1 in the median (14 to 16 samples, seeds 97000 to 97015).
MOST_CHOSEN = 0.5


def richest_level(model: Model, design: Design) -> int:
    """The last level with enough values for its parameters."""
    counts = [Parameters(model, tied).count for tied in LEVELS]
    return max((k for k, count in enumerate(counts) if VALUES * count <= PARAMETERS * design.values.size), default=0)


def enough_alone(model: Model, level: int, rows: int) -> bool:
    """Whether a task's values are enough to choose the numbers of a model that it has for itself beside others."""
    return Parameters(model, LEVELS[level]).count <= MOST_CHOSEN * rows


def rows_for_each_axis(design: Design, most: int) -> int:
    """Rows with which every axis of one task has its own weight and lengthscale; none where that takes too many."""
    needed = math.ceil(VALUES * 2 * (design.side.points.shape[1] + 1) / PARAMETERS)
    return needed if needed <= most and design.values.ndim == 1 else 0
