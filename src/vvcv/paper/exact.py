"""Selection in closed form: theta and beta together, for a given B or a given covariance model (paper, Theorem 4.1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, get_args

import numpy as np

from ..data import one_of
from ..linear_system.design import Design
from ..linear_system.solution import solve
from .closed_form import joint_solution, solution_given_means
from .error_bars import exact_covariance
from .objective import Objective, Variance, check_objective, check_penalty
from .problem import Problem
from .result import Fit
from .selection import Seed, Selection
from .variates import ModelVariate, Penalty


@dataclass(frozen=True)
class Exact(Selection):
    """The joint closed form of theta and beta for the variate's B (paper, Theorem 4.1), by J_vv or by Remark 1.

    With `beta` given, theta alone is chosen, as the theorem has it; the means are then the averages of f - g. They are
    drawn to that beta, which their error bars do not count: `Split` and `CrossFit` average over rows not fitted.

    >>> from vvcv import Tasks
    >>> from vvcv.paper import PolynomialVariate, fit
    >>> x = np.linspace(-2, 2, 9)[:, None]
    >>> fit(Tasks.shared(x, -x, x**2), PolynomialVariate(2), Exact(0)).mean.round(12)  # x^2 - 1 is a Stein image
    array([1.])
    """

    regularization: float = 1e-3
    penalty: Penalty | None = None
    objective: Objective = field(default_factory=Variance)
    beta: Any = None

    def __post_init__(self) -> None:
        check_penalty(self.regularization)
        check_objective(self.objective)
        one_of(self.penalty, (None, *get_args(Penalty)), "The penalty")

    def select(self, problem: Problem, seed: Seed = 0) -> Fit:
        """The joint minimiser over theta and beta, or that over theta; nothing is random."""
        penalty = self.penalty or problem.variate.natural_penalty
        if self.beta is None:
            solution = joint_solution(problem, self.regularization, penalty, objective=self.objective)
        else:
            beta = problem.completed(self.beta)
            solution = solution_given_means(problem, beta, self.regularization, penalty, objective=self.objective)
        spread = partial(exact_covariance, problem, solution)
        return Fit.of(problem, solution.theta, solution.beta, problem.b, solution.objective, spread)


@dataclass(frozen=True)
class ModelSolution(Selection):
    """The exact solution of a covariance model, whose kernel holds B and whose noise takes the place of lambda."""

    def select(self, problem: Problem, seed: Seed = 0) -> Fit:
        """The generalised least-squares means under the model."""
        if not isinstance(problem.variate, ModelVariate):
            raise ValueError("ModelSolution solves a covariance model. Pass Model(kernel, noise) as the variate.")
        count = len(problem.tasks)
        design = Design(problem.side, problem.values, np.ones(len(problem.values)), problem.columns, count)
        system = solve(problem.variate.model, design)
        value = system.restricted_likelihood()
        return Fit.of(problem, system.weights, system.coefficients, problem.b, value, lambda: system.covariance)
