"""Events and payoffs, flat around the mode: coverage, no harm, and no mean that is surely wrong.

    python benchmarks/trust/flat_pieces.py [--cases payoff ...] [--replications 50] [--jobs 2] [--out FILE]

Of x ~ N(0, I) and u = sum x / sqrt(d), c = .5, 1, 1.5, and (d, n) = (1, 60), (2, 60), (2, 200), (5, 100), (10, 200):

    payoff  max(u - c, 0)      event    u > c          axis  x_1 > c
    hinge   sum_r max(|x_r| - c, 0)                 outside  |x_1| > c

A sample that sees nothing but the flat piece is left out: its plain average has no error either.
Bars: coverage 85 % or more, RMSE at most 1.05 times the plain average's, no error of more than ten error bars.
Tuned on seeds from 20500 to 20599, reported from 65000.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import norm
from study import Column, Lines, measured, run

import vvcv

SIZES, LIMITS = ((1, 60), (2, 60), (2, 200), (5, 100), (10, 200)), (0.5, 1.0, 1.5)

COLUMNS = (
    Column("runs", "replications", "{:d}"),
    Column("covers", "coverage", "{:.0%}", low=0.85),
    Column("RMSE / plain", "over plain", high=1.05),
    Column("(se)", "over plain, standard error", "{:.2g}"),
    Column("bar / RMSE", "bar over error", "{:.2f}"),
    Column("largest z", "largest z", "{:.1f}", high=10.0),
    Column("plain covers", "plain coverage", "{:.0%}"),
)


class Integrand(NamedTuple):
    """A function of points, and its mean."""

    values: Callable[[np.ndarray], np.ndarray]
    exact: float


def _payoff(c: float) -> float:
    return float(norm.pdf(c) - c * norm.sf(c))


def integrand(kind: str, d: int, c: float) -> Integrand:
    """One of the five kinds."""
    kinds = {
        "payoff": Integrand(lambda x: np.maximum(_along(x) - c, 0.0), _payoff(c)),
        "event": Integrand(lambda x: (_along(x) > c).astype(float), float(norm.sf(c))),
        "axis": Integrand(lambda x: (x[:, 0] > c).astype(float), float(norm.sf(c))),
        "hinge": Integrand(lambda x: np.maximum(np.abs(x) - c, 0.0).sum(axis=1), 2 * d * _payoff(c)),
        "outside": Integrand(lambda x: (np.abs(x[:, 0]) > c).astype(float), 2 * float(norm.sf(c))),
    }
    return kinds[kind]


def _along(x: np.ndarray) -> np.ndarray:
    return x.sum(axis=1) / np.sqrt(x.shape[1])


@functools.cache
def cases() -> dict[str, tuple[str, int, int, float]]:
    """Kind, dimension, points and limit by name."""
    kinds = ("payoff", "event", "axis", "hinge", "outside")
    return {f"{kind}, c = {c}, d = {d}, n = {n}": (kind, d, n, c) for kind in kinds for d, n in SIZES for c in LIMITS}


def replicate(name: str, seed: int, methods: list[str]) -> Lines:
    """One sample, unless all its values are the same."""
    kind, d, n, c = cases()[name]
    function = integrand(kind, d, c)
    x = np.random.default_rng([seed, 5]).normal(size=(n, d))
    values = function.values(x)
    if np.ptp(values) == 0:
        return []
    return measured(name, seed, vvcv.Tasks.shared(x, -x, values), np.array([function.exact]), methods)


if __name__ == "__main__":
    run(__doc__, replicate, cases(), COLUMNS, first_seed=65000)
