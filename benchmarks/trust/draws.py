"""Draws of posteriors without a sampling package: Hamiltonian Monte Carlo for many chains at once, in NumPy.

    python benchmarks/trust/draws.py     writes reference/logistic_120.json and reference/logistic_500.json

Logistic posteriors (d = 25: an intercept and 24 correlated covariates, 120 or 500 answers, N(0, 2^2) priors) are
sampled in coordinates of their Laplace approximation, from which all chains start: 25 trajectories of about a quarter
of a period later, each chain gives one draw. References are from a long run, sharpened by quadratic control variates
that are fitted to the other chains.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from vvcv.problems.cross_fit import cross_fitted

States = Float[np.ndarray, "chains d"]
Density = Callable[[States], tuple[Float[np.ndarray, " chains"], States]]

D, WIDTH = 25, 2.0
REFERENCE = Path(__file__).parent / "reference"

#: Numbers of answers: of few, five for each coefficient, a posterior is far from normal; of many it is near.
ANSWERS = (120, 500)


def hmc(
    rng: np.random.Generator, density: Density, start: States, step: float, leaps: int, factor: np.ndarray
) -> Iterator[States]:
    """States of all chains after each trajectory of `leaps` leapfrog steps; the mass matrix is (factor factor')^-1.

    `density` gives log densities and scores; step sizes are spread by a fifth to either side, chain by chain.
    """
    x = start
    height, score = density(x)
    while True:
        momentum = rng.normal(size=x.shape)
        size = step * rng.uniform(0.8, 1.2, size=(len(x), 1))
        y, above, slope, p = x, height, score, momentum
        for _ in range(leaps):
            p = p + size / 2 * (slope @ factor)
            y = y + size * (p @ factor.T)
            above, slope = density(y)
            p = p + size / 2 * (slope @ factor)
        change = above - height + (np.sum(momentum**2, axis=1) - np.sum(p**2, axis=1)) / 2
        accept = np.log(rng.random(len(x))) < change  # not a number is a rejection
        x, score = np.where(accept[:, None], y, x), np.where(accept[:, None], slope, score)
        height = np.where(accept, above, height)
        yield x


class LogisticPosterior:
    """Coefficients of a logistic regression given simulated answers."""

    def __init__(self, answers: int) -> None:
        rng = np.random.default_rng(25)
        mix = np.linalg.cholesky(0.7 * np.eye(D - 1) + 0.3)
        self.design = np.column_stack([np.ones(answers), rng.normal(size=(answers, D - 1)) @ mix.T])
        truth = rng.normal(size=D) / 2
        self.answers = (rng.random(answers) < expit(self.design @ truth)).astype(float)
        self.mode = np.zeros(D)
        for _ in range(30):  # Newton's method
            self.mode = self.mode + np.linalg.solve(self._curvature(), self(self.mode[None])[1][0])
        self.factor = np.linalg.cholesky(np.linalg.inv(self._curvature()))

    def __call__(self, x: States) -> tuple[np.ndarray, States]:
        """Log densities and scores."""
        logits = x @ self.design.T
        height = logits @ self.answers - np.logaddexp(0, logits).sum(axis=1) - np.sum(x**2, axis=1) / (2 * WIDTH**2)
        return height, (self.answers - expit(logits)) @ self.design - x / WIDTH**2

    def _curvature(self) -> np.ndarray:
        chance = expit(self.design @ self.mode)
        return (self.design.T * (chance * (1 - chance))) @ self.design + np.eye(D) / WIDTH**2

    def chains(self, rng: np.random.Generator, count: int) -> Iterator[States]:
        """Chains that start at the Laplace approximation and have forgotten it."""
        states = hmc(rng, self, self.mode + rng.normal(size=(count, D)) @ self.factor.T, 0.22, 7, self.factor)
        for _ in range(24):
            next(states)
        return states

    def sample(self, rng: np.random.Generator, n: int) -> States:
        """Draws that are independent, one of each chain."""
        return next(self.chains(rng, n))

    def score(self, x: States) -> States:
        """Gradients of the log density."""
        return self(x)[1]


@functools.cache
def logistic_posterior(answers: int) -> tuple[LogisticPosterior, np.ndarray]:
    """The posterior with its recorded means and squares."""
    kept = json.loads((REFERENCE / f"logistic_{answers}.json").read_text())
    return LogisticPosterior(answers), np.array([*kept["means"], *kept["squares"]])


def write_reference(answers: int, chains: int = 1000, draws: int = 400, groups: int = 20) -> None:
    """Means and squares of a long run with their standard errors, in units of their posterior deviations."""
    posterior = LogisticPosterior(answers)
    states = posterior.chains(np.random.default_rng(1), chains)
    x = np.stack([next(states) for _ in range(draws)], axis=1).reshape(groups, -1, D)
    scores = np.stack([posterior.score(group) for group in x])
    values = np.concatenate([x, x**2], axis=-1)
    left = cross_fitted(x, scores, values, degree=2).mean(axis=1)
    deviations = values.reshape(-1, 2 * D).std(axis=0)
    errors = left.std(axis=0, ddof=1) / np.sqrt(groups) / deviations
    means = np.round(left.mean(axis=0), 7).tolist()
    kept = {"draws": chains * draws, "largest standard error in posterior deviations": float(errors.max())}
    kept |= {"median standard error in posterior deviations": float(np.median(errors))}
    plain = float(np.sqrt(np.mean((values.mean(axis=(0, 1)) - left.mean(axis=0)) ** 2 / deviations**2)))
    print(kept, "plain averages differ by", plain)
    found = json.dumps(kept | {"means": means[:D], "squares": means[D:]}, indent=1)
    (REFERENCE / f"logistic_{answers}.json").write_text(found + "\n")


if __name__ == "__main__":
    for number in ANSWERS:
        write_reference(number)
