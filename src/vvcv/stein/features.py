"""Stein images of polynomials: control variates with finitely many coefficients (paper, C.2; Mira et al., 2013).

For the monomial x^alpha the second-order operator (paper, eq. 11) gives phi = Delta x^alpha + grad x^alpha . s.
The features of all monomials up to a total degree span the same space in any affine coordinates.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from itertools import combinations_with_replacement
from math import comb
from typing import Any

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
    d, order = points.shape[1], np.arange(degree + 1)[:, None, None]
    powers = np.ascontiguousarray(points.T) ** order  # (degree + 1, d, n)
    # Of a power of one axis alone: k (k - 1) x^(k - 2) + k x^(k - 1) s.
    images = order * (order - 1) * powers[np.maximum(order[:, 0, 0] - 2, 0)]
    images += order * powers[np.maximum(order[:, 0, 0] - 1, 0)] * scores.T
    columns = [_image(powers, images, monomial) for monomial in _monomials(d, degree)]
    return np.array(columns).reshape(len(columns), len(points)).T.copy()


@lru_cache(maxsize=8)
def _monomials(dimension: int, degree: int) -> list[list[tuple[int, int]]]:
    """The power and the axis of every factor of each monomial."""
    return [[(int(alpha[j]), int(j)) for j in np.flatnonzero(alpha)] for alpha in exponents(dimension, degree)]


def _image(powers: np.ndarray, images: np.ndarray, factors: list[tuple[int, int]]) -> np.ndarray:
    """By the product rule: axes of which one at a time is differentiated."""
    total: Any = 0.0
    for r in range(len(factors)):
        others = [powers[factor] for factor in factors[:r] + factors[r + 1 :]]
        total = total + reduce(np.multiply, others, 1.0) * images[factors[r]]
    return total
