"""Rates of several groups that share a beta distribution: exact draws, scores and means by a grid over its parameters.

    y_j ~ Binomial(n_j, theta_j),  theta_j ~ Beta(phi kappa, (1 - phi) kappa),  phi ~ Uniform,  kappa ~ Pareto(1, 1.5)

Points are (log(kappa - 1), logit phi, logit theta). As kappa grows, rates are pulled together, and its tail is long.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaln, digamma, expit

TAIL, STEP = 1.5, 0.02


class GroupedCounts:
    """Counts of so many groups, simulated; centred coordinates."""

    def __init__(self, groups: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.trials = rng.integers(10, 40, groups)
        self.counts = rng.binomial(self.trials, rng.beta(3, 9, groups))
        self.middle = STEP * np.arange(-350, 251)  # logit phi
        self.precision = STEP * (np.arange(1300) + 0.5)  # log kappa
        phi, kappa = expit(self.middle)[:, None], np.exp(self.precision)
        a, b = phi * kappa, (1 - phi) * kappa
        log = np.log(phi * (1 - phi)) - TAIL * self.precision
        for y, n in zip(self.counts, self.trials, strict=True):
            log = log + betaln(a + y, b + n - y) - betaln(a, b)
        self.weight = np.exp(log - log.max())
        self.weight /= self.weight.sum()
        first = (a + self.counts[0]) / (kappa + self.trials[0])
        square = first * (a + self.counts[0] + 1) / (kappa + self.trials[0] + 1)
        parts = (phi, first, square, self.precision)
        self.exact = [float(np.sum(self.weight * part)) for part in parts]

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Independent draws: a cell of the grid, a point in it, and rates given these."""
        cell = rng.choice(self.weight.size, size=n, p=self.weight.ravel())
        i, j = np.unravel_index(cell, self.weight.shape)
        middle = self.middle[i] + (rng.uniform(size=n) - 0.5) * STEP
        precision = self.precision[j] + (rng.uniform(size=n) - 0.5) * STEP
        a = (expit(middle) * np.exp(precision))[:, None] + self.counts
        b = (expit(-middle) * np.exp(precision))[:, None] + self.trials - self.counts
        # The logarithm of a gamma variable of a small shape: one of a shape larger by one, times a power of a uniform.
        up, down = (np.log(rng.gamma(c + 1)) + np.log(rng.uniform(size=c.shape)) / c for c in (a, b))
        return np.column_stack([np.log(np.expm1(precision)), middle, up - down])

    def score(self, x: np.ndarray) -> np.ndarray:
        """The gradient of the log density."""
        more, phi, theta = np.exp(x[:, 0]), expit(x[:, 1]), expit(x[:, 2:])
        kappa, groups = 1 + more, len(self.counts)
        a, b = phi * kappa, (1 - phi) * kappa
        by_a = np.sum(np.log(theta), axis=1) - groups * (digamma(a) - digamma(kappa))
        by_b = np.sum(np.log1p(-theta), axis=1) - groups * (digamma(b) - digamma(kappa))
        along = (phi * by_a + (1 - phi) * by_b - (TAIL + 1) / kappa) * more + 1
        across = phi * (1 - phi) * kappa * (by_a - by_b) + 1 - 2 * phi
        rates = (a[:, None] + self.counts) * (1 - theta) - (b[:, None] + self.trials - self.counts) * theta
        return np.column_stack([along, across, rates])

    def values(self, x: np.ndarray) -> np.ndarray:
        """The common rate, the first group's rate and its square, and log kappa."""
        first = expit(x[:, 2])
        return np.column_stack([expit(x[:, 1]), first, first**2, np.log1p(np.exp(x[:, 0]))])
