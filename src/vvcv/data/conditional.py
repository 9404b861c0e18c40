"""All else given the logarithms v of scales: a Gaussian whose mean and covariance are known at any v.

In coordinates y of `pooled.py` its precision is P(v) = sum_k g_k(v) B_k and its pull p(v) = sum_k g_k(v) p_k, so that y
is N(P^-1 p, P^-1), and integrating it out leaves in the density of v

    -log |P| / 2 + p'P^-1 p / 2

beside terms of v alone. Where two parts are diagonal together, with entries a_j and b_j e, e = exp(h v), and pulls
a_j m_j and b_j e n_j, these terms can be chosen such that nothing cancels if e is large, as in the neck of a funnel:

    -sum_j log(a_j + b_j e) / 2 - sum_j (m_j - n_j)^2 / (1 / a_j + 1 / (b_j e)) / 2

All other parts are one sum of squares (`squares.py`), |F(v) y - f(v)|^2 = y'P y - 2 p'y + terms of v alone, whose least
value takes the place of -p'P^-1 p. An orthogonal factor of (F, f) tells it to all digits wherever v is.
"""

from __future__ import annotations

from functools import partial
from typing import Protocol

import numpy as np
from jaxtyping import Float

from ..runtime.clock import time_for
from .lines import Rows
from .pooled import NO_PRECISION, Pooled, in_parts, times
from .squares import Squares, squares_of
from .terms import Numbers, Places

Pairs = tuple[Float[np.ndarray, " p"], Float[np.ndarray, " p"]]

#: Seconds that covariances that are not diagonal take, for all draws and all places that are integrated over, in units
#: of the squared number of coordinates: 23 take .6 and 42 take 2.4 for 4,000 draws on two cores.
SECONDS = 1.4e-3


class Conditional(Protocol):
    """A Gaussian given v, of coordinates and, last, a constant; `speeds` are exponents of the scales, `divided` is the
    axis of the one, if any, that some coordinates are divided by, and `by_scale` says which ones."""

    @property
    def speeds(self) -> tuple[float, ...]: ...
    @property
    def divided(self) -> int | None: ...
    @property
    def by_scale(self) -> Float[np.ndarray, " k"]: ...

    def height(self, v: Places) -> Numbers:
        """What integrating it out leaves in the logarithm of the density of v."""

    def slope(self, v: Places) -> Places:
        """The derivatives of that."""

    def scores(self, v: Places, y: Rows) -> Places:
        """The derivatives along v of what it is integrated of, where all coordinates are y."""

    def told(self, v: Places) -> Numbers:
        """How much a row tells beside rounding, between none and one."""

    def given(self, v: Places, pairs: Pairs, *scores: Rows) -> tuple[Rows, ...]:
        """Means of all coordinates, covariances of pairs of them, and the covariance times scores."""


def conditional(pooled: Pooled) -> Conditional | None:
    """That of a law of scales; None where it is no sum of squares, or there is no time to factorise it."""
    if len(pooled.growth) == 2:
        return Diagonal(pooled)
    squares = squares_of(pooled) if time_for(SECONDS * len(pooled.turn) ** 2) else None
    return None if squares is None else Whole(squares)


class Diagonal:
    """Two parts that are diagonal together: groups of one scale, in centred coordinates."""

    divided = None

    def __init__(self, pooled: Pooled) -> None:
        precisions = np.diagonal(pooled.parts, axis1=1, axis2=2)
        self.precisions = np.where(precisions < NO_PRECISION, 0.0, precisions)
        self.pulls, self.rate = pooled.pulls, float(pooled.growth[1, 0])
        self.speeds, self.turn = (-self.rate / 2,), np.vstack([pooled.turn, np.zeros(len(pooled.turn))])
        both, self.by_scale = self.precisions.all(axis=0), np.zeros(len(pooled.turn), bool)
        middles = pooled.pulls / np.where(both, self.precisions, 1.0)
        self.apart = np.where(both, np.diff(middles, axis=0)[0] ** 2, 0.0)

    def height(self, v: Places) -> Numbers:
        whole, share = self._whole(v)
        return np.sum(-np.log(whole) / 2 - self.apart * self.precisions[0] * share / 2, axis=1)

    def slope(self, v: Places) -> Places:
        share = self._whole(v)[1]
        each = share * (1 + self.apart * self.precisions[0] * (1 - share))
        return -self.rate / 2 * np.sum(each, axis=1, keepdims=True)

    def _whole(self, v: Places) -> tuple[Rows, Rows]:
        """Precisions, and the share of them that grows."""
        grown = np.exp(self.rate * v) * self.precisions[1]
        whole = self.precisions[0] + grown
        return whole, grown / whole

    def scores(self, v: Places, y: Rows) -> Places:
        middles = self.pulls[1] / np.where(self.precisions[1] > 0, self.precisions[1], 1.0)
        off = (y @ np.linalg.inv(self.turn[:-1]).T - middles) ** 2
        return -self.rate / 2 * np.exp(self.rate * v) * (off @ self.precisions[1])[:, None]

    def told(self, v: Places) -> Numbers:
        return 1 / (1 + NO_PRECISION * np.exp(self.rate * v[:, 0]))  # deep in a neck rounding decides

    def given(self, v: Places, pairs: Pairs, *scores: Rows) -> tuple[Rows, ...]:
        growing = np.column_stack([np.ones(len(v)), np.exp(self.rate * v)])
        variance = 1 / (growing @ self.precisions)
        middle, (one, other) = variance * (growing @ self.pulls), (self.turn[each] for each in pairs)
        moved = ((variance * (score @ self.turn[:-1])) @ self.turn.T for score in scores)
        return middle @ self.turn.T, variance @ (one * other).T, *moved


