"""Directions along which values change most, found before any control variate is fitted.

    M = mean over points and tasks of g g',   g the gradient of a smooth fit to the normal scores of the values

The leading eigenvectors of M span what a function varies along (its active subspace): that of f(x) = h(w . x) is w. The
fit is a plain kernel regression, with distances measured by the M of the one before, so that what does not count is
left out more and more (recursive feature machines: Radhakrishnan et al., Science 383, 2024). Normal scores of ranks
make any growing h the same line: from 80 points in ten dimensions an angle of one degree is left, and of three if f is
|w . x|.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtri

from ..runtime.threads import one_thread

#: Rows that are looked at of each sample: with more the angle is hardly smaller, and time grows with their cube.
ROWS = 256

#: Fits in a row, each in the metric of the one before; the noise of ranks, no smooth function of anything; the least
#: a direction counts for in the next metric. (Of eight functions of one or two directions, 80 to 300 points, three
#: fits leave angles a tenth larger, of waves twice; less noise leaves larger ones of rough or noisy functions.)
FITS, NOISE, LEAST_METRIC = 5, 0.03, 1e-3

#: Part of the largest eigenvalue from which on a direction is one along which values change: less may be chance.
COUNTS = 0.01

#: Part of the squares of M that is off the diagonal from which on directions are not the axes themselves: of functions
#: of single axes it is less, and a search along directions would be for nothing.
OFF_THE_AXES = 0.1

#: The least weight of an axis, in units of the largest: what few values or a linear function do not show may be there.
LEAST_WEIGHT = 0.003


class Directions(NamedTuple):
    """Orthogonal directions as columns, the leading ones first, and how much each counts."""

    turn: Float[np.ndarray, "d d"]
    weights: Float[np.ndarray, " d"]

    @classmethod
    def of(cls, moment: Float[np.ndarray, "d d"]) -> Directions:
        """The leading eigenvectors of M, and a basis of the rest which is smooth in them, as eigenvectors are not.

        >>> Directions.of(np.ones((2, 2))).weights
        array([1.   , 0.003])
        """
        eigenvalues, vectors = np.linalg.eigh(moment)
        weights, vectors = eigenvalues[::-1] / eigenvalues[-1], vectors[:, ::-1]
        leading = weights > COUNTS
        turn = np.linalg.qr(vectors[:, leading], mode="complete")[0]
        return cls(turn, np.maximum(np.where(leading, weights, 0.0), LEAST_WEIGHT))


def gradient_moment(points: Float[np.ndarray, "n d"], values: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "d d"]:
    """M of one sample with one or several values at each point, of trace d.

    >>> x = np.random.default_rng(0).normal(size=(60, 2))
    >>> gradient_moment(x, np.exp(x[:, :1] + x[:, 1:])).round(1)
    array([[1., 1.],
           [1., 1.]])
    """
    rows, d = some_rows(len(points)), points.shape[1]
    points, scores = points[rows], np.column_stack([normal_scores(column) for column in values[rows].T])
    moment = np.eye(d)
    with one_thread():
        for _ in range(FITS):
            slopes = gradients(points, scores, moment)
            found = slopes.T @ slopes
            if not np.trace(found) > 0:
                return np.eye(d)
            moment = found * d / np.trace(found) + LEAST_METRIC * np.eye(d)
    return moment


def some_rows(count: int, most: int = ROWS) -> Int[np.ndarray, " n"]:
    """The rows that are looked at: all, or so many of them, chosen at random."""
    return np.sort(np.random.default_rng(0).permutation(count)[:most])


def distances(points: Float[np.ndarray, "n d"], along: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n n"]:
    """Squared distances in the metric M of all points, given those and M times them."""
    lengths = np.sum(along * points, axis=1)
    return np.maximum(lengths[:, None] + lengths - 2 * along @ points.T, 0.0)


def gradients(
    points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n m"], metric: Float[np.ndarray, "d d"]
) -> Float[np.ndarray, "k d"]:
    """Gradients of the fit to each column at each point, up to a factor.

    With f(x) = sum_j c_j k(x, x_j), k = exp(-|x - x_j|^2 / l^2) in the metric, that is M sum_j c_j k(x, x_j) (x_j - x).
    """
    apart = distances(points, points @ metric)
    gram = np.exp(-apart / max(float(np.median(apart)), 1e-300))
    weights = cho_solve(cho_factor(gram + NOISE * np.eye(len(points)), lower=True), scores)
    n, m = scores.shape
    towards = gram @ (weights[:, :, None] * points[:, None, :]).reshape(n, -1)
    here = (gram @ weights)[:, :, None] * points[:, None, :]
    return (towards.reshape(n, m, -1) - here).reshape(n * m, -1) @ metric


def normal_scores(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Normal quantiles of ranks, of equal values the same, with mean zero.

    >>> normal_scores(np.array([5.0, 1.0, 5.0, 9.0])).round(2)
    array([ 0.  , -1.15,  0.  ,  1.15])
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    scores = ndtri(middle[place] / len(values))
    return scores - scores.mean()


def off_diagonal(moment: Float[np.ndarray, "d d"]) -> float:
    """The part of the squares of M that is off its diagonal.

    >>> off_diagonal(np.eye(3)), off_diagonal(np.ones((2, 2)))
    (0.0, 0.5)
    """
    return float(1 - np.sum(np.diag(moment) ** 2) / np.sum(moment**2))


def few_directions(moment: Float[np.ndarray, "d d"]) -> bool:
    """Whether values change along few directions: as if by their number, trace^2 / squares, half of all at most.

    >>> few_directions(np.eye(3)), few_directions(np.ones((3, 3)))
    (False, True)
    """
    return bool(np.trace(moment) ** 2 / np.sum(moment**2) <= (len(moment) + 1) / 2)
