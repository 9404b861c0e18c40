"""Values that grow exponentially, under several targets: coverage, and what a weight of half the growth gives.

    python benchmarks/trust/growing.py [--cases lognormal ...] [--replications 40] [--jobs 2] [--out FILE]

    lognormal      exp(w . x), x ~ N(0, I), |w| = 1 or 1.5, in 1, 3, 8 and 20 dimensions
    moments        exp(t x), t = .5, 1 and 1.5, on the same points, x ~ N(0, 1)
    odds           exp(x_1) and exp(-x_2) under correlated normals in 5 dimensions
    gammas         products of powers of gamma variables, by their logarithms
    logistics      exp(x_1 / 2), x logistic, in 2 dimensions, without a variance: only just a mean, an alarm is due
    asset, call    a price exp(.2 + .8 u), and max(price - 1, 0), u the mean of four of x ~ N(0, I)
    noisy          exp(x_1) + noise of a tenth
    tails          exp(t u), t = .2, .35 and .45, u Gumbel or logistic, alone or turned among normals in 4 dimensions
    powers         u^3 and log(1 + exp(2 u)) of a Gumbel u: what bends as an exponential does and is none
    both           exp(x_1) + exp(-x_1) / 2, and exp(x_1) + sin(3 x_2)

Bars: coverage 85 % or more, RMSE at most 1.05 times the plain average's.
Tuned on seeds from 25000 to 25499 (other directions, sizes and functions), reported from 91000; tails and powers on
seeds 300 to 404 (other rates and sizes), reported from 91000 as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import gamma, gammaln
from scipy.stats import norm
from study import NO_HARM, Column, Lines, measured, run

import vvcv

COLUMNS = (*NO_HARM, Column("plain covers", "plain coverage", "{:.0%}"))

#: Exponents of the products, and the shape of the gamma variables.
POWERS, SHAPE = np.array([[0.8, 0.5, 0.0], [1.5, 0.0, -0.7]]), 4.0

#: What the price is the exponential of.
RATE, GROWTH = 0.8, 0.2


class Sample(NamedTuple):
    """Points, scores, values of one integrand or more, and exact means."""

    points: np.ndarray
    scores: np.ndarray
    values: np.ndarray
    exact: np.ndarray


def lognormal(d: int, n: int, length: float) -> Callable[[np.random.Generator], Sample]:
    """The exponential of a direction that is drawn anew in each run."""

    def draw(rng: np.random.Generator) -> Sample:
        w, x = rng.normal(size=d), rng.normal(size=(n, d))
        values = np.exp(length * x @ w / np.linalg.norm(w))
        return Sample(x, -x, values[:, None], np.array([np.exp(length**2 / 2)]))

    return draw


def moments(rng: np.random.Generator, n: int = 60) -> Sample:
    """Three points of a moment generating function."""
    x, t = rng.normal(size=(n, 1)), np.array([0.5, 1.0, 1.5])
    return Sample(x, -x, np.exp(x * t), np.exp(t**2 / 2))


def odds(rng: np.random.Generator, n: int = 120) -> Sample:
    """Odds of two coefficients of correlation .7."""
    covariance = 0.7 + 0.3 * np.eye(5)
    x = rng.normal(size=(n, 5)) @ np.linalg.cholesky(covariance).T
    values = np.exp(np.column_stack([x[:, 0], -x[:, 1]]))
    return Sample(x, -x @ np.linalg.inv(covariance), values, np.exp(np.full(2, 0.5)))


def gammas(rng: np.random.Generator, n: int = 100) -> Sample:
    """Products of powers, whose means are ratios of gamma functions."""
    g = rng.gamma(SHAPE, size=(n, 3))
    exact = np.exp(np.sum(gammaln(SHAPE + POWERS) - gammaln(SHAPE), axis=1))
    return Sample(np.log(g), SHAPE - g, np.exp(np.log(g) @ POWERS.T), exact)


def logistics(rng: np.random.Generator, n: int = 150) -> Sample:
    """E exp(x / 2) = (pi / 2) / sin(pi / 2)."""
    x = rng.logistic(size=(n, 2))
    return Sample(x, -np.tanh(x / 2), np.exp(x[:, :1] / 2), np.array([np.pi / 2]))


def option(payoff: bool) -> Callable[[np.random.Generator], Sample]:
    """A price, or what is paid if it is above one."""

    def draw(rng: np.random.Generator, n: int = 150) -> Sample:
        x = rng.normal(size=(n, 6))
        price = np.exp(GROWTH + RATE * x[:, :4].sum(axis=1) / 2)[:, None]
        mean = np.exp(GROWTH + RATE**2 / 2)
        if not payoff:
            return Sample(x, -x, price, np.array([mean]))
        paid = mean * norm.cdf(GROWTH / RATE + RATE) - norm.cdf(GROWTH / RATE)
        return Sample(x, -x, np.maximum(price - 1, 0.0), np.array([paid]))

    return draw


def noisy(rng: np.random.Generator, n: int = 150) -> Sample:
    """An exponential that is measured with noise."""
    x = rng.normal(size=(n, 3))
    return Sample(x, -x, np.exp(x[:, :1]) + 0.1 * rng.normal(size=(n, 1)), np.array([np.exp(0.5)]))


def both(rng: np.random.Generator, n: int = 100) -> Sample:
    """Growth on both sides, and beside a wave."""
    x = rng.normal(size=(n, 2))
    a, b = x.T
    values = np.column_stack([np.exp(a) + np.exp(-a) / 2, np.exp(a) + np.sin(3 * b)])
    return Sample(x, -x, values, np.exp(0.5) * np.array([1.5, 1.0]))


def tails(law: str, d: int, n: int) -> Callable[[np.random.Generator], Sample]:
    """Exponentials of a variable whose tail falls exponentially, in turned coordinates with d - 1 normal ones."""
    rates = np.array([0.2, 0.35, 0.45])

    def draw(rng: np.random.Generator) -> Sample:
        u = rng.gumbel(size=n) if law == "Gumbel" else rng.logistic(size=n)
        score = np.exp(-u) - 1 if law == "Gumbel" else -np.tanh(u / 2)
        others = rng.normal(size=(n, d - 1))
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
        points, scores = np.column_stack([u, others]) @ turn, np.column_stack([score, -others]) @ turn
        exact = gamma(1 - rates) * (1.0 if law == "Gumbel" else gamma(1 + rates))
        return Sample(points, scores, np.exp(u[:, None] * rates), exact)

    return draw


def powers(rng: np.random.Generator, n: int = 150) -> Sample:
    """Exact means by quadrature from -10 to 50."""
    u, (nodes, mass) = rng.gumbel(size=(n, 1)), np.polynomial.legendre.leggauss(2000)
    x = 20 + 30 * nodes
    w = 30 * mass * np.exp(-x - np.exp(-x))
    values = np.column_stack([u[:, 0] ** 3, np.logaddexp(0, 2 * u[:, 0])])
    return Sample(u, np.exp(-u) - 1, values, np.array([w @ x**3, w @ np.logaddexp(0, 2 * x)]))


CASES: dict[str, Callable[[np.random.Generator], Sample]] = {
    **{
        f"lognormal, d = {d}, n = {n}, |w| = {length}": lognormal(d, n, length)
        for d, n in ((1, 40), (3, 80), (8, 150), (20, 100))
        for length in (1.0, 1.5)
    },
    "moments, n = 60": moments,
    "odds, d = 5, n = 120": odds,
    "gammas, d = 3, n = 100": gammas,
    "logistics, d = 2, n = 150": logistics,
    "asset, d = 6, n = 150": option(payoff=False),
    "call, d = 6, n = 150": option(payoff=True),
    "noisy, d = 3, n = 150": noisy,
    "both, d = 2, n = 100": both,
    **{
        f"tails, {law}, d = {d}, n = {n}": tails(law, d, n)
        for law in ("Gumbel", "logistic")
        for d, n in ((1, 80), (4, 200))
    },
    "powers, Gumbel, n = 150": powers,
}


def replicate(name: str, seed: int, methods: list[str]) -> Lines:
    """One sample."""
    points, scores, values, exact = CASES[name](np.random.default_rng([seed, 11]))
    return measured(name, seed, vvcv.Tasks.shared(points, scores, values), exact, methods, check=True)


if __name__ == "__main__":
    run(__doc__ or "", replicate, CASES, COLUMNS, first_seed=91000)
