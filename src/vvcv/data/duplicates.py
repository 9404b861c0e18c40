"""Exact merging of repeated points: a rejected proposal repeats a row, and W = K + noise would be singular.

Rows of one task with equal points become one row with multiplicity w whose noise is divided by w, which leaves the
minimiser of the paper's objective (eq. 8) unchanged: no jitter is needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from .validation import require

#: Digits of a squared distance in units of the spread by which points are put in order: more than tell points of a
#: sample apart, and fewer than change with the unit.
DISTANCE_DIGITS = 9


class Distinct(NamedTuple):
    """Distinct rows of one task: mean value and multiplicity of each, and which of them every row given is."""

    points: Float[np.ndarray, "n d"]
    scores: Float[np.ndarray, "n d"]
    values: Float[np.ndarray, " n"]
    multiplicity: Float[np.ndarray, " n"]
    row: Int[np.ndarray, " N"]

    def carrying(self, values: Float[np.ndarray, " N"]) -> Distinct:
        """The same rows with the values of another task on the same points, averaged where points repeat."""
        sums = np.bincount(self.row, weights=values - values.mean())
        return self._replace(values=values.mean() + sums / self.multiplicity)


def merge_duplicates(points: np.ndarray, scores: np.ndarray, values: np.ndarray, name: str = "") -> Distinct:
    """Merge rows with equal points, from the middle outwards (so that the order of rows or axes cannot matter).

    >>> merge_duplicates(np.array([[1.], [0.], [1.]]), np.array([[-1.], [0.], [-1.]]), np.array([5., 2., 7.]))[2:4]
    (array([2., 6.]), array([1., 2.]))
    """
    distinct, first, inverse, counts = np.unique(
        points, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    order = _outwards(distinct)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    distinct, first, counts, inverse = distinct[order], first[order], counts[order], place[inverse.reshape(-1)]
    _check_scores(scores, first, inverse, name)
    return Distinct(distinct, scores[first], values[first], counts.astype(float), inverse).carrying(values)


def point_numbers(points: Float[np.ndarray, "N d"]) -> Int[np.ndarray, " N"]:
    """The number of each row's point: rows of whatever tasks at one point have one number.

    >>> point_numbers(np.array([[1.0], [0.0], [1.0]]))
    array([1, 0, 1])
    """
    return np.unique(points, axis=0, return_inverse=True)[1].reshape(-1)


def _outwards(points: Float[np.ndarray, "n d"]) -> Int[np.ndarray, " n"]:
    """An order by distance from the middle, each axis in units of its spread; equals as they are.

    No signs, units or places of axes are in it: squares are added up from the smallest.
    """
    spread = points.std(axis=0)
    squares = ((points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)) ** 2
    return np.argsort(np.round(np.sort(squares, axis=1).sum(axis=1), DISTANCE_DIGITS), kind="stable")


def _check_scores(scores: np.ndarray, first: np.ndarray, inverse: np.ndarray, name: str) -> None:
    scale = np.abs(scores).max(axis=0) + np.finfo(float).tiny
    differ = np.abs(scores - scores[first][inverse]) > 1e-6 * scale
    if differ.any():
        row = int(np.argwhere(differ)[0][0])
        other = int(first[inverse[row]])
        require(
            False,
            f"Scores must be a function of the point, but rows {other} and {row} of task {name!r} have equal points "
            "and different scores. Check that scores and points are in the same order, and that points were not "
            "rounded (draws in single precision, next to a bound); average scores given discrete variables there.",
        )
