"""One door to every construction and algorithm of the paper: fit(tasks, variate, selection) -> Fit.

A variate says what control variates may look like (sections 3.2 and C), a selection how one is chosen (section 4 and
appendices A and D), an estimator what is done with it (section 2, "The CV Estimator").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from ..data import Tasks, as_tasks
from ..data.standardize import CoordinateSystem
from ..precision import float64
from ..variates import KernelVariate, LinearSpace, Penalty, Space, Variate
from ..variates.space import AnyArray
from .alternation import Alternation, alternate_means, alternate_with_b
from .closed_form import joint_solution
from .convex import ConvexSequence, convex_sequence
from .descent import Descended, descend
from .design import Design
from .model import Model, solve
from .objective import MarkovChainVariance, Objective, Variance
from .problem import Problem
from .splits import hold_out
from .stochastic import Path, StochasticOptimisation


@dataclass(frozen=True)
class Exact:
    """The joint closed form of theta and beta for the variate's B (paper, Theorem 4.1), by J_vv or by Remark 1."""

    regularization: float = 1e-3
    penalty: Penalty | None = None
    objective: Objective = field(default_factory=Variance)


Selection = Exact | Alternation | ConvexSequence | StochasticOptimisation


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
    path: Path | None = field(default=None, repr=False)
    spread: Callable[[], Float[np.ndarray, "T T"]] = field(default=lambda: np.zeros((0, 0)), repr=False)

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


def fit(
    tasks: Tasks | Sequence[Any],
    variate: Variate | Model,
    selection: Selection | None = None,
    *,
    estimator: Any = None,
    coordinates: CoordinateSystem | None = None,
    seed: int | jax.Array = 0,
) -> Fit:
    """Select a control variate from `variate` by `selection`; the means are beta, or those of `estimator`.

    `estimator` is None (beta, all data), `Split(...)` or `CrossFit(...)`. The variate sees the user's coordinates, or
    standard ones with `coordinates`. A `Model` (Stein kernel and noise) in place of a variate is solved exactly.

    >>> from vvcv.variates import PolynomialVariate
    >>> x = np.linspace(-2, 2, 9)[:, None]
    >>> result = fit(Tasks.shared(x, -x, x**2), PolynomialVariate(2), Exact(regularization=0))
    >>> result.mean.round(12)
    array([1.])
    """
    selection = Exact() if selection is None else selection
    if estimator is not None:
        alone = partial(fit, variate=variate, selection=selection, coordinates=coordinates, seed=seed)
        return estimator(as_tasks(tasks), alone)
    return fit_replications([as_tasks(tasks)], variate, selection, coordinates=coordinates, seeds=[seed])[0]


def fit_replications(
    data_sets: Sequence[Tasks],
    variate: Variate | Model | Sequence[Variate | Model],
    selection: Selection | None = None,
    *,
    coordinates: CoordinateSystem | None = None,
    seeds: Sequence[int | jax.Array] | None = None,
) -> list[Fit]:
    """Fit many data sets of equal shape; stochastic optimisation runs on all of them in one compiled loop."""
    selection = Exact() if selection is None else selection
    seeds = list(range(len(data_sets))) if seeds is None else seeds
    variates = list(variate) if isinstance(variate, Sequence) else [variate] * len(data_sets)
    if not isinstance(selection, StochasticOptimisation):
        pairs = zip(data_sets, variates, strict=True)
        return [_deterministic(tasks, v, selection, coordinates) for tasks, v in pairs]
    held = None
    if selection.held_out > 0:
        parts = [hold_out(t, selection.held_out, seed) for t, seed in zip(data_sets, seeds, strict=True)]
        data_sets, held = [part[0] for part in parts], [part[1] for part in parts]
    problems = [Problem.build(tasks, v, coordinates) for tasks, v in zip(data_sets, variates, strict=True)]
    ends = descend(problems, selection, seeds, held)
    return [_descended(problem, end, selection) for problem, end in zip(problems, ends, strict=True)]


def _deterministic(
    tasks: Tasks, variate: Variate | Model, selection: Selection, coordinates: CoordinateSystem | None
) -> Fit:
    if isinstance(variate, Model):
        return _modelled(tasks, variate, coordinates)
    problem = Problem.build(tasks, variate, coordinates)
    if isinstance(selection, Exact):
        return _exact(problem, selection)
    if isinstance(selection, ConvexSequence):
        end: Any = convex_sequence(problem, selection)
    elif isinstance(selection, Alternation):
        end = alternate_with_b(problem, selection) if selection.learn_b else alternate_means(problem, selection)
    else:
        raise ValueError(
            f"A selection is one of Exact, Alternation, ConvexSequence or StochasticOptimisation, not a "
            f"{type(selection).__name__}."
        )
    count = len(tasks)
    matrices = np.broadcast_to(end.b, (len(end.objectives), count, count))
    path = Path(end.betas[:, :count], end.objectives, matrices, None)
    solution = joint_solution(problem, selection.regularization, "rkhs", end.b)
    return _fit(problem, end.theta, end.beta, end.b, float(end.objectives[-1]), path, solution.jackknife)


