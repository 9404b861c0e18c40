"""All else given the logarithm v of one scale: a Gaussian whose mean and covariance are known at any v.

In coordinates y of `pooled.py` its precision is P(v) = sum_k g_k(v) B_k and its pull p(v) = sum_k g_k(v) p_k, so that y
is N(P^-1 p, P^-1), and integrating it out leaves in the density of v

    -log |P| / 2 + p'P^-1 p / 2

beside terms of v alone. Where two parts are diagonal together, with entries a_j and b_j e, e = exp(h v), and pulls
a_j m_j and b_j e n_j, these terms can be chosen such that nothing cancels if e is large, as in the neck of a funnel:

    -sum_j log(a_j + b_j e) / 2 - sum_j (m_j - n_j)^2 / (1 / a_j + 1 / (b_j e)) / 2
"""

from __future__ import annotations

from functools import partial
from typing import Protocol

import numpy as np
from jaxtyping import Float

from .lines import Rows
from .pooled import NO_PRECISION, Pooled, in_parts, times

Numbers = Float[np.ndarray, " n"]
Turn = Float[np.ndarray, "k k"]


#: Coordinates beyond which no covariances that are not diagonal are worked out for all draws: with 25 of 4,000 draws an
#: estimate that may take two seconds takes 3.1, with 41 7.4 (two cores).
MOST_WHOLE = 25


class Conditional(Protocol):
    """A Gaussian given v; `speed` is the exponent of the scale, `needed` are terms of log p that it leaves open."""

    @property
    def speed(self) -> float: ...
    @property
    def needed(self) -> tuple[int, ...]: ...

    def integrated(self, v: Numbers) -> tuple[Numbers, Numbers]:
        """What integrating it out leaves in the logarithm of the density of v, and the derivative of that."""

    def told(self, v: Numbers) -> Numbers:
        """How much a row tells beside rounding, between none and one."""

    def given(self, v: Numbers, turn: Turn, *u: Rows) -> tuple[Rows, ...]:
        """Means and variances of turn y, and how far standard normal u are from its middle."""


def conditional(pooled: Pooled) -> Conditional | None:
    """That of a law of one scale; None where there are several, or too much to factorise."""
    if len(pooled.axes) > 1:
        return None
    if len(pooled.growth) == 2:
        return Diagonal(pooled)
    return Whole(pooled) if len(pooled.turn) <= MOST_WHOLE else None


class Diagonal:
    """Two parts that are diagonal together: groups in centred coordinates."""

    needed: tuple[int, ...] = (0,)

    def __init__(self, pooled: Pooled) -> None:
        precisions = np.diagonal(pooled.parts, axis1=1, axis2=2)
        self.precisions = np.where(precisions < NO_PRECISION, 0.0, precisions)
        self.pulls, self.rate = pooled.pulls, float(pooled.growth[1, 0])
        self.speed = -self.rate / 2
        both = self.precisions.all(axis=0)
        middles = pooled.pulls / np.where(both, self.precisions, 1.0)
        self.apart = np.where(both, np.diff(middles, axis=0)[0] ** 2, 0.0)

    def integrated(self, v: Numbers) -> tuple[Numbers, Numbers]:
        fixed, grown = self.precisions[0], np.exp(self.rate * v)[..., None] * self.precisions[1]
        whole = fixed + grown
        share = grown / whole
        height = -np.log(whole) / 2 - self.apart * fixed * share / 2
        return height.sum(axis=-1), -self.rate / 2 * np.sum(share * (1 + self.apart * fixed * (1 - share)), axis=-1)

    def told(self, v: Numbers) -> Numbers:
        return 1 / (1 + NO_PRECISION * np.exp(self.rate * v))  # deep in a neck rounding decides

    def given(self, v: Numbers, turn: Turn, *u: Rows) -> tuple[Rows, ...]:
        growing = np.column_stack([np.ones_like(v), np.exp(self.rate * v)])
        variance = 1 / (growing @ self.precisions)
        middle = variance * (growing @ self.pulls)
        return middle @ turn.T, variance @ (turn**2).T, *(np.sqrt(variance) * each @ turn.T for each in u)


class Whole:
    """Parts of growths 1, exp(h v) and exp(2 h v): groups divided by their scale."""

    needed: tuple[int, ...] = (0, 1, 2)

    def __init__(self, pooled: Pooled) -> None:
        self.parts, self.pulls, self.rates = pooled.parts, pooled.pulls, pooled.growth[:, 0]
        self.speed = float(self.rates[1])

    def integrated(self, v: Numbers) -> tuple[Numbers, Numbers]:
        height, slope = in_parts(self._integrated, np.ravel(v))
        return height.reshape(np.shape(v)), slope.reshape(np.shape(v))

    def told(self, v: Numbers) -> Numbers:
        return np.ones_like(v)

    def given(self, v: Numbers, turn: Turn, *u: Rows) -> tuple[Rows, ...]:
        return tuple(in_parts(partial(self._given, turn), v, *u))

    def _given(self, turn: Turn, v: Numbers, *u: Rows) -> tuple[Rows, ...]:
        _, inverse, middle = self._at(v)
        moved = (times(inverse.transpose(0, 2, 1), each) @ turn.T for each in u)
        return middle @ turn.T, np.sum((inverse @ turn.T) ** 2, axis=1), *moved

    def _integrated(self, v: Numbers) -> tuple[Numbers, Numbers]:
        growing, inverse, middle = self._at(v)
        steeper = growing * self.rates
        slope = np.tensordot(steeper, self.parts, 1)  # dP / dv
        height = np.sum(middle * (growing @ self.pulls), axis=1) / 2
        height += np.sum(np.log(np.diagonal(inverse, axis1=1, axis2=2)), axis=1)
        change = np.sum(middle * (steeper @ self.pulls - times(slope, middle) / 2), axis=1)
        return height, change - np.sum(inverse * (inverse @ slope), axis=(1, 2)) / 2

    def _at(self, v: Numbers) -> tuple[np.ndarray, np.ndarray, Rows]:
        """Growths, the inverse of the factor L of P, and P^-1 p."""
        growing = np.exp(v[:, None] * self.rates)
        inverse = np.linalg.inv(np.linalg.cholesky(np.tensordot(growing, self.parts, 1)))
        return growing, inverse, times(inverse.transpose(0, 2, 1), times(inverse, growing @ self.pulls))
