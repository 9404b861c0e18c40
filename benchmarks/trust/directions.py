"""Functions of one or two directions, and predictions of a regression: coverage, and what following directions gives.

    python benchmarks/trust/directions.py [--cases growing ...] [--replications 40] [--jobs 2] [--out FILE]

Of x ~ N(0, I), u = w . x and v = w' . x, directions drawn anew in each run, (d, n) = (3, 100), (6, 100), (12, 200), and
with few points for each dimension, (20, 80), (30, 100), (30, 200):

    growing  exp(u)     steep  exp(1.5 u)     kink  |u|     wave  cos(2 u)     two  exp(u) + sin(2 v)
    chances  of six rows of a logistic regression, on the same points: 1 / (1 + exp(-1.5 u_t - .5))
    every    sum over all turned axes of sin(z_r) + z_r^2 / 5, which no few directions tell
    noise    N(0, 1), which nothing does

Bars: coverage 85 % or more, RMSE at most 1.05 times the plain average's.
Tuned on seeds from 20000 to 20099, 20720 to 20799 and 21100 to 21212, reported from 70000.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from study import NO_HARM, Column, Lines, measured, run

import vvcv

SIZES = ((3, 100), (6, 100), (12, 200), (20, 80), (30, 100), (30, 200))

COLUMNS = (*NO_HARM, Column("plain covers", "plain coverage", "{:.0%}"))


class Integrand(NamedTuple):
    """Values of functions of some directions (columns of u), their number (0: all), and the mean, or one axis's."""

    values: Callable[[np.ndarray], np.ndarray]
    directions: int
    exact: float
    noise: float = 0.0


def _chance(u: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-1.5 * u - 0.5))


def _mean(function: Callable[[np.ndarray], np.ndarray]) -> float:
    u, weights = np.polynomial.hermite_e.hermegauss(150)
    return float(weights @ function(u) / np.sqrt(2 * np.pi))


@functools.cache
def integrands() -> dict[str, Integrand]:
    """All kinds by name."""
    return {
        "growing": Integrand(np.exp, 1, float(np.exp(0.5))),
        "steep": Integrand(lambda u: np.exp(1.5 * u), 1, float(np.exp(1.125))),
        "kink": Integrand(np.abs, 1, float(np.sqrt(2 / np.pi))),
        "wave": Integrand(lambda u: np.cos(2 * u), 1, float(np.exp(-2))),
        "two": Integrand(lambda u: np.exp(u[:, :1]) + np.sin(2 * u[:, 1:]), 2, float(np.exp(0.5))),
        "chances": Integrand(_chance, 6, _mean(_chance)),
        "every": Integrand(lambda u: np.sum(np.sin(u) + u**2 / 5, axis=1, keepdims=True), 0, 1 / 5),
        "noise": Integrand(lambda u: 0 * u, 1, 0.0, noise=1.0),
    }


@functools.cache
def cases() -> dict[str, tuple[str, int, int]]:
    """Kind, dimension and points by name."""
    return {f"{kind}, d = {d}, n = {n}": (kind, d, n) for kind in integrands() for d, n in SIZES}


def replicate(name: str, seed: int, methods: list[str]) -> Lines:
    """One sample with directions of its own."""
    kind, d, n = cases()[name]
    function = integrands()[kind]
    rng = np.random.default_rng([seed, 7])
    directions = rng.normal(size=(d, function.directions or d))
    if kind in ("two", "every"):
        directions = np.linalg.qr(directions)[0]
    x = rng.normal(size=(n, d))
    values = function.values(x @ (directions / np.linalg.norm(directions, axis=0)))
    values = values + function.noise * rng.normal(size=values.shape)
    exact = np.full(values.shape[1], function.exact * (1 if function.directions else d))
    return measured(name, seed, vvcv.Tasks.shared(x, -x, values), exact, methods)


if __name__ == "__main__":
    run(__doc__, replicate, cases(), COLUMNS, first_seed=70000)
