"""A selected control variate and the estimate it gives (paper, section 2, "The CV Estimator")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..data import Tasks, as_tasks
from ..data.rows import index_of_task, points_and_scores
from ..runtime.precision import float64
from .problem import Function, Problem


class Path(NamedTuple):
    """What happened epoch by epoch: means, mini-batch objective, B, and J_vv on held-out data."""

    mean: Float[np.ndarray, "epochs T"]
    objective: Float[np.ndarray, " epochs"]
    coregionalization: Float[np.ndarray, "epochs T T"]
    held_out: Float[np.ndarray, " epochs"] | None


@dataclass(frozen=True, eq=False)
class Fit:
    """A selected control variate and the estimate it gives: means, covariance, B, objective and path."""

    names: tuple[str, ...]
    mean: Float[np.ndarray, " T"]
    coregionalization: Float[np.ndarray, "T T"]
    coefficients: Any = field(repr=False)
    objective: float
    problem: Problem = field(repr=False)
    beta: Float[np.ndarray, " p"] = field(repr=False)
    function: Function = field(repr=False)
    spread: Callable[[], Float[np.ndarray, "T T"]] = field(repr=False)
    path: Path | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        problem: Problem,
        theta: Any,
        beta: Float[np.ndarray, " p"],
        b: Float[np.ndarray, "T T"],
        objective: float,
        spread: Callable[[], Float[np.ndarray, "p p"]],
        path: Path | None = None,
    ) -> Fit:
        """What coefficients, means and B make of a problem; `spread` gives the covariance of the means."""
        count = len(problem.tasks)
        return cls(
            names=problem.tasks.names,
            mean=beta[:count],
            coregionalization=b,
            coefficients=theta,
            objective=objective,
            problem=problem,
            beta=beta,
            function=problem.function(theta, beta, b),
            spread=lambda: float64(spread)()[:count, :count],
            path=path,
        )

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
        x, s = points_and_scores(points, scores, self.problem.tasks.dimension)
        return self.function(x, s, index_of_task(task, self.names))

    def remainder(self, tasks: Tasks | Sequence[Any]) -> Float[np.ndarray, " n"]:
        """f - g at the rows of any data with these tasks, which are known by their names, or else by their order."""
        parts = [(index if task.name is None else str(task.name), task) for index, task in enumerate(as_tasks(tasks))]
        return np.concatenate([t.values - self.control_variate(t.points, t.scores, which) for which, t in parts])
