"""Error bars of means that an optimiser gave: residuals, jackknife.

A closed form has its jackknife (`closed_form.LinearSolution.jackknife`). None of these sees the bias of beta; for
independent samples, `estimators.CrossFit` has none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from .closed_form import joint_solution
from .problem import Problem
from .settings import DescentSettings


def descent_covariance(
    problem: Problem,
    theta: Any,
    beta: Float[np.ndarray, " p"],
    b: Float[np.ndarray, "T T"],
    settings: DescentSettings,
) -> Float[np.ndarray, "T T"]:
    """The larger of two: the spread of the fit's own residuals, and the jackknife of the minimiser it approaches.

    The first is blind to overfitting, the second to a descent that stopped early.
    """
    own = np.diag(_residual_variances(problem, theta, beta, b))
    if settings.regularization == 0:
        return own
    try:
        minimiser = joint_solution(problem, settings.regularization, settings.penalty, b)
        jackknife = minimiser.jackknife()[: len(own), : len(own)]
    except ValueError:  # Not linear, or not positive definite within rounding: the residuals are all there is.
        return own
    return jackknife + np.diag(np.maximum(np.diag(own) - np.diag(jackknife), 0.0))


def _residual_variances(problem: Problem, theta: Any, beta: np.ndarray, b: np.ndarray) -> list[float]:
    """Variance over n of f - g in each task: the error of an average, blind to overfitting."""
    g = problem.function(theta, beta, b)
    parts = [task.values - g(task.points, task.scores, t) for t, task in enumerate(problem.tasks)]
    return [float(np.var(part, ddof=min(1, len(part) - 1)) / len(part)) for part in parts]
