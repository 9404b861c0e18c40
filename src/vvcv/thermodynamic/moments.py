"""Expectations under all power posteriors at once: one joint vector-valued control variate for all temperatures.

Every temperature is a task with points and scores of its own; the kernel is B k(x, y), B a kernel over temperatures.
Hyperparameters are chosen by restricted likelihood on a part of a large sample, the solution uses all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy.linalg import LinAlgError

from ..candidates.designs import build_design
from ..data import AnySystem, Prepared, Tasks
from ..kernels import Separable
from ..linear_system.design import Design
from ..linear_system.evaluation import criterion_and_gradient
from ..linear_system.model import Model
from ..linear_system.solution import solve
from ..linear_system.system import System
from ..runtime.threads import threads_for
from ..stein import SteinKernel
from ..tuning.starts import FAMILIES
from ..tuning.tune import Tuned, tune
from .quadrature import PerTemperature
from .task_matrix import TemperatureKernel

#: Rows beyond which hyperparameters are chosen on a part of the data: more rows do not choose better ones.
MOST_TUNING_ROWS = 620

#: Evaluations of the restricted likelihood for each model: a handful of parameters settle in these, and the second
#: integrand starts from the first one's.
EVALUATIONS = 60

#: The least relative noise. Hundreds of points on a line make smooth kernels singular to working precision; what this
#: much noise hides, a millionth of a standard deviation, is far below any sampling error.
NOISE_FLOOR = 1e-10

#: Parts of the draws that are left out in turn: a tenth less changes a fit little, and ten solutions cost little beside
#: the search.
FOLDS = 10

#: A surprise below which the model is not sure by far: that of ten folds hardly ever falls to it by chance.
UNSURE = 0.3

#: Ties: one noise for all tasks and all dimensions alike, or each dimension with its own lengthscale and weight.
ALIKE = frozenset({"log_lengthscale", "log_axes", "log_noise"})
EACH = frozenset({"log_noise"})

Tick = Callable[[], None]


class Tuning(NamedTuple):
    """A tuned model and the coordinates it is meant for."""

    model: Model
    system: AnySystem
    value: float


@dataclass(frozen=True, eq=False)
class PathFit:
    """Expectations of one integrand for each temperature, jointly, in the user's units."""

    prepared: Prepared
    design: Design
    tuning: Tuning

    @cached_property
    def solution(self) -> System:
        """The solved linear system of all rows."""
        return solve(self.tuning.model, self.design)

    @property
    def mean(self) -> PerTemperature:
        """The estimates."""
        return self.prepared.shift + self.prepared.scale * self.solution.coefficients

    @cached_property
    def covariance(self) -> Float[np.ndarray, "w w"]:
        """Covariance of the estimates under the model."""
        return self.solution.covariance * np.outer(self.prepared.scale, self.prepared.scale)

    def errors(self, weights: Float[np.ndarray, "w k"]) -> Float[np.ndarray, " k"]:
        """Standard errors of the sums sum_t w_t mean_t, one per column of weights.

        The model's, raised where draws left out say that it is too sure, and lowered where they say that it is not
        sure by far: squared deviations of informative data are larger by orders of magnitude under the prior.
        """
        of_model, surprise = np.sqrt(np.sum(weights * (self.covariance @ weights), axis=0)), self.surprise(weights)
        return of_model * np.where(surprise < UNSURE, surprise / UNSURE, np.maximum(1.0, surprise))

    def surprise(self, weights: Float[np.ndarray, "w k"]) -> Float[np.ndarray, " k"]:
        """Root mean square of (what draws left out say of the error) / (what the model says), fold by fold.

        The draws of a fold, at all temperatures, are a fresh sample for the fit to the others: the weighted mean of
        their residuals has as expectation just the error of that fit.
        """
        folds = [np.flatnonzero(self._fold == k) for k in range(FOLDS)]
        folds = [rows for rows in folds if rows.size]
        total, count = np.zeros(weights.shape[1]), np.zeros(weights.shape[1])
        for rows, (residual, covariance) in zip(folds, self.solution.leave_rows_out(folds), strict=True):
            task = self.design.side.task[rows]
            sizes = np.maximum(np.bincount(task, minlength=len(weights)), 1)
            share = (weights * (self.prepared.scale / sizes)[:, None])[task]
            expected = np.sum(share * (covariance @ share), axis=0)
            seen = expected > 0
            total[seen] += (residual @ share[:, seen]) ** 2 / expected[seen]
            count += seen
        return np.sqrt(total / np.maximum(count, 1))

    @property
    def _fold(self) -> Int[np.ndarray, " N"]:
        """The fold of each row: stretches of consecutive draws, since neighbours in a Markov chain are alike."""
        rows = [distinct.row for distinct in self.prepared.distinct]
        return np.concatenate([np.unique(row, return_index=True)[1] * FOLDS // row.size for row in rows])

    @property
    def _tasks(self) -> Tasks:
        return self.prepared.tasks


def fit_path(tasks: Tasks, temperatures: PerTemperature, start: Tuning | None, tick: Tick = lambda: None) -> PathFit:
    """Tune (from another integrand's model, if there is one) and solve."""
    prepared = _common_scale(Prepared.of(tasks))
    members = tuple(range(len(tasks)))
    tunings = []
    for system in prepared.systems(members) if start is None else [start.system]:
        design = build_design(prepared, members, prepared.coordinates(members, system), 0, False)
        model = first_model(prepared, design, temperatures) if start is None else start.model
        tunings.append(_tuned(model, system, design.rounded().thinned(MOST_TUNING_ROWS), tick))
    best = min(tunings, key=lambda tuning: tuning.value)
    coordinates = prepared.coordinates(members, best.system)
    return PathFit(prepared, build_design(prepared, members, coordinates, 0, False), best)


def first_model(prepared: Prepared, design: Design, temperatures: PerTemperature) -> Model:
    """B k with lengthscales of the order of the whole spread; targets change once t times the spread at t = 0 is 1."""
    d = design.side.points.shape[1]
    spread = np.std(prepared.tasks[0].values)
    offset = float(np.clip(1 / max(spread, 1e-300), 1e-5, 1.0))
    smooth = FAMILIES["squared-exponential"]
    kernel = Separable(TemperatureKernel(temperatures, smooth(1.0), offset), smooth(np.full(d, np.sqrt(d))))
    variance = float(np.mean(design.gram.diagonal(SteinKernel(kernel, 1, np.ones(d)))))
    return Model(SteinKernel(kernel, 1, np.full(d, 1 / variance)), np.full(design.tasks, 1e-8))


def _tuned(model: Model, system: AnySystem, design: Design, tick: Tick) -> Tuning:
    def objective(candidate: Model) -> tuple[float, Model]:
        tick()
        return criterion_and_gradient(candidate, design)

    try:
        with threads_for(design.size):
            tuned: Tuned = tune(objective, model, ALIKE, EVALUATIONS, NOISE_FLOOR)
            if design.side.points.shape[1] > 1:
                tuned = tune(objective, tuned.model, EACH, EVALUATIONS, NOISE_FLOOR)
    except LinAlgError as error:
        raise ValueError(
            f"The kernel matrix of these points could not be factorised ({error}). Points that nearly coincide do "
            "this: merge them, or keep every second draw."
        ) from error
    return Tuning(tuned.model, system, tuned.value)


def _common_scale(prepared: Prepared) -> Prepared:
    """All tasks in one unit: the integrand is the same function on each, which a unit of its own would hide."""
    scale = np.sqrt(np.mean(prepared.scale**2))
    return replace(prepared, scale=np.full(len(prepared.tasks), scale))
