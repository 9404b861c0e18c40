"""Error bars of means that an optimiser or a chain gave: residuals, jackknife, asymptotic variance.

A closed form has its jackknife (`closed_form.LinearSolution.jackknife`). None of these sees the bias of beta; for
independent samples, `estimators.CrossFit` has none.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from .closed_form import joint_solution
from .objective import MarkovChainVariance
from .result import Fit
from .stochastic import StochasticOptimisation
from .variates import LinearSpace


def _residual_variances(result: Fit) -> list[float]:
    """Variance over n of f - g in each task: the error of an average, blind to overfitting."""
    remainder = result.remainder(result.problem.tasks)
    parts = np.split(remainder, np.cumsum(result.problem.tasks.sizes)[:-1])
    return [float(np.var(part, ddof=min(1, len(part) - 1)) / len(part)) for part in parts]


def descent_covariance(result: Fit, selection: StochasticOptimisation) -> Float[np.ndarray, "T T"]:
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


def chain_covariance(result: Fit, objective: MarkovChainVariance) -> Float[np.ndarray, "T T"]:
    """Asymptotic variance of f - g over n, task by task (paper, Remark 1)."""
    remainder, sizes = result.remainder(result.problem.tasks), result.problem.tasks.sizes
    parts = np.split(remainder - np.repeat(result.mean, sizes), np.cumsum(sizes)[:-1])
    values = [objective.of_task(p - p.mean(), c) / len(p) for p, c in zip(parts, result.problem.chains, strict=True)]
    return np.diag(values)
