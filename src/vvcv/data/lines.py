"""Lines through points by least squares, in units of the points' own."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.linalg.lapack import dpotrf, dtrtrs

Rows = Float[np.ndarray, "n d"]

#: Columns that say less than this part of what the largest does are none: scores of a Gaussian part are lines in the
#: points, and what tells them apart is rounding.
NOTHING = 1e-9

#: What is added to the normal equations of columns of length one, so that they can be solved where columns say the
#: same: of what is left to compare it changes the tenth digit.
RIDGE = 1e-10


def standard(points: Rows, scores: Rows) -> tuple[Rows, Rows]:
    """Points with mean zero and variance one, and scores in these units.

    >>> x, s = standard(np.array([[1.0], [3.0]]), np.array([[2.0], [-2.0]]))
    >>> x.T, s.T
    (array([[-1.,  1.]]), array([[ 2., -2.]]))
    """
    unit = points.std(axis=0)
    return (points - points.mean(axis=0)) / unit, scores * unit


def least_squares(columns: Float[np.ndarray, "n p"], values: Float[np.ndarray, " n *m"]) -> np.ndarray:
    """Coefficients of the line through values, the shortest in units of the columns where there are several.

    >>> least_squares(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.array([1.0, 3.0, 5.0])).round(6)
    array([1., 2.])
    """
    length = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    found = np.linalg.lstsq(columns / length, values, rcond=NOTHING)[0]
    return found / (length if found.ndim == 1 else length[:, None])


def nearly_left(columns: Float[np.ndarray, "n p"], values: Float[np.ndarray, "n m"]) -> Float[np.ndarray, " m"]:
    """Sums of squares that least squares leave, by normal equations: quick, and exact enough to compare columns.

    >>> nearly_left(np.ones((3, 1)), np.array([[1.0], [2.0], [3.0]])).round(6)
    array([2.])
    """
    columns = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    square = columns.T @ columns
    square[np.diag_indices_from(square)] += RIDGE
    factor, failed = dpotrf(square, lower=1)
    total = np.sum(values**2, axis=0)
    return total if failed else total - np.sum(dtrtrs(factor, columns.T @ values, lower=1)[0] ** 2, axis=0)
