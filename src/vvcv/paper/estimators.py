"""What is done with a control variate (paper, section 2, "The CV Estimator"): beta, split, cross-fitting.

    Intercept   all data for the fit, n = 0: the fitted beta; biased, and the most accurate when g fits well
    Split       fit on m rows, average f - g over the other n: unbiased for independent samples
    CrossFit    k folds, f - g of each with the variate fitted on the others: unbiased, and uses every row

All are estimates of Pi_t[f_t] = Pi_t[f_t - g_t]. Chains stay chains: parts are runs of neighbouring draws of each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import numpy as np
from jaxtyping import Float

from ..data import Tasks, is_number, require, whole_number
from ..data.chains import effective_size
from .error_bars import average_variance, averages_covariance, cautious_variance
from .result import Fit
from .splits import folds, hold_out

FitPart = Callable[[Tasks], Fit]
VarianceOfAverage = Callable[[np.ndarray, tuple[int, int] | None], float]

#: Effective draws from which on the part that is averaged speaks for itself (benchmarks/chains_fit.py).
ENOUGH = 30.0


class Estimator(ABC):
    """A way to use a control variate: `estimate(tasks, fit_part)`, where fit_part fits any part of the data."""

    @abstractmethod
    def estimate(self, tasks: Tasks, fit_part: FitPart) -> Fit:
        """Means and their covariance, with the control variate that gave them."""


@dataclass(frozen=True)
class Intercept(Estimator):
    """beta of a fit to all data.

    >>> from vvcv.paper import Exact, PolynomialVariate, fit
    >>> x = np.linspace(-2, 2, 9)[:, None]
    >>> fit(Tasks.shared(x, -x, x**2), PolynomialVariate(2), Exact(0), estimator=Intercept()).mean.round(12)
    array([1.])
    """

    def estimate(self, tasks: Tasks, fit_part: FitPart) -> Fit:
        """The fit as it is."""
        return fit_part(tasks)


@dataclass(frozen=True)
class Split(Estimator):
    """Fit on a fraction of every task, average the remainder f - g over the rest.

    >>> Split(0.5).fraction
    0.5
    """

    fraction: float = 0.5
    seed: int | jax.Array = 0

    def __post_init__(self) -> None:
        fine = is_number(self.fraction) and 0 < self.fraction < 1
        require(fine, f"Split fits on a fraction of the rows, between 0 and 1, but it is {self.fraction!r}.")

    def estimate(self, tasks: Tasks, fit_part: FitPart) -> Fit:
        """Fit on one part, average over the other."""
        chosen, rest = hold_out(tasks, 1 - self.fraction, self.seed)
        result = fit_part(chosen)
        return _averaged(result, result.remainder(rest), rest, average_variance, ENOUGH)


@dataclass(frozen=True)
class CrossFit(Estimator):
    """k-fold cross-fitting: every row is averaged with a control variate that has not seen it.

    >>> from vvcv.paper import Exact, PolynomialVariate, fit
    >>> x = np.linspace(-2, 2, 9)[:, None]
    >>> fit(Tasks.shared(x, -x, x**2), PolynomialVariate(2), Exact(0), estimator=CrossFit(3)).mean.round(12)
    array([1.])
    """

    folds: int = 5
    seed: int | jax.Array = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "folds", whole_number(self.folds, 2, "The number of folds"))

    def estimate(self, tasks: Tasks, fit_part: FitPart) -> Fit:
        """The average over all rows, and the control variate fitted to all of them."""
        remainders = [np.empty(size) for size in tasks.sizes]
        for others, fold, rows in folds(tasks, self.folds, self.seed):
            result = fit_part(others)
            parts = np.split(result.remainder(fold), np.cumsum(fold.sizes)[:-1])
            for remainder, part, inside in zip(remainders, parts, rows, strict=True):
                remainder[inside] = part
        # All folds share the errors of the coefficients, however many draws there are: no row is quite a fresh one.
        return _averaged(fit_part(tasks), np.concatenate(remainders), tasks, cautious_variance, np.inf)


def _averaged(
    result: Fit, remainder: Float[np.ndarray, " n"], tasks: Tasks, of_average: VarianceOfAverage, enough: float
) -> Fit:
    """Averages of the remainder and their standard errors, task by task.

    Along a chain with fewer than `enough` effective draws, no error is smaller than that of the fit itself: the
    remainder alone does not show how far the control variate is off where the chain has not been.
    """
    parts = np.split(remainder, np.cumsum(tasks.sizes)[:-1])
    mean = np.array([part.mean() for part in parts])

    def variance(t: int) -> float:
        part, chains = parts[t], tasks[t].chains
        few = chains is not None and effective_size(part, chains) < enough
        of_fit = float(result.covariance[t, t]) if few else 0.0
        return max(of_average(part, chains), of_fit if np.isfinite(of_fit) else 0.0)

    def spread() -> Float[np.ndarray, "T T"]:
        return averages_covariance(remainder, tasks, np.array([variance(t) for t in range(len(tasks))]))

    return replace(result, mean=mean, spread=spread)
