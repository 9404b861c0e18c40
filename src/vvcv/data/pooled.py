"""Groups that are pulled together the more, the smaller their common scale is, and coordinates in which they are not.

In a centred hierarchical model every group has data of its own and a prior whose width is a parameter. Along the
logarithm v of that width all others are Gaussian, or nearly, of a precision and a middle that change with v, as

    s = b0 + exp(h v) b1 - (A + exp(h v) B) x

which is linear in everything but h: least squares tell A, B, b0 and b1 without noise, a search along one line h. With
M = A + B and the eigenvalues l_k of B in units of M, x = W y, W' M W = 1, every coordinate y_k is Gaussian of its own

    precision t_k(v) = 1 - l_k + l_k exp(h v),   middle m_k(v) = (a_k + b_k exp(h v)) / t_k(v)

(l_k = 1: a funnel; l_k = 0: what the scale does not reach) and u = W sqrt(t) (y - m) has the same precision M at any v.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import LinAlgError, eigh
from scipy.optimize import minimize_scalar
from scipy.special import expit

from .lines import Rows, least_squares, nearly_left, standard
from .rounding import rounded

#: Growths of a precision over one standard deviation of the axis that are tried, either way, before the best is
#: refined, and how far around it. Centred groups of Gaussian data and of counts have .6 to 2.7 (seven targets).
RATES, AROUND = (0.5, 1.0, 1.7, 3.0), 1.8


@dataclass(frozen=True, eq=False)
class Pooled:
    """One axis, and how precisions and middles of the others change along it, in standard units."""

    axis: int
    middle: Float[np.ndarray, " d"]
    unit: Float[np.ndarray, " d"]
    rate: float
    share: Float[np.ndarray, " d-1"]
    turn: Float[np.ndarray, "d-1 d-1"]
    back: Float[np.ndarray, "d-1 d-1"]
    course: Float[np.ndarray, "2 d-1"]

    @classmethod
    def along(cls, axis: int, points: Rows, scores: Rows) -> Pooled | None:
        """What least squares tell along one axis; None where no Gaussian has such precisions.

        >>> rng = np.random.default_rng(0)
        >>> v, u = rng.normal(size=(2, 60, 1))
        >>> t = 1 + np.exp(v)
        >>> x, s = np.hstack([v, u / np.sqrt(t)]), np.hstack([(1 / t - u**2 / t) * np.exp(v) / 2 - v, -u * np.sqrt(t)])
        >>> pooled = Pooled.along(0, x, s)
        >>> bool(abs(pooled.rate / pooled.unit[0] - 1) < 1e-4), pooled.straightened(x, s)[1].shape
        (True, (60, 2))
        """
        x, s = standard(points, scores)
        v, others, target = _apart(axis, x, s)
        k, rate = others.shape[1], _rate(v, others, target)
        line = least_squares(*_weighed(v, others, target, rate))
        apart, together = (-rounded(each + each.T) / 2 for each in (line[1 : k + 1], line[k + 2 :]))
        try:
            share, turn = eigh(together, apart + together)
        except LinAlgError:
            return None
        share, back = np.clip(share, 0.0, 1.0), turn.T @ (apart + together)
        course = _course(np.exp(rate * v), share, others @ back.T, target @ turn)
        return cls(axis, points.mean(axis=0), points.std(axis=0), rate, share, turn, back, course)

    def straightened(self, points: Rows, scores: Rows) -> tuple[Rows, Rows]:
        """The coordinates (v, u), and scores of the density of these."""
        x, s = (points - self.middle) / self.unit, scores * self.unit
        v, growth = x[:, self.axis], np.exp(self.rate * x[:, [self.axis]])
        y, score = np.delete(x, self.axis, axis=1) @ self.back.T, np.delete(s, self.axis, axis=1) @ self.turn
        precision, slope = 1 - self.share + self.share * growth, self.rate * growth
        off = y - (self.course[0] + self.course[1] * growth) / precision
        faster = self.share * slope / precision  # d log(precision) / dv
        moved = (self.course[1] * slope - (y - off) * self.share * slope) / precision - faster * off / 2  # dy / dv
        along = s[:, self.axis] + np.sum(score * moved, axis=1) - np.sum(faster, axis=1) / 2
        width = np.sqrt(precision)
        there, found = (off * width) @ self.turn.T, (score / width) @ self.back
        return np.insert(there, self.axis, v, axis=1), np.insert(found, self.axis, along, axis=1)


def likeliest(points: Rows, scores: Rows) -> int:
    """The axis along which the others' scores are most nearly lines that change so.

    >>> x = np.random.default_rng(0).normal(size=(60, 3))
    >>> likeliest(x, -x * (1 + np.exp(x[:, [2]])))
    2
    """
    x, s = standard(points, scores)
    rates = [sign * rate for rate in RATES[1::2] for sign in (-1, 1)]
    parts = (_apart(axis, x, s) for axis in range(x.shape[1]))
    left = [min(_left(*each, rate) for rate in rates) for each in parts]
    return int(np.argmin(np.array(left, np.float32)))


def _apart(axis: int, x: Rows, s: Rows) -> tuple[Float[np.ndarray, " n"], Rows, Rows]:
    """An axis, the others, and the others' scores."""
    return x[:, axis], np.delete(x, axis, axis=1), np.delete(s, axis, axis=1)


def _rate(v: Float[np.ndarray, " n"], others: Rows, target: Rows) -> float:
    """The growth that leaves least of the others' scores."""
    first = min((sign * rate for rate in RATES for sign in (-1, 1)), key=lambda h: _left(v, others, target, h))
    bounds = sorted((first / AROUND, first * AROUND))
    found = minimize_scalar(lambda h: _left(v, others, target, h), bounds=bounds, options={"xatol": 1e-6})
    return float(rounded(found.x))


def _left(v: Float[np.ndarray, " n"], others: Rows, target: Rows, rate: float) -> float:
    """The part of the others' scores that no line with this growth explains."""
    columns, weighed = _weighed(v, others, target, rate)
    return float(np.mean(nearly_left(columns, weighed) / np.sum(weighed**2, axis=0)))


def _weighed(v: Float[np.ndarray, " n"], others: Rows, target: Rows, rate: float) -> tuple[np.ndarray, Rows]:
    """Columns and scores over 1 + exp(h v): one point deep in the neck of a funnel would outweigh all others.

    Where lines have no noise, weights do not change them.
    """
    line = np.column_stack([np.ones(len(v)), others])
    apart, together = expit(-rate * v)[:, None], expit(rate * v)[:, None]
    return np.hstack([apart * line, together * line]), apart * target


def _course(growth: Float[np.ndarray, " n"], share: Float[np.ndarray, " k"], y: Rows, score: Rows) -> np.ndarray:
    """a_k and b_k of all middles, every row weighed by the width that it has."""
    columns, found = np.column_stack([np.ones(len(growth)), growth]), np.zeros((2, len(share)))
    for k, part in enumerate(share):
        precision = 1 - part + part * growth
        width = np.sqrt(precision)
        found[:, k] = least_squares(columns / width[:, None], (score[:, k] + precision * y[:, k]) / width)
    return rounded(found)
