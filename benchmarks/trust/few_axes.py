"""Functions of one or two axes among many: coverage, and what fitting them on these axes alone gives.

    python benchmarks/trust/few_axes.py [--cases correlated ...] [--replications 40] [--jobs 2] [--out FILE]

    normal       N(0, I)                         (d, n) = (10, 100), (30, 200), (100, 200)
    correlated   N(0, C), C_ij = .6^|i - j|      the same
    log-gamma    logarithms of gamma variables of shape 3, independent, (10, 100), (30, 200)
    funnel       x_j ~ N(0, exp(x_d / 2)), x_d ~ N(0, 1): no product, so all axes have to be seen, (10, 100), (30, 200)

Integrands: growing exp(x_1 / 2), chance 1 / (1 + exp(-2 x_1)), kink |x_1|, wave cos(2 x_1) + x_2^2, bilinear
exp(x_1 / 4) x_2; under the funnel those of them that have a mean: chance, kink, wave. `every` are the growing function
and the chance of every axis, on the same points of N(0, I), d = 10, n = 200.

Bars: coverage 85 % or more, RMSE at most 1.05 times the plain average's.
Tuned on seeds from 20800 to 20899, 21030 to 21035 and 21110 to 21212, reported from 70000.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.integrate import quad
from scipy.stats import loggamma, norm
from study import NO_HARM, Column, Lines, measured, run

import vvcv

SHAPE, LINK = 3.0, 0.6

COLUMNS = (*NO_HARM, Column("s", "seconds", "{:.1f}"))

Sample = Callable[[np.random.Generator, int, int], tuple[np.ndarray, np.ndarray]]


def _normal(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(size=(n, d))
    return x, -x


def _correlated(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    covariance = LINK ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    x = rng.normal(size=(n, d)) @ np.linalg.cholesky(covariance).T
    return x, -np.linalg.solve(covariance, x.T).T


def _log_gamma(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    u = rng.gamma(SHAPE, size=(n, d))
    return np.log(u), SHAPE - u


def _funnel(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    z = rng.normal(size=(n, d))
    width = np.exp(z[:, -1:] / 4)
    last = -z[:, -1] + (np.sum(z[:, :-1] ** 2, axis=1) - d + 1) / 4
    return np.column_stack([z[:, :-1] * width, z[:, -1]]), np.column_stack([-z[:, :-1] / width, last])


class Target(NamedTuple):
    """Points with scores, sizes (d, n), and what the expectation of a function of one axis is."""

    sample: Sample
    sizes: tuple[tuple[int, int], ...]
    mean: Callable[[Callable], float]
    link: float = 0.0


def _integral(density: Callable) -> Callable[[Callable], float]:
    def mean(function: Callable) -> float:
        return quad(lambda t: function(t) * density(t), -30, 12, points=[-3, 0, 3], limit=500, epsabs=1e-12)[0]

    return mean


def _funnel_mean(function: Callable) -> float:
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    given = [_integral(norm(scale=np.exp(t / 4)).pdf)(function) for t in nodes]
    return float(weights @ given / weights.sum())


FEW, MANY = ((10, 100), (30, 200)), ((10, 100), (30, 200), (100, 200))
TARGETS = {
    "normal": Target(_normal, MANY, _integral(norm.pdf)),
    "correlated": Target(_correlated, MANY, _integral(norm.pdf), LINK),
    "log-gamma": Target(_log_gamma, FEW, _integral(loggamma(SHAPE).pdf)),
    "funnel": Target(_funnel, FEW, _funnel_mean),
}


def growing(x: np.ndarray) -> np.ndarray:
    """exp(x / 2)."""
    return np.exp(x / 2)


def chance(x: np.ndarray) -> np.ndarray:
    """A logistic function."""
    return 1 / (1 + np.exp(-2 * x))


INTEGRANDS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "growing": lambda x: growing(x[:, 0]),
    "chance": lambda x: chance(x[:, 0]),
    "kink": lambda x: np.abs(x[:, 0]),
    "wave": lambda x: np.cos(2 * x[:, 0]) + x[:, 1] ** 2,
    "bilinear": lambda x: np.exp(x[:, 0] / 4) * x[:, 1],
}
OF_THE_FUNNEL = ("chance", "kink", "wave")


@functools.cache
def exact(target: str, name: str) -> float:
    """The expectation; of exp(a x_1) x_2 under correlated normal variables it is c a exp(a^2 / 2)."""
    of, link = TARGETS[target].mean, TARGETS[target].link
    if name == "wave":
        return of(lambda t: np.cos(2 * t)) + of(np.square)
    if name == "bilinear":
        return link / 4 * float(np.exp(1 / 32)) + of(lambda t: np.exp(t / 4)) * of(lambda t: t)
    return of({"growing": growing, "chance": chance, "kink": np.abs}[name])


@functools.cache
def cases() -> dict[str, tuple[str, str, int, int]]:
    """Target, integrand, dimension and points by name."""
    found = {
        f"{target}, {name}, d = {d}, n = {n}": (target, name, d, n)
        for target, given in TARGETS.items()
        for name in (OF_THE_FUNNEL if target == "funnel" else INTEGRANDS)
        for d, n in given.sizes
    }
    return found | {"normal, every, d = 10, n = 200": ("normal", "every", 10, 200)}


def replicate(name: str, seed: int, methods: list[str]) -> Lines:
    """One sample."""
    target, kind, d, n = cases()[name]
    x, scores = TARGETS[target].sample(np.random.default_rng([seed, 8]), n, d)
    if kind == "every":
        values = np.hstack([growing(x), chance(x)])
        means = np.repeat([exact(target, "growing"), exact(target, "chance")], d)
    else:
        values, means = INTEGRANDS[kind](x)[:, None], np.array([exact(target, kind)])
    return measured(name, seed, vvcv.Tasks.shared(x, scores, values), means, methods)


if __name__ == "__main__":
    run(__doc__, replicate, cases(), COLUMNS, first_seed=70000)
