"""A data set and a variate made one: everything that selection needs, as plain arrays.

    values = columns beta + g_theta + residual,   the first T columns indicate the tasks (paper, eq. 8)

Nothing below this point knows where the data came from. Everything is made when first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float

from ..data import Coordinates, Tasks, as_tasks, one_of, require
from ..data.standardize import CoordinateSystem, covariance_from_scores
from ..kernels import Coregionalization, Side
from ..linear_system.design import orthonormal_features
from ..runtime.precision import float64
from ..stein import polynomial_features
from .variates import Penalty, Space, Variate
from .variates.space import AnyArray

#: g at points with scores of the target of one task, given by its index.
Function = Callable[[np.ndarray, np.ndarray, int], np.ndarray]


@dataclass(frozen=True, eq=False)
class Problem:
    """Values, mean columns, a parametric space at the rows, and the task matrix B to start from.

    >>> from vvcv.paper import PolynomialVariate
    >>> x = np.linspace(-2, 2, 9)[:, None]
    >>> Problem(Tasks.shared(x, -x, x**2), PolynomialVariate(1)).plain_means.round(4)
    array([1.6667])
    """

    tasks: Tasks
    variate: Variate
    coordinates: CoordinateSystem | None = None

    def __post_init__(self) -> None:
        one_of(self.coordinates, (None, *get_args(CoordinateSystem)), "The coordinates")

    @classmethod
    def build(cls, tasks: Any, variate: Variate, coordinates: CoordinateSystem | None = None) -> Problem:
        """The variate on the data, in the user's coordinates or in standard ones."""
        return cls(as_tasks(tasks), variate, coordinates)

    def on(self, tasks: Tasks) -> Problem:
        """The same variate on other data."""
        return Problem(tasks, self.variate, self.coordinates)

    @cached_property
    def side(self) -> Side:
        """Points, scores and tasks of all rows, as the variate sees them."""
        return self._view(self.tasks.points, self.tasks.scores, self.tasks.task)

    @cached_property
    def means(self) -> SemiExactColumns:
        """The columns without penalty, as functions."""
        return SemiExactColumns.fit(self.side, len(self.tasks), self.variate.exact_degree)

    @cached_property
    def columns(self) -> Float[np.ndarray, "N p"]:
        """The columns without penalty at the rows."""
        return self.means.at(self.side)

    @cached_property
    @float64
    def space(self) -> Space:
        """The variate's parametric space at the rows."""
        self.variate.check(self.side, len(self.tasks))
        return self.variate.space(self.side, self.side, len(self.tasks))

    @float64
    def space_with(self, penalty: Penalty) -> Space:
        """The space with all that its norm needs: for the norm of the RKHS that may be a matrix of its own."""
        return self._space_with_norm if penalty == "rkhs" else self.space

    @cached_property
    def _space_with_norm(self) -> Space:
        return self.variate.with_norm(self.space, self.side, len(self.tasks))

    @cached_property
    def b(self) -> Float[np.ndarray, "T T"]:
        """The variate's B."""
        return self.variate.task_matrix(len(self.tasks))

    @property
    def form(self) -> Coregionalization:
        """The form of B, whose parameters may be learned."""
        return self.variate.task_form(len(self.tasks))

    @property
    def free_entries(self) -> Bool[np.ndarray, "T T"]:
        """The entries of B that exact steps may move: all, unless the variate's form of B says otherwise."""
        given = self.variate.coregionalization
        return given.free_entries() if isinstance(given, Coregionalization) else np.ones_like(self.b, dtype=bool)

    @property
    def chains(self) -> tuple[tuple[int, int], ...]:
        """Chains and draws of every task; independent rows count as one chain."""
        return tuple(task.chains or (1, task.size) for task in self.tasks)

    @property
    def values(self) -> Float[np.ndarray, " N"]:
        """All values, task after task."""
        return self.tasks.values

    @property
    def plain_means(self) -> Float[np.ndarray, " p"]:
        """beta^(0): plain averages, and no polynomial part (paper, A.2)."""
        averages = [task.values.mean() for task in self.tasks]
        return np.concatenate([averages, np.zeros(self.columns.shape[1] - len(averages))])

    def completed(self, beta: Any) -> Float[np.ndarray, " p"]:
        """A beta given by the user, one number per task, with zeros for the polynomial part if it has none."""
        given, count = np.asarray(beta, dtype=float).ravel(), self.columns.shape[1]
        if len(given) not in (len(self.tasks), count) or not np.isfinite(given).all():
            raise ValueError(f"beta must be {len(self.tasks)} finite numbers, one per task, but is {beta!r}.")
        return np.concatenate([given, np.zeros(count - len(given))])

    @float64
    def elsewhere(self, points: np.ndarray, scores: np.ndarray, task: np.ndarray) -> tuple[Space, np.ndarray]:
        """The space and the columns at other rows, such as held-out data."""
        rows = self._view(points, scores, task)
        return self.variate.space(rows, self.side, len(self.tasks)), self.means.at(rows)

    def function(self, theta: Any, beta: Float[np.ndarray, " p"], b: Float[np.ndarray, "T T"]) -> Function:
        """g_theta of each task as a function of points and scores (paper, eq. 5)."""
        count = len(self.tasks)

        def evaluate(points: np.ndarray, scores: np.ndarray, task: int) -> np.ndarray:
            space, columns = self.elsewhere(points, scores, np.full(len(points), task))
            return np.asarray(_output(space, theta, b)) + columns[:, count:] @ beta[count:]

        return evaluate

    @cached_property
    def _system(self) -> Coordinates | None:
        return None if self.coordinates is None else _standard(self.tasks, self.coordinates)

    def _view(self, points: np.ndarray, scores: np.ndarray, task: np.ndarray) -> Side:
        if self._system is None:
            return Side(points, scores, task)
        return Side(self._system.points(points), self._system.scores(scores), task)


