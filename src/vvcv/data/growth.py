"""Values that grow exponentially along a direction, as those of lognormal quantities do, and a weight of half of it.

Far out a kernel's function ends where its points do, and the mean of one that grows on is too low. With f(x) about
a + b exp(rate . x) and the weight w(x) = exp(rate . x / 2), the kernel w(x) k(x, y) w(y) grows half as fast by itself.
Its Stein kernel is that of k with scores s + rate / 2, times both weights: what is fitted is f / w under a density
drawn towards where f is large. There f / w is as large on one side as what a constant becomes, 1 / w, is on the other.
(From 100 normal points E exp(x) is off by 3e-4 without a weight, and with weights of a quarter, a half, three quarters
and all of the growth by 6e-5, 2e-5, 5e-4 and .08: then points miss where the density is drawn to.)

Where a tail falls exponentially itself, as those of Gumbel and logistic variables do, much of the mean lies beyond the
last points. There scores are flat, and the Stein image of the field rate exp(rate . x) is a multiple of f: beside the
kernel it stands as a column of its own, (|rate|^2 + rate . s) exp(rate . x), with a coefficient for f to choose.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from jaxtyping import Float
from scipy.optimize import least_squares

from .directions import normal_scores
from .standardize import Coordinates

#: The most: where exp(3x) has its mean there are no points, and a weight as large would leave few of those there are.
STRONGEST = 3.0

#: Part of all squares that an exponential leaves at most: what values do else is not to be much.
LEFT = 0.1

#: Degree of the polynomial along the same way that leaves no less than an exponential, but for chance: what grows like
#: a power, or bends and goes on straight, is no exponential, and beyond the last points far below one. (Of u^4 under a
#: Gumbel an exponential leaves two hundredths, and with it the mean is off by several errors of the plain average.)
POWERS = 4

#: What a polynomial may leave less by, in what is left for a value: two numbers more take off as much by chance, once
#: in twenty samples.
BY_CHANCE = 6.0

#: Skewness of values up to which nothing is looked for: of samples of 60 points of exp(.6 x) one in a hundred has less,
#: and most integrands of a posterior do.
SKEWED = 0.5

#: Values for each number that an exponential is fitted by: of fewer one follows whatever there is.
VALUES_FOR_EACH = 2

#: Rates that are tried along the direction that values go with, in standard deviations, of either sign (-exp(-x) rises,
#: too), and part of all squares that one of them leaves at most: others than the best are not gone on from.
RATES = np.array([sign * rate for rate in (0.4, 0.6, 0.9, 1.35, 2.0, 3.0) for sign in (1, -1)])
WORTH_GOING_ON = 0.5

#: What entries of a rate are multiples of, in standard deviations: last digits are to decide nothing, and an image is
#: to go on as values do. (Of multiples of a 64th, errors under Gumbel tails are 1.4 times as large, and bars narrower.)
STEP = 2.0**-12


class Weight(Protocol):
    """A positive function w of points under which values f are fitted as f / w, and what it makes of scores."""

    def weight(self, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """By what a kernel's function is multiplied."""

    def drawn(
        self, points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"]
    ) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n d"]]:
        """The same points, and scores of the density times the weight."""

    def images(
        self, points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"], coordinates: Coordinates
    ) -> Float[np.ndarray, "n k"]:
        """Stein images, divided by w, that values may go on as beyond the last points, of scores as drawn here."""


