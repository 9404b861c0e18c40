"""A data set and a variate made one: everything that selection needs, as plain arrays.

    values = columns beta + g_theta + residual,   the first T columns indicate the tasks (paper, eq. 8)

Nothing below this point knows where the data came from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ..data import Coordinates, Tasks, as_tasks
from ..data.standardize import CoordinateSystem
from ..kernels import Side
from ..linear_system.design import orthonormal_features
from ..runtime.precision import float64
from ..stein import polynomial_features
from .variates import Space, Variate


@dataclass(frozen=True, eq=False)
class Problem:
    """Values, mean columns, a parametric space at the rows, and the task matrix B to start from."""

    tasks: Tasks
    variate: Variate
    space: Space
    columns: Float[np.ndarray, "N p"]
    b: Float[np.ndarray, "T T"]
    chains: tuple[tuple[int, int], ...]
    side: Side
    view: Callable[[np.ndarray, np.ndarray, np.ndarray], Side]
    means: SemiExactColumns

    @classmethod
    def build(cls, tasks: Tasks, variate: Any, coordinates: CoordinateSystem | None = None) -> Problem:
        """Evaluate the variate on the data, in the user's coordinates or in standard ones."""
        tasks = as_tasks(tasks)
        system = None if coordinates is None else Coordinates.fit(tasks.points, coordinates)

        def view(points: np.ndarray, scores: np.ndarray, task: np.ndarray) -> Side:
            if system is None:
                return Side(points, scores, task)
            return Side(system.points(points), system.scores(scores), task)

        side = view(tasks.points, tasks.scores, tasks.task)
        means = SemiExactColumns.fit(side, len(tasks), variate.exact_degree)
        return cls(
            tasks=tasks,
            variate=variate,
            space=float64(variate.space)(side, side, len(tasks)),
            columns=means.at(side),
            b=variate.task_matrix(len(tasks)),
            chains=tuple(task.chains or (1, task.size) for task in tasks),
            side=side,
            view=view,
            means=means,
        )

    @property
    def values(self) -> Float[np.ndarray, " N"]:
        """All values, task after task."""
        return self.tasks.values

    @property
    def plain_means(self) -> Float[np.ndarray, " p"]:
        """beta^(0): plain averages, and no polynomial part (paper, A.2)."""
        averages = [task.values.mean() for task in self.tasks]
        return np.concatenate([averages, np.zeros(self.columns.shape[1] - len(averages))])

    @float64
    def elsewhere(self, points: np.ndarray, scores: np.ndarray, task: np.ndarray) -> tuple[Space, np.ndarray]:
        """The space and the columns at other rows, such as held-out data."""
        rows = self.view(points, scores, task)
        return self.variate.space(rows, self.side, len(self.tasks)), self.means.at(rows)


@dataclass(frozen=True, eq=False)
class SemiExactColumns:
    """Columns without penalty: task indicators and, for a degree above 0, Stein images of polynomials task by task."""

    degree: int
    transforms: tuple[Float[np.ndarray, "p q"], ...]

    @classmethod
    def fit(cls, side: Side, tasks: int, degree: int) -> SemiExactColumns:
        """Well-conditioned combinations of the images for each task, from the rows of the data."""
        if degree == 0:
            return cls(0, (np.zeros((0, 0)),) * tasks)
        rows = [np.flatnonzero(np.asarray(side.task) == t) for t in range(tasks)]
        x, s = np.asarray(side.points), np.asarray(side.scores)
        return cls(degree, tuple(orthonormal_features(x[r], s[r], degree)[1] for r in rows))

    def at(self, side: Side) -> Float[np.ndarray, "n p"]:
        """The columns at any rows."""
        mine = np.asarray(side.task)[:, None] == np.arange(len(self.transforms))
        blocks = [mine.astype(float)]
        if self.degree:
            images = polynomial_features(np.asarray(side.points), np.asarray(side.scores), self.degree)
            blocks += [images @ transform * mine[:, [t]] for t, transform in enumerate(self.transforms)]
        return np.hstack(blocks)
