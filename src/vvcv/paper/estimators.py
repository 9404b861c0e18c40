"""What is done with a control variate (paper, section 2, "The CV Estimator"): beta, split, cross-fitting.

    beta        all data for the fit, n = 0: the fitted intercept; biased, and the most accurate when g fits well
    Split       fit on m rows, average f - g over the other n: unbiased for independent samples
    CrossFit    k folds, f - g of each with the variate fitted on the others: unbiased, and uses every row

All are estimates of Pi_t[f_t] = Pi_t[f_t - g_t].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import numpy as np
from jaxtyping import Float

from ..data import Tasks
from .fit import Fit
from .splits import folds, hold_out

FitPart = Callable[[Tasks], Fit]


@dataclass(frozen=True)
class Split:
    """Fit on a fraction of every task, average the remainder f - g over the rest.

    >>> Split(0.5).fraction
    0.5
    """

    fraction: float = 0.5
    seed: int | jax.Array = 0

    def __call__(self, tasks: Tasks, fit_part: FitPart) -> Fit:
        chosen, rest = hold_out(tasks, 1 - self.fraction, self.seed)
        result = fit_part(chosen)
        return _averaged(result, result.remainder(rest), rest)


@dataclass(frozen=True)
class CrossFit:
    """k-fold cross-fitting: every row is averaged with a control variate that has not seen it."""

    folds: int = 5
    seed: int | jax.Array = 0

    def __call__(self, tasks: Tasks, fit_part: FitPart) -> Fit:
        remainders = [np.empty(size) for size in tasks.sizes]
        for others, fold, rows in folds(tasks, self.folds, self.seed):
            result = fit_part(others)
            parts = np.split(result.remainder(fold), np.cumsum(fold.sizes)[:-1])
            for remainder, part, inside in zip(remainders, parts, rows, strict=True):
                remainder[inside] = part
        return _averaged(fit_part(tasks), np.concatenate(remainders), tasks)


def _averaged(result: Fit, remainder: Float[np.ndarray, " n"], tasks: Tasks) -> Fit:
    """Means and standard errors of an average of independent rows, task by task."""
    parts = np.split(remainder, np.cumsum(tasks.sizes)[:-1])
    mean = np.array([part.mean() for part in parts])
    variances = np.array([np.var(part, ddof=1) / len(part) if len(part) > 1 else np.inf for part in parts])
    return replace(result, mean=mean, spread=lambda: np.diag(variances))