def _exact(problem: Problem, selection: Exact) -> Fit:
    penalty = selection.penalty or ("rkhs" if hasattr(problem.variate, "stein") else "euclidean")
    solution = joint_solution(problem, selection.regularization, penalty, objective=selection.objective)
    result = _fit(problem, solution.theta, solution.beta, problem.b, solution.objective, None, solution.jackknife)
    if isinstance(selection.objective, MarkovChainVariance):
        return _with_spread(result, lambda: _chain_covariance(result, selection.objective))
    return result


def _modelled(tasks: Tasks, model: Model, coordinates: CoordinateSystem | None) -> Fit:
    """The exact solution of a covariance model, whose kernel holds B and whose noise takes the place of lambda."""
    kernel = KernelVariate(model.kernel)
    if kernel.separable:  # A scalar Stein kernel is the same for every task.
        kernel = replace(kernel, coregionalization=np.ones((len(tasks), len(tasks))))
    problem = Problem.build(tasks, kernel, coordinates)
    design = Design(problem.side, problem.values, np.ones(len(problem.values)), problem.columns, len(tasks))
    system = solve(model, design)
    value = system.restricted_likelihood()
    return _fit(problem, system.weights, system.coefficients, problem.b, value, None, lambda: system.covariance)


def _descended(problem: Problem, end: Descended, selection: StochasticOptimisation) -> Fit:
    objective = float(end.path.objective[-1]) if len(end.path.objective) else float("nan")
    result = _fit(problem, end.theta, end.beta, end.b, objective, end.path, None)
    return _with_spread(result, lambda: _descent_covariance(result, selection))


def _fit(problem, theta, beta, b, objective, path, spread) -> Fit:
    count = len(problem.tasks)
    return Fit(
        problem.tasks.names,
        beta[:count],
        b,
        theta,
        objective,
        problem,
        beta,
        path,
        lambda: float64(spread)()[:count, :count],
    )


def _with_spread(result: Fit, spread: Callable[[], np.ndarray]) -> Fit:
    return replace(result, spread=spread)


@eqx.filter_jit
def _output(space: Space, theta: Any, b: Float[AnyArray, "T T"]) -> Float[AnyArray, " n"]:
    return space.output(theta, b)


def _residual_variances(result: Fit) -> list[float]:
    """Variance over n of f - g in each task: the error of an average, blind to overfitting."""
    remainder = result.remainder(result.problem.tasks)
    parts = np.split(remainder, np.cumsum(result.problem.tasks.sizes)[:-1])
    return [float(np.var(part, ddof=min(1, len(part) - 1)) / len(part)) for part in parts]


def _descent_covariance(result: Fit, selection: StochasticOptimisation) -> Float[np.ndarray, "T T"]:
    """The larger of two: the spread of the fit's own residuals, and the jackknife of the minimiser it approaches.

    The first is blind to overfitting, the second to a descent that stopped early.
    """
    own = np.diag(_residual_variances(result))
    if not isinstance(result.problem.space, LinearSpace) or selection.regularization == 0:
        return own
    try:
        b = result.coregionalization
        minimiser = joint_solution(result.problem, selection.regularization, selection.penalty, b)
        jackknife = minimiser.jackknife()[: len(own), : len(own)]
    except ValueError:  # Not positive definite within rounding: the residuals are all there is.
        return own
    return jackknife + np.diag(np.maximum(np.diag(own) - np.diag(jackknife), 0.0))


def _chain_covariance(result: Fit, objective: Objective) -> Float[np.ndarray, "T T"]:
    """Asymptotic variance of f - g over n, task by task (paper, Remark 1)."""
    remainder, sizes = result.remainder(result.problem.tasks), result.problem.tasks.sizes
    parts = np.split(remainder - np.repeat(result.mean, sizes), np.cumsum(sizes)[:-1])
    assert isinstance(objective, MarkovChainVariance)
    values = [objective.of_task(p - p.mean(), c) / len(p) for p, c in zip(parts, result.problem.chains, strict=True)]
    return np.diag(values)
