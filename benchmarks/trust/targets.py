"""Targets with independent draws and chains: a correlated Gaussian, a Student, a hierarchical logistic regression.

All are posteriors in five dimensions whose last coordinate is the logarithm of a scale, and come with the scores of
their prior, so that every mistake a user can make with scores can be made with them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.special import expit

D = 5
Draw = tuple[np.ndarray, np.ndarray, np.ndarray]  # points, scores, scores of the prior


@dataclass(frozen=True)
class Target:
    """Draws of one target, independent `(n, d)` or as chains `(chain, draw, d)` with autocorrelation near 0.9."""

    name: str
    independent: Callable[[np.random.Generator, int], Draw]
    chains: Callable[[np.random.Generator, int, int], Draw]


def autoregressive(rng: np.random.Generator, chains: int, draws: int, width: int, rho: float = 0.9) -> np.ndarray:
    """Stationary standard Gaussian chains u_i = rho u_(i-1) + sqrt(1 - rho^2) e_i."""
    u = rng.normal(size=(chains, draws, width))
    for i in range(1, draws):
        u[:, i] = rho * u[:, i - 1] + np.sqrt(1 - rho**2) * u[:, i]
    return u


SPREAD = np.array([0.3, 1.0, 2.0, 0.7, 0.6])
FACTOR = SPREAD[:, None] * np.linalg.cholesky(0.5 * np.eye(D) + 0.5)
PRECISION = np.linalg.inv(FACTOR @ FACTOR.T)
CENTRE = np.array([1.0, -2.0, 3.0, 0.5, -0.5])
FREEDOM = 5


def _gaussian(u: np.ndarray) -> Draw:
    x = u[..., :D] @ FACTOR.T
    return CENTRE + x, -x @ PRECISION, -(CENTRE + x) / 5.0**2


def _student(u: np.ndarray) -> Draw:
    weight = np.sqrt(stats.chi2.ppf(stats.norm.cdf(u[..., -1:]), FREEDOM) / FREEDOM)
    x = (u[..., :D] / weight) @ FACTOR.T
    y = x @ PRECISION
    scores = -(FREEDOM + D) * y / (FREEDOM + (x * y).sum(axis=-1, keepdims=True))
    return CENTRE + x, scores, -(CENTRE + x) / 5.0**2


class Logistic:
    """beta_k ~ N(0, tau^2), tau half-normal (width 3), forty answers: sampled by Metropolis."""

    def __init__(self) -> None:
        rng = np.random.default_rng(20)
        self.design = rng.normal(size=(40, D - 1))
        self.answers = (rng.random(40) < expit(self.design @ [1.0, -0.5, 0.2, 0.5])).astype(float)
        self.proposal = 0.3 * np.eye(D)
        pilot = self._metropolis(rng, np.zeros((1000, D)), 1000, keep=1)[:, -1]
        self.proposal = np.linalg.cholesky(np.cov(pilot, rowvar=False)) * 1.1
        self.bank = self._metropolis(rng, pilot[rng.integers(1000, size=20_000)], 400, keep=1)[:, -1]

    def log_density(self, x: np.ndarray) -> np.ndarray:
        beta, log_tau = x[..., :-1], x[..., -1]
        logits = beta @ self.design.T
        likelihood = logits @ self.answers - np.logaddexp(0, logits).sum(axis=-1)
        precision = np.exp(-2 * log_tau)
        return (
            likelihood
            - 0.5 * (beta**2).sum(axis=-1) * precision
            - (D - 1) * log_tau
            - np.exp(2 * log_tau) / 18
            + log_tau
        )

    def scores(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        beta, log_tau = x[..., :-1], x[..., -1:]
        precision = np.exp(-2 * log_tau)
        by_tau = (beta**2).sum(axis=-1, keepdims=True) * precision - (D - 1) - np.exp(2 * log_tau) / 9 + 1
        prior = np.concatenate([-beta * precision, by_tau], axis=-1)
        data = (self.answers - expit(beta @ self.design.T)) @ self.design
        return prior + np.concatenate([data, np.zeros_like(log_tau)], axis=-1), prior

    def independent(self, rng: np.random.Generator, n: int) -> Draw:
        x = self.bank[rng.choice(len(self.bank), n, replace=False)]
        return x, *self.scores(x)

    def chains(self, rng: np.random.Generator, chains: int, draws: int) -> Draw:
        start = self.bank[rng.choice(len(self.bank), chains, replace=False)]
        x = self._metropolis(rng, start, 3 * draws, keep=draws)
        return x, *self.scores(x)

    def _metropolis(self, rng: np.random.Generator, x: np.ndarray, steps: int, keep: int) -> np.ndarray:
        """Random-walk Metropolis from many starts at once; returns `keep` evenly spaced states of each."""
        density, kept = self.log_density(x), []
        for step in range(steps):
            proposal = x + rng.normal(size=x.shape) @ self.proposal.T
            proposed = self.log_density(proposal)
            accept = np.log(rng.random(len(x))) < proposed - density
            x, density = np.where(accept[:, None], proposal, x), np.where(accept, proposed, density)
            if (step + 1) % (steps // keep) == 0:
                kept.append(x)
        return np.stack(kept[-keep:], axis=1)


def targets() -> list[Target]:
    """All three."""
    logistic = Logistic()
    return [
        Target(
            "gaussian",
            lambda rng, n: _gaussian(rng.normal(size=(n, D))),
            lambda rng, chains, draws: _gaussian(autoregressive(rng, chains, draws, D)),
        ),
        Target(
            "student",
            lambda rng, n: _student(rng.normal(size=(n, D + 1))),
            lambda rng, chains, draws: _student(autoregressive(rng, chains, draws, D + 1)),
        ),
        Target("logistic", logistic.independent, logistic.chains),
    ]
