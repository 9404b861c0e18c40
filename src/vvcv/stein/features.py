"""Stein images of polynomials: control variates with finitely many coefficients (paper, C.2; Mira et al., 2013).

For the monomial x^alpha the second-order operator (paper, eq. 11) gives phi = Delta x^alpha + grad x^alpha . s.
The features of all monomials up to a total degree span the same space in any affine coordinates.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import comb

import numpy as np
from jaxtyping import Float, Int


def exponents(dimension: int, degree: int) -> Int[np.ndarray, "q d"]:
    """All multi-indices alpha with 1 <= |alpha| <= degree, by total degree.

    >>> exponents(2, 2).tolist()
    [[1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]
    """
    rows = []
    for total in range(1, degree + 1):
        for choice in combinations_with_replacement(range(dimension), total):
            rows.append(np.bincount(choice, minlength=dimension))
    return np.array(rows, dtype=int).reshape(-1, dimension)


def count_features(dimension: int, degree: int) -> int:
    """How many features `polynomial_features` returns: C(d + degree, degree) - 1.

    >>> count_features(2, 2)
    5
    """
    return comb(dimension + degree, degree) - 1


def polynomial_features(
    points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"], degree: int
) -> Float[np.ndarray, "n q"]:
    """Stein images Delta x^alpha + grad x^alpha . s of all monomials of total degree 1 to `degree`.

    >>> polynomial_features(np.array([[2.0]]), np.array([[-2.0]]), 2)
    array([[-2., -6.]])
    """
    n, d = points.shape
    powers = points[None] ** np.arange(degree + 1)[:, None, None]  # (degree + 1, n, d)
    columns = np.empty((n, count_features(d, degree)))
    for column, alpha in enumerate(exponents(d, degree)):
        columns[:, column] = _image(powers, scores, alpha)
    return columns


def _image(powers: np.ndarray, scores: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    active = np.flatnonzero(alpha)
    total = np.zeros(scores.shape[0])
    for r in active:
        rest = np.prod([powers[alpha[j], :, j] for j in active if j != r], axis=0)
        slope = alpha[r] * powers[alpha[r] - 1, :, r]
        curvature = alpha[r] * (alpha[r] - 1) * powers[max(alpha[r] - 2, 0), :, r]
        total += rest * (curvature + slope * scores[:, r])
    return total
