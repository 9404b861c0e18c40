"""One door to every construction and algorithm of the paper: fit(tasks, variate, selection) -> Fit.

A variate says what control variates may look like (sections 3.2 and C), a selection how one is chosen (section 4 and
appendices A and D), an estimator what is done with it (section 2, "The CV Estimator").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import jax
import numpy as np

from ..candidates.kernel import Options
from ..data import Prepared, Tasks, as_tasks
from ..data.standardize import CoordinateSystem
from ..estimation.ladder import METHODS, Ladder
from ..kernels import Kernel
from ..linear_system.design import Design
from ..linear_system.model import Criterion, Model, solve
from ..runtime.precision import float64
from ..runtime.threads import threads_for
from ..tuning.starts import CANDIDATES
from .alternation import Alternation, alternate_means, alternate_with_b
from .closed_form import joint_solution
from .convex import ConvexSequence, convex_sequence
from .descent import Descended, descend
from .error_bars import chain_covariance, descent_covariance
from .objective import MarkovChainVariance, Objective, Variance
from .problem import Problem
from .result import Fit
from .splits import hold_out
from .stochastic import Path, StochasticOptimisation
from .variates import KernelVariate, Penalty, Variate


@dataclass(frozen=True)
class Exact:
    """The joint closed form of theta and beta for the variate's B (paper, Theorem 4.1), by J_vv or by Remark 1."""

    regularization: float = 1e-3
    penalty: Penalty | None = None
    objective: Objective = field(default_factory=Variance)


@dataclass(frozen=True)
class RestrictedLikelihood:
    """Everything from the data: lengthscales, axes, noise and B by restricted likelihood, the family by its score."""

    families: tuple[str | Kernel, ...] = CANDIDATES
    criterion: Criterion = "reml"
    order: int = 1


Selection = Exact | Alternation | ConvexSequence | StochasticOptimisation | RestrictedLikelihood


def fit(
    tasks: Tasks | Sequence[Any],
    variate: Variate | Model | str,
    selection: Selection | None = None,
    *,
    estimator: Any = None,
    coordinates: CoordinateSystem | None = None,
    seed: int | jax.Array = 0,
) -> Fit:
    """Select a control variate from `variate` by `selection`; the means are beta, or those of `estimator`.

    `estimator` is None (beta, all data), `Split(...)` or `CrossFit(...)`. The variate sees the user's coordinates, or
    standard ones with `coordinates`. A `Model` (Stein kernel and noise) in place of a variate is solved exactly. The
    name of a rung ("zv", "cf", "secf", "vv", "vv-secf") has everything chosen by `RestrictedLikelihood`, as
    `vvcv.estimate` does.

    >>> from vvcv.paper.variates import PolynomialVariate
    >>> x = np.linspace(-2, 2, 9)[:, None]
    >>> result = fit(Tasks.shared(x, -x, x**2), PolynomialVariate(2), Exact(regularization=0))
    >>> result.mean.round(12)
    array([1.])
    """
    if isinstance(variate, str) and selection is None:
        selection = RestrictedLikelihood()
    selection = Exact() if selection is None else selection
    if estimator is not None:
        alone = partial(fit, variate=variate, selection=selection, coordinates=coordinates, seed=seed)
        return estimator(as_tasks(tasks), alone)
    if isinstance(variate, str):
        return _tuned(as_tasks(tasks), variate, selection)
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
    path = Path(end.betas[:, :count], end.objectives, end.matrices, None)
    solution = joint_solution(problem, selection.regularization, "rkhs", end.b)
    return _fit(problem, end.theta, end.beta, end.b, float(end.objectives[-1]), path, solution.jackknife)


def _exact(problem: Problem, selection: Exact) -> Fit:
    penalty = selection.penalty or ("rkhs" if hasattr(problem.variate, "stein") else "euclidean")
    solution = joint_solution(problem, selection.regularization, penalty, objective=selection.objective)
    result = _fit(problem, solution.theta, solution.beta, problem.b, solution.objective, None, solution.jackknife)
    objective = selection.objective
    if isinstance(objective, MarkovChainVariance):
        return _with_spread(result, lambda: chain_covariance(result, objective))
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


@float64
def _tuned(tasks: Tasks, rung: str, selection: Selection) -> Fit:
    """One rung of the ladder, the same that `vvcv.estimate` climbs."""
    if rung not in METHODS:
        raise ValueError(f"A rung is one of {list(METHODS)}, but got {rung!r}.")
    if not isinstance(selection, RestrictedLikelihood):
        raise ValueError(
            f"A rung by name has its kernel chosen by RestrictedLikelihood, not by {type(selection).__name__}. "
            "Pass a variate such as KernelVariate(kernel) for the other selections."
        )
    options = Options(selection.families, selection.criterion, selection.order)
    ladder = Ladder(Prepared.of(tasks), options)
    with threads_for(sum(tasks.sizes)):
        answers = ladder.required(rung)
    mean, errors = np.array([a.mean for a in answers]), np.array([a.std_error for a in answers])
    return Fit(
        names=tasks.names,
        mean=mean,
        coregionalization=ladder.task_correlation(rung),
        coefficients=None,
        objective=float(np.sum(np.log(errors + 1e-300))),
        problem=None,
        beta=mean,
        spread=lambda: np.diag(errors**2),
        variates=tuple(answer.variate for answer in answers),
    )


def _descended(problem: Problem, end: Descended, selection: StochasticOptimisation) -> Fit:
    objective = float(end.path.objective[-1]) if len(end.path.objective) else float("nan")
    result = _fit(problem, end.theta, end.beta, end.b, objective, end.path, None)
    return _with_spread(result, lambda: descent_covariance(result, selection))


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