def _standard(tasks: Tasks, system: CoordinateSystem) -> Coordinates:
    """Standard coordinates of all rows; of the system `precision` the scores tell them."""
    if system != "precision":
        return Coordinates.fit(tasks.points, system)
    origins = np.concatenate([np.broadcast_to(task.points.mean(axis=0), task.points.shape) for task in tasks])
    covariance = covariance_from_scores(tasks.points, tasks.scores, origins)
    if covariance is None:
        raise ValueError(
            "The coordinates 'precision' need scores that fall along every axis as points grow, and more points than "
            "axes, but these tell no covariance. Use 'whitened' or 'scaled'."
        )
    return Coordinates.by_scores(tasks.points, tasks.scores, covariance)


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
        transforms = tuple(orthonormal_features(x[r], s[r], degree)[1] for r in rows)
        for r, transform in zip(rows, transforms, strict=True):
            # As many columns as rows go through all values: no residual is left to tell an error.
            require(
                transform.shape[1] == 0 or transform.shape[1] + 1 < len(r),
                f"A semi-exact variate needs more rows of every task than a polynomial of its degree has terms, but "
                f"degree {degree} takes all {len(r)} rows of a task. Lower the degree, or add rows.",
            )
        return cls(degree, transforms)

    def at(self, side: Side) -> Float[np.ndarray, "n p"]:
        """The columns at any rows."""
        mine = np.asarray(side.task)[:, None] == np.arange(len(self.transforms))
        blocks = [mine.astype(float)]
        if self.degree:
            images = polynomial_features(np.asarray(side.points), np.asarray(side.scores), self.degree)
            blocks += [images @ transform * mine[:, [t]] for t, transform in enumerate(self.transforms)]
        return np.hstack(blocks)


@eqx.filter_jit
def _output(space: Space, theta: Any, b: Float[AnyArray, "T T"]) -> Float[AnyArray, " n"]:
    return space.output(theta, b)
