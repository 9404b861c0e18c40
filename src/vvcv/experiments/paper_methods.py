"""The paper's own rows: plain averages, scalar CVs by Adam, closed-form CFs, vv-CVs with B fixed or estimated.

Settings of the authors' program that all experiments share: Adam with the rate times 0.99 after each epoch, float32,
the final intercept as the estimate, the penalty lambda ||theta||^2, and kernels tuned on mini-batches (D.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data import Tasks
from ..kernels import Kernel, Side
from ..paper.exact import Exact
from ..paper.fitting import fit_replications
from ..paper.marginal_likelihood import MiniBatchMarginalLikelihood, maximise_marginal_likelihood
from ..paper.result import Fit
from ..paper.stochastic import BlockCoordinateDescent, StochasticOptimisation
from ..paper.variates import KernelVariate
from ..stein import SteinKernel, gram
from .experiment import Cell, Method, Vector

#: Replications of a stochastic method in one compiled loop.
BLOCK = 10

DECAY = 0.99


@dataclass(frozen=True, eq=False)
class PaperVariate(KernelVariate):
    """A coefficient in R^T for each point (eq. 9), of one target unless `scores` says otherwise."""

    parametrization: Any = "paper"
    scores: Any = "shared"


@dataclass(frozen=True, eq=False)
class Recipe:
    """What one row of the paper is made of; rates and batches (rows of all tasks together) may depend on the cell."""

    kernel: Callable[[Cell], Kernel]
    tuning: MiniBatchMarginalLikelihood | None
    rate: Callable[[Cell], float]
    epochs: int = 400
    batch_size: Callable[[Cell], int] = lambda cell: 10
    regularization: float = 1e-5
    rate_b: float | None = None
    coregionalization: Any = None  # B, fixed or to start from: an array, a function of the cell, None for the identity
    learn_b: bool = False
    diverged: float = 2.0  # refuse a fit whose objective ends this many times higher than it began
    variate: Callable[..., KernelVariate] = PaperVariate
    scores: Callable[[Cell, Tasks], Sequence[Callable]] | None = None  # of every task, where targets differ
    path_every: int = 0  # epochs between the checkpoints of the last task's mean that follow the means, 0 for none

    def selection(self, cell: Cell) -> StochasticOptimisation:
        """Algorithm 1 or 2 at these settings."""
        shared: dict[str, Any] = {
            "epochs": self.epochs,
            "batch_size": self.batch_size(cell),
            "learning_rate": self.rate(cell),
            "regularization": self.regularization,
            "diverged": self.diverged,
        }
        if self.learn_b:
            return BlockCoordinateDescent.as_published(learning_rate_b=self.rate_b, **shared)
        return StochasticOptimisation(decay=DECAY, precision="float32", **shared)

    def control_variate(self, cell: Cell, tasks: Tasks, kernel: Kernel) -> KernelVariate:
        """The variate of one data set."""
        b = self.coregionalization
        scores = "shared" if self.scores is None else self.scores(cell, tasks)
        return self.variate(kernel, b(cell) if callable(b) else b, scores=scores)

    def kernels(self, cell: Cell, data: Sequence[Tasks], seeds: Sequence[int]) -> list[Kernel]:
        """The kernel of every replication, tuned on mini-batches unless its parameters are given."""
        start = self.kernel(cell)
        if self.tuning is None:
            return [start] * len(data)
        return [
            maximise_marginal_likelihood(start, tasks, self.tuning, seed).kernel
            for tasks, seed in zip(data, seeds, strict=True)
        ]


def plain_average() -> Method:
    """MC or MCMC: the average of the values of each task."""
    return Method("MC", lambda cell, data, seeds: [np.array([t.values.mean() for t in tasks]) for tasks in data])


def fitted(recipe: Recipe, cell: Cell, tasks: Tasks, seed: int) -> Fit:
    """The whole fit of one data set, for pictures."""
    variate = recipe.control_variate(cell, tasks, recipe.kernels(cell, [tasks], [seed])[0])
    return fit_replications([tasks], variate, recipe.selection(cell), seeds=[seed])[0]


def joint(label: str, recipe: Recipe, block: int = BLOCK) -> Method:
    """A vv-CV: all tasks in one fit by Algorithm 1 (B estimated) or 2 (B fixed)."""
    return Method(label, lambda cell, data, seeds: descend(recipe, cell, data, seeds), block)


def separate(label: str, recipe: Recipe) -> Method:
    """A scalar CV by Adam: every task in a fit of its own, with B = 1."""
    recipe = replace(recipe, coregionalization=None, learn_b=False, scores=None)

    def run(cell: Cell, data: Sequence[Tasks], seeds: Sequence[int]) -> list[Vector]:
        by_task = [descend(recipe, cell, [Tasks([d[t]]) for d in data], seeds) for t in range(len(data[0]))]
        means = np.stack([[vector[0] for vector in task] for task in by_task], axis=1)
        return [np.concatenate([mean, last[1:]]) for mean, last in zip(means, by_task[-1], strict=True)]

    return Method(label, run, BLOCK)


def descend(recipe: Recipe, cell: Cell, data: Sequence[Tasks], seeds: Sequence[int]) -> list[Vector]:
    """Final intercepts of stochastic optimisation, all data sets in one loop."""
    kernels = recipe.kernels(cell, data, seeds)
    variates = [recipe.control_variate(cell, tasks, kernel) for tasks, kernel in zip(data, kernels, strict=True)]
    fits = fit_replications(data, variates, recipe.selection(cell), seeds=seeds)
    return [np.concatenate([fit.mean, checkpoints(fit, recipe.path_every)]) for fit in fits]


def checkpoints(fit: Fit, every: int) -> Vector:
    """The last task's mean every so many epochs."""
    return fit.path.mean[every - 1 :: every, -1] if every and fit.path is not None else np.zeros(0)


def control_functional(label: str, recipe: Recipe, nugget: float, precision: str = "float64") -> Method:
    """CF in closed form, task by task: beta = 1' W^-1 y / 1' W^-1 1 with W = K_0 + nugget I."""

    def run(cell: Cell, data: Sequence[Tasks], seeds: Sequence[int]) -> list[Vector]:
        return [
            np.array([closed_form(recipe, cell, Tasks([task]), seed, nugget, precision) for task in tasks])
            for tasks, seed in zip(data, seeds, strict=True)
        ]

    return Method(label, run)


def closed_form(recipe: Recipe, cell: Cell, tasks: Tasks, seed: int, nugget: float, precision: str) -> float:
    """The closed form for one task, at the precision asked for."""
    kernel = recipe.kernels(cell, [tasks], [seed])[0]
    if precision == "float64":
        # The penalty lambda enters as lambda n on the diagonal.
        fit = fit_replications([tasks], KernelVariate(kernel), Exact(nugget / tasks.sizes[0]))[0]
        return float(fit.mean[0])
    system = gram(SteinKernel(kernel), Side(tasks.points, tasks.scores, tasks.task)) + nugget * np.eye(len(tasks.task))
    try:
        weights = np.linalg.inv(system.astype(precision)).sum(axis=0)
    except np.linalg.LinAlgError:  # as singular as single precision sees it
        return float("nan")
    return float(weights @ tasks.values.astype(precision) / weights.sum())
