"""A selected control variate and the estimate it gives (paper, section 2, "The CV Estimator")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from ..data import Tasks
from ..runtime.precision import float64
from .stochastic import Path
from .variates import Space
from .variates.space import AnyArray


@dataclass(frozen=True, eq=False)
class Fit:
    """A selected control variate and the estimate it gives: means, covariance, B, objective and path."""

    names: tuple[str, ...]
    mean: Float[np.ndarray, " T"]
    coregionalization: Float[np.ndarray, "T T"]
    coefficients: Any = field(repr=False)
    objective: float
    problem: Any = field(repr=False)  # Problem, or None where everything was chosen from the data
    beta: Float[np.ndarray, " p"] = field(repr=False)
    path: Path | None = field(default=None, repr=False)
    spread: Callable[[], Float[np.ndarray, "T T"]] = field(default=lambda: np.zeros((0, 0)), repr=False)
    variates: tuple[Callable[[np.ndarray, np.ndarray], np.ndarray], ...] = field(default=(), repr=False)

    @cached_property
    def covariance(self) -> Float[np.ndarray, "T T"]:
        """Covariance of the means, computed when asked for."""
        return self.spread()

    @property
    def std_error(self) -> Float[np.ndarray, " T"]:
        """Standard error of each mean."""
        return np.sqrt(np.diag(self.covariance))

    @float64
    def control_variate(self, points: Any, scores: Any, task: int | str = 0) -> Float[np.ndarray, " n"]:
        """g_theta(x)_t at points with the scores of that task's target: zero mean under it (paper, eq. 5)."""
        points, scores = np.atleast_2d(np.asarray(points, float)), np.atleast_2d(np.asarray(scores, float))
        index = self._index(task)
        if self.problem is None:
            return self.variates[index](points, scores)
        space, columns = self.problem.elsewhere(points, scores, np.full(len(points), index))
        polynomials = columns[:, len(self.names) :] @ self.beta[len(self.names) :]
        return np.asarray(_output(space, self.coefficients, self.coregionalization)) + polynomials

    def _index(self, task: int | str) -> int:
        known = self.names if isinstance(task, str) else range(len(self.names))
        if task not in known:
            raise ValueError(f"There is no task {task!r}; the names are {list(self.names)}, in this order from 0.")
        return self.names.index(task) if isinstance(task, str) else int(task)

    def remainder(self, tasks: Tasks) -> Float[np.ndarray, " n"]:
        """f - g at the rows of any data with these tasks."""
        parts = [task.values - self.control_variate(task.points, task.scores, t) for t, task in enumerate(tasks)]
        return np.concatenate(parts)


@eqx.filter_jit
def _output(space: Space, theta: Any, b: Float[AnyArray, "T T"]) -> Float[AnyArray, " n"]:
    return space.output(theta, b)
