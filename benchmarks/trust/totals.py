"""Totals over independent parameters: of x_j, of their squares, and of tanh x_j, divided by sqrt(d).

    python benchmarks/trust/totals.py [--cases skewed ...] [--replications 40] [--jobs 2] [--out FILE]

    normal   N(0, I)     skewed  logarithms of gamma variables of shape 4     heavier  logistic variables

in 5 to 40 dimensions with three to twelve points for each.

Bars: coverage 85 % or more, RMSE at most 1.05 times the plain average's.
Tuned on seeds from 21300 to 21459, reported from 71000.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats
from study import NO_HARM, Lines, measured, run

import vvcv

SIZES = ((5, 20), (5, 60), (10, 40), (10, 120), (20, 60), (20, 240), (40, 120), (40, 240))
CURVES: tuple[Callable[[np.ndarray], np.ndarray], ...] = (lambda x: x, np.square, np.tanh)


class Margin(NamedTuple):
    """The distribution of every parameter, and its scores."""

    law: stats.rv_continuous
    score: Callable[[np.ndarray], np.ndarray]


MARGINS = {
    "normal": Margin(stats.norm(), lambda x: -x),
    "skewed": Margin(stats.loggamma(4.0), lambda x: 4 - np.exp(x)),
    "heavier": Margin(stats.logistic(), lambda x: -np.tanh(x / 2)),
}


@functools.cache
def exact(name: str) -> np.ndarray:
    """Expectations of the curves by Simpson's rule between the last quantiles."""
    law = MARGINS[name].law
    line = np.linspace(law.ppf(1e-30), law.isf(1e-30), 400_001)
    weights = law.pdf(line) * np.where(np.arange(line.size) % 2, 4, 2)
    return np.array([weights @ curve(line) for curve in CURVES]) / weights.sum()


@functools.cache
def cases() -> dict[str, tuple[str, int, int]]:
    """Margin, dimension and points by name."""
    return {f"{name}, d = {d}, n = {n}": (name, d, n) for name in MARGINS for d, n in SIZES}


def replicate(case: str, seed: int, methods: list[str]) -> Lines:
    """One sample and all three totals."""
    name, d, n = cases()[case]
    margin = MARGINS[name]
    x = margin.law.rvs(size=(n, d), random_state=np.random.default_rng([seed, 11]))
    values = np.column_stack([curve(x).sum(axis=1) for curve in CURVES]) / np.sqrt(d)
    tasks = vvcv.Tasks.shared(x, margin.score(x), values)
    return measured(case, seed, tasks, np.sqrt(d) * exact(name), methods)


if __name__ == "__main__":
    run(__doc__, replicate, cases(), NO_HARM, first_seed=71000)