class Whole:
    """A sum of squares: groups divided by their scale, or several scales."""

    def __init__(self, squares: Squares) -> None:
        self.squares, self.speeds, self.divided = squares, squares.speeds, squares.divided
        self.by_scale = np.any(squares.scaled[:, :-1], axis=0)

    def height(self, v: Places) -> Numbers:
        return in_parts(self._height, v)[0]

    def slope(self, v: Places) -> Places:
        return in_parts(self._slope, v)[0]

    def scores(self, v: Places, y: Rows) -> Places:
        return in_parts(self._scores, v, y)[0]

    def told(self, v: Places) -> Numbers:
        return 1 / (1 + NO_PRECISION * self.squares.weights(v).max(axis=1) ** 2)

    def given(self, v: Places, pairs: Pairs, *scores: Rows) -> tuple[Rows, ...]:
        return tuple(in_parts(partial(self._given, pairs), v, *scores))

    def _given(self, pairs: Pairs, v: Places, *scores: Rows) -> tuple[Rows, ...]:
        inverse, middle = self._solved(v)
        width = np.concatenate([inverse, np.zeros_like(inverse[:, :1])], axis=1)
        covariance = width @ width.transpose(0, 2, 1)
        moved = (times(covariance[:, :, :-1], score) for score in scores)
        return np.column_stack([middle, np.zeros(len(v))]), covariance[:, *pairs], *moved

    def _height(self, v: Places) -> tuple[Numbers]:
        diagonal = np.diagonal(self._factor(v), axis1=1, axis2=2)
        return (-np.sum(np.log(np.abs(diagonal[:, :-1])), axis=1) - diagonal[:, -1] ** 2 / 2,)

    def _slope(self, v: Places) -> tuple[Places]:
        inverse, middle = self._solved(v)
        spread = [rows[:, :, :-1] @ inverse for rows in (self.squares.at(v), self.squares.slopes(v))]
        wider = self._along(np.sum(spread[0] ** 2, axis=2), np.sum(spread[0] * spread[1], axis=2))
        return (self._scores(v, middle)[0] + wider,)

    def _scores(self, v: Places, y: Rows) -> tuple[Places]:
        ends = np.column_stack([y, -np.ones(len(y))])
        off, more = (times(rows, ends) for rows in (self.squares.at(v), self.squares.slopes(v)))
        return (self._along(off**2, off * more),)

    def _along(self, squares: Rows, products: Rows) -> Places:
        """Derivatives of minus half of the sum of squares: of weights, and of what grows with a scale besides."""
        along = -squares @ self.squares.rates / 2
        if self.divided is not None:
            along[:, self.divided] -= products.sum(axis=1)
        return along

    def _solved(self, v: Places) -> tuple[np.ndarray, Rows]:
        """The inverse of an upper factor of P, and the mean."""
        factor = self._factor(v)
        inverse = np.linalg.inv(factor[:, :-1, :-1])
        return inverse, times(inverse, factor[:, :-1, -1])

    def _factor(self, v: Places) -> np.ndarray:
        """The upper factor of all rows (F, f): of P, and, last, the root of the least sum of squares."""
        rows = self.squares.at(v)
        if self.divided is None:  # in a neck large rows that do not come first would cancel
            order = np.argsort(-self.squares.weights(v), axis=1, kind="stable")[:, :, None]
            rows = np.take_along_axis(rows, order, axis=1)
        return np.asarray(np.linalg.qr(rows, mode="r"))
