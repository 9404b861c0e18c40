"""Targets that widen or bend along one of their axes: coverage, and what taking that out gives.

    python benchmarks/trust/bends.py [--cases banana ...] [--replications 40] [--jobs 2] [--out FILE]

    regression   coefficients and log variance of the noise, conjugate: (d, n) = (1, 50), (3, 60), (8, 100), (20, 200)
    funnel       v ~ N(0, 1), x_j ~ N(0, exp(v)): (5, 60), (10, 100), (30, 200)
    two funnels  two such scales with half of the others each: (6, 80), (12, 120)
    banana       x_1 ~ N(0, 1), x_2 ~ N(x_1^2, 1), others N(0, 1): (2, 50), (5, 100), (20, 200)
    groups       effects of groups with a common mean and scale, centred, Gaussian data: (7, 60), (12, 150), (27, 300)
    walks        a random walk seen in noise, the widths of both unknown: (12, 150), (22, 300)
    counts       rates of groups with a common beta distribution, centred, binomial data: (8, 100), (14, 250), (27, 400)

Integrands: of the regression a coefficient, its square, the noise's variance and standard deviation; of funnels v, v^2,
the first x and its square; of the banana x_2, x_2^2, x_1 x_2 and cos x_1; of groups the common mean, log scale, first
effect and its square; of walks the first place and the last, its square, and the log step; of counts the common rate,
the first group's and its square, and log kappa.

Bars: coverage 85 % or more, RMSE at most 1.05 times the plain average's.
Tuned on conjugate posteriors, funnels and bananas, these among them, of seeds from 21600 to 21677, on other groups
(eight schools, counts of seeds from 21760 to 21841, and groups of these of seeds 21900 to 21913), and on walks and
schools of seeds from 22010 to 22339, and on all of seeds from 23300 to 23307 and 83000 to 83039, reported from 88200.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from grouped_counts import GroupedCounts
from hierarchical_models import Centred, Model, walk
from scipy.special import gammaln
from study import NO_HARM, Column, Lines, measured, run

import vvcv

COLUMNS = (*NO_HARM, Column("s", "seconds", "{:.1f}"))

SHAPE, RATE = 6.0, 5.0


class Sample(NamedTuple):
    """Points, scores, values and their exact means."""

    points: np.ndarray
    scores: np.ndarray
    values: np.ndarray
    exact: list[float]


def _regression(rng: np.random.Generator, n: int, d: int) -> Sample:
    inputs = np.random.default_rng(5).normal(size=(3 * d + 6, d)) * np.linspace(0.5, 2, d)
    precision, middle = inputs.T @ inputs, np.linspace(-1, 1, d)
    covariance = np.linalg.inv(precision)
    variance = RATE / rng.gamma(SHAPE, size=(n, 1))
    off = np.sqrt(variance) * rng.normal(size=(n, d)) @ np.linalg.cholesky(covariance).T
    square = np.sum(off @ precision * off, axis=1, keepdims=True)
    scores = np.hstack([-off @ precision / variance, (RATE + square / 2) / variance - SHAPE - d / 2])
    first = middle[:1] + off[:, :1]
    mean = RATE / (SHAPE - 1)
    root = np.sqrt(RATE) * np.exp(gammaln(SHAPE - 0.5) - gammaln(SHAPE))
    exact = [middle[0], middle[0] ** 2 + covariance[0, 0] * mean, mean, root]
    values = np.hstack([first, first**2, variance, np.sqrt(variance)])
    return Sample(np.hstack([middle + off, np.log(variance)]), scores, values, exact)


def _funnels(rng: np.random.Generator, n: int, d: int, scales: int) -> Sample:
    z = rng.normal(size=(n, d))
    v, u = z[:, :scales], z[:, scales:]
    belongs = np.arange(d - scales) % scales
    width = np.exp(v[:, belongs] / 2)
    x = width * u
    by_scale = np.eye(scales)[belongs]
    scores = np.hstack([-v + (u**2 - 1) @ by_scale / 2, -u / width])
    values = np.column_stack([v[:, 0], v[:, 0] ** 2, x[:, 0], x[:, 0] ** 2])
    return Sample(np.hstack([v, x]), scores, values, [0.0, 1.0, 0.0, float(np.exp(0.5))])


def _banana(rng: np.random.Generator, n: int, d: int) -> Sample:
    z = rng.normal(size=(n, d))
    x, scores = z.copy(), -z
    x[:, 1] += x[:, 0] ** 2
    scores[:, 0] += 2 * x[:, 0] * z[:, 1]
    values = np.column_stack([x[:, 1], x[:, 1] ** 2, x[:, 0] * x[:, 1], np.cos(x[:, 0])])
    return Sample(x, scores, values, [1.0, 4.0, 0.0, float(np.exp(-0.5))])


@cache
def effects(groups: int) -> Centred:
    rng = np.random.default_rng([31, groups])
    noise = rng.uniform(0.5, 2, groups)
    y = 1 + rng.normal(size=groups) + noise * rng.normal(size=groups)
    columns = np.column_stack([np.ones(groups), np.eye(groups)])
    return Centred(columns, y, noise, [5.0] + [1.0] * groups, [[0] + [1] * groups], [0], [1.0])


def _groups(rng: np.random.Generator, n: int, d: int) -> Sample:
    model = effects(d - 2)
    x, exact = model.sample(rng, n), model.exact()
    values = np.column_stack([x[:, 0], x[:, -1], x[:, 1], x[:, 1] ** 2])
    return Sample(x, model.score(x), values, [exact[0], exact[d - 1], exact[1], exact[d + 1]])


@cache
def _walk(length: int) -> tuple[Model, np.ndarray]:
    model = walk(length)
    return model, model.exact()


def _walks(rng: np.random.Generator, n: int, d: int) -> Sample:
    model, exact = _walk(d - 2)
    x = model.sample(rng, n)
    values = np.column_stack([x[:, 0], x[:, d - 3], x[:, d - 3] ** 2, x[:, d - 2]])
    return Sample(x, model.score(x), values, [exact[0], exact[d - 3], exact[2 * d - 3], exact[d - 2]])


@cache
def _rates(groups: int) -> GroupedCounts:
    return GroupedCounts(groups, seed=groups)


def _counts(rng: np.random.Generator, n: int, d: int) -> Sample:
    model = _rates(d - 2)
    x = model.sample(rng, n)
    return Sample(x, model.score(x), model.values(x), model.exact)


Draw = Callable[[np.random.Generator, int, int], Sample]

TARGETS: dict[str, tuple[Draw, tuple[tuple[int, int], ...]]] = {
    "regression": (_regression, ((1, 50), (3, 60), (8, 100), (20, 200))),
    "funnel": (lambda rng, n, d: _funnels(rng, n, d, 1), ((5, 60), (10, 100), (30, 200))),
    "two funnels": (lambda rng, n, d: _funnels(rng, n, d, 2), ((6, 80), (12, 120))),
    "banana": (_banana, ((2, 50), (5, 100), (20, 200))),
    "groups": (_groups, ((7, 60), (12, 150), (27, 300))),
    "walks": (_walks, ((12, 150), (22, 300))),
    "counts": (_counts, ((8, 100), (14, 250), (27, 400))),
}


def cases() -> dict[str, tuple[str, int, int]]:
    """Target, dimension and points by name."""
    return {f"{name}, d = {d}, n = {n}": (name, d, n) for name, (_, sizes) in TARGETS.items() for d, n in sizes}


def replicate(case: str, seed: int, methods: list[str]) -> Lines:
    """One sample and all four integrands."""
    name, d, n = cases()[case]
    sample = TARGETS[name][0](np.random.default_rng([seed, d, n]), n, d)
    tasks = vvcv.Tasks.shared(sample.points, sample.scores, sample.values)
    return measured(case, seed, tasks, np.array(sample.exact), methods)


if __name__ == "__main__":
    run(__doc__, replicate, cases(), COLUMNS, first_seed=88200)
