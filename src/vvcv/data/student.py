"""Targets that are Student's t, as scores tell exactly: no draw needs to have been where the tail is.

    s (nu + r^2) / (nu + d) = -A (x - m),   (a - r^2) nu = (d - a) r^2,   r^2 = (x - m)' A (x - m), a = -(x - m) . s

Given nu and all distances r, the first is a regression of scores on points that tells the centre m and the units A;
given these, the second tells nu. Posteriors of which a variance has been integrated out are t's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from .directions import some_rows
from .standardize import SMALLEST_PRECISION

#: Least degrees of freedom that a tail is drawn in by: with fewer there is no mean to be estimated.
LEAST = 1.0

#: What the law leaves of the pull of scores, relative to it, up to which it is the law: of t hardly more than rounding,
#: of 40 logistic variables .004 and more, of funnels and of skewed targets .05 and more.
EXACT = 1e-3

#: Steps to the law, and the change of nu that they end at: each takes off a third or more of what is left, so that
#: these are enough for all digits.
STEPS, SETTLED = 60, 1e-12

#: Rows for each number of a regression: of fewer it follows whatever there is.
ROWS_FOR_EACH = 2


class StudentLaw(NamedTuple):
    """Student's t about a centre, round in the units (x - centre) @ factor."""

    freedom: float
    centre: Float[np.ndarray, " d"]
    factor: Float[np.ndarray, "d d"]

    def followed(
        self, points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """r^2 and a."""
        off = points - self.centre
        return np.sum((off @ self.factor) ** 2, axis=1), -np.sum(off * scores, axis=1)

    def unexplained(self, points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"]) -> float:
        """What the law leaves of the pull of scores, relative to it."""
        squared, pull = self.followed(points, scores)
        law = (self.freedom + points.shape[1]) * squared
        return float(np.linalg.norm(pull * (self.freedom + squared) - law) / np.linalg.norm(law))


def student_law(
    points: Float[np.ndarray, "n d"],
    scores: Float[np.ndarray, "n d"],
    freedom: float,
    weight: Float[np.ndarray, " n"],
    order: Int[np.ndarray, " d"],
) -> StudentLaw | None:
    """The law that scores follow, from about these degrees of freedom and weights 1 + r^2 / nu; None where they do not.

    >>> x = np.random.default_rng(0).standard_t(5, size=(40, 1))
    >>> law = student_law(x, -6 * x / (5 + x**2), 8.0, 1 + x[:, 0] ** 2 / 4, np.arange(1))
    >>> round(law.freedom, 6), student_law(x, -np.tanh(x), 8.0, 1 + x[:, 0] ** 2 / 4, np.arange(1))
    (5.0, None)
    """
    d, some, law = points.shape[1], some_rows(len(points)), None
    middle, unit = np.median(points, axis=0), 1 / np.sqrt(np.mean(scores**2, axis=0))
    x, s, squared = (points[some] - middle) / unit, scores[some] * unit, freedom * (weight[some] - 1)
    for _ in range(STEPS if len(x) >= ROWS_FOR_EACH * (d + 1) else 0):
        line = np.column_stack([np.ones(len(x)), x]) * ((freedom + d) / (freedom + squared))[:, None]
        slopes = np.linalg.lstsq(line, s, rcond=None)[0]
        units = -(slopes[1:] + slopes[1:].T) / 2
        factor = root_of(units, order)
        if factor is None:
            return None
        law = StudentLaw(freedom, np.linalg.solve(units, slopes[0]), factor)
        squared, pull = law.followed(x, s)
        before, freedom = freedom, _freedom(squared, pull, d)
        if not freedom > LEAST:
            return None
        law = law._replace(freedom=freedom)
        if abs(freedom - before) <= SETTLED * freedom:
            break
    if law is None or not law.unexplained((points - middle) / unit, scores * unit) <= EXACT:
        return None
    return law._replace(centre=middle + unit * law.centre, factor=law.factor / unit[:, None])


def _freedom(squared: Float[np.ndarray, " n"], pull: Float[np.ndarray, " n"], d: int) -> float:
    """nu by least squares; none where pull is that of a Gaussian."""
    gap = pull - squared
    whole = float(gap @ gap)
    return float(gap @ (squared * (d - pull))) / whole if whole > 0 else np.inf


def root_of(moment: Float[np.ndarray, "d d"], order: Int[np.ndarray, " d"]) -> Float[np.ndarray, "d d"] | None:
    """The Cholesky factor of second moments of scores in an order; None where some combination hardly varies."""
    if not (np.diag(moment) > 0).all():
        return None
    scale = np.sqrt(np.diag(moment))
    unit = moment / np.outer(scale, scale)
    if np.linalg.eigvalsh(unit)[0] <= SMALLEST_PRECISION:
        return None
    root, places = np.empty_like(unit), np.ix_(order, order)
    root[places] = np.linalg.cholesky(unit[places])
    return scale[:, None] * root
