"""From tasks to the rows a fit works on: duplicates merged, values standardised, rows and tasks in their own order.

Nothing downstream may depend on units or on the order of rows and tasks. Rows are therefore sorted, and the choice of
hyperparameters, an optimisation that magnifies the last digit, sees standard coordinates rounded to `DIGITS`, far
below any noise it can resolve; the final solution uses the data as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from .duplicates import Distinct, merge_duplicates
from .standardize import Coordinates, CoordinateSystem, can_whiten
from .task import Tasks

DIGITS = 7


@dataclass(frozen=True, eq=False)
class Prepared:
    """Distinct rows of each task with the shift and scale of its values."""

    tasks: Tasks
    distinct: tuple[Distinct, ...]
    shift: Float[np.ndarray, " T"]
    scale: Float[np.ndarray, " T"]

    @classmethod
    def of(cls, tasks: Tasks) -> Prepared:
        """Merge duplicates and measure the spread of the values, task by task."""
        distinct = tuple(
            merge_duplicates(task.points, task.scores, task.values, name)
            for task, name in zip(tasks, tasks.names, strict=True)
        )
        shift = np.array([np.average(rows.values, weights=rows.multiplicity) for rows in distinct])
        spread = [
            np.sqrt(np.average((rows.values - centre) ** 2, weights=rows.multiplicity))
            for rows, centre in zip(distinct, shift, strict=True)
        ]
        magnitude = np.array([np.abs(rows.values).max() for rows in distinct])
        negligible = np.array(spread) <= 1e-13 * magnitude
        return cls(tasks, distinct, shift, np.where(negligible, 0.0, spread))

    def constant(self, task: int) -> bool:
        """Whether the values of a task do not vary: their mean is then known without any control variate."""
        return self.scale[task] == 0.0

    def standard_values(self, task: int) -> Float[np.ndarray, " n"]:
        """Values of one task with mean zero and variance one."""
        return (self.distinct[task].values - self.shift[task]) / self.scale[task]

    @cached_property
    def canonical(self) -> tuple[int, ...]:
        """An order of the tasks that does not depend on the order they were given in."""

        def key(task: int) -> tuple:
            rows = self.distinct[task]
            standard = np.zeros(1) if self.constant(task) else np.round(self.standard_values(task), 6)
            return (len(rows.values), *standard[:50].tolist())

        return tuple(sorted(range(len(self.tasks)), key=key))

    def systems(self, members: tuple[int, ...]) -> list[CoordinateSystem]:
        """The coordinate systems worth trying for these tasks."""
        pooled = np.concatenate([self.distinct[t].points for t in members])
        return ["scaled", "whitened"] if can_whiten(pooled) else ["scaled"]

    def coordinates(self, members: tuple[int, ...], system: CoordinateSystem) -> Coordinates:
        """Coordinates fitted to the pooled points of some tasks, each task with the same total weight."""
        points = np.concatenate([self.distinct[t].points for t in members])
        weights = [self.distinct[t].multiplicity / self.distinct[t].multiplicity.sum() for t in members]
        return Coordinates.fit(points, system, np.concatenate(weights))