class Growth(NamedTuple):
    """The weight exp((x - centre) . rate / 2) of points x, and what it makes of scores."""

    rate: Float[np.ndarray, " d"]
    centre: Float[np.ndarray, " d"]

    def weight(self, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """By what a kernel's function is multiplied."""
        return np.exp((points - self.centre) @ self.rate / 2)

    def drawn(
        self, points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"]
    ) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n d"]]:
        """The same points, and scores of the density times the weight."""
        return points, scores + self.rate / 2

    def images(
        self, points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"], coordinates: Coordinates
    ) -> Float[np.ndarray, "n 1"]:
        """That of the field r w^2, r the rate in standard coordinates: (|r|^2 + r . s) w^2, of scores s + r / 2."""
        rate = coordinates.scores(self.rate[None])[0]
        return self.weight(points)[:, None] * (coordinates.scores(scores) @ rate + rate @ rate / 2)[:, None]


def growth_rate(points: Float[np.ndarray, "n d"], values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " d"] | None:
    """The rate of the exponential that values are; None where they do not grow, or not like one.

    >>> x = np.random.default_rng(0).normal(size=(80, 2))
    >>> growth_rate(x, np.exp(x[:, 0]))
    array([1., 0.])
    >>> growth_rate(x, np.sin(x[:, 0])) is growth_rate(x, x[:, 0] ** 2) is None
    True
    """
    n, d = points.shape
    centred = values - values.mean()
    whole = float(centred @ centred)
    if n < VALUES_FOR_EACH * (d + 2) or abs(float(np.mean(centred**3))) <= SKEWED * (whole / n) ** 1.5:
        return None
    lines = np.hstack([np.ones((n, 1)), points])
    slopes = np.linalg.lstsq(lines, normal_scores(values), rcond=None)[0][1:]
    along = points @ slopes
    spread = float(np.std(along))
    if not spread > 0:
        return None
    left = _left_along(along / spread, centred)
    best = int(np.argmin(left))
    if left[best] > WORTH_GOING_ON * whole:
        return None
    left_at_best, rate = _exponential(points, centred, RATES[best] / spread * slopes)
    if left_at_best > min(LEFT * whole, _left_by_powers(points @ rate, centred)):
        return None
    rate = np.round(rate / STEP) * STEP + 0.0  # no zero has a sign
    return rate if 0 < np.std(points @ rate) <= STRONGEST else None


def _exponential(
    points: Float[np.ndarray, "n d"], values: Float[np.ndarray, " n"], start: Float[np.ndarray, " d"]
) -> tuple[float, Float[np.ndarray, " d"]]:
    """Squares that a + b exp(rate . x) leaves, and the rate, from a start; a and b by least squares for each rate."""

    def off(rate: Float[np.ndarray, " d"]) -> Float[np.ndarray, " n"]:
        curve = _curve(points, rate)
        return values - curve @ np.linalg.lstsq(curve, values, rcond=None)[0]

    def slope(rate: Float[np.ndarray, " d"]) -> Float[np.ndarray, "n d"]:
        """Kaufman's: -Q Q' dC/drate b, what the curve's own columns span taken out."""
        curve = _curve(points, rate)
        size = np.linalg.lstsq(curve, values, rcond=None)[0][1]
        moved = -size * curve[:, 1:] * (points - points[np.argmax(points @ rate)])
        basis = np.linalg.qr(curve)[0]
        return moved - basis @ (basis.T @ moved)

    found = least_squares(off, start, slope, max_nfev=50)
    return 2 * float(found.cost), found.x


def _curve(points: Float[np.ndarray, "n d"], rate: Float[np.ndarray, " d"]) -> Float[np.ndarray, "n 2"]:
    along = points @ rate
    return np.column_stack([np.ones(len(points)), np.exp(along - along.max())])


def _left_by_powers(along: Float[np.ndarray, " n"], values: Float[np.ndarray, " n"]) -> float:
    """Squares that a polynomial leaves, and what it takes off by chance."""
    powers, freedom = np.polynomial.Chebyshev.fit(along, values, POWERS), max(len(values) - POWERS - 1, 1)
    return float(np.sum((values - powers(along)) ** 2)) * (1 + BY_CHANCE / freedom)


def _left_along(along: Float[np.ndarray, " n"], centred: Float[np.ndarray, " n"]) -> Float[np.ndarray, " k"]:
    """Squares that an exponential of each rate along one direction leaves."""
    curves = np.exp(along[:, None] * RATES - np.max(along[:, None] * RATES, axis=0))
    curves -= curves.mean(axis=0)
    return centred @ centred - (centred @ curves) ** 2 / np.sum(curves**2, axis=0)
