"""The inverse of a matrix from its Cholesky factor: W^-1 = X'X, X = L^-1.

LAPACK's potri is trtri and lauum. Its trtri runs at half the speed of matrix products; inverted by halves,

    X = [[X_1, 0], [-X_2 L_21 X_1, X_2]],

a triangle costs nothing but products.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from .lapack import lauum, trmm, trtri

#: Triangles of this many rows are left to LAPACK.
LEAF = 80


def inverse_of_factor(factor: Float[np.ndarray, "N N"]) -> Float[np.ndarray, "N N"]:
    """X = L^-1 in the place of the lower Cholesky factor (column-major); only its lower triangle is meaningful.

    >>> np.diag(inverse_of_factor(np.asfortranarray(np.diag([1.0, 2.0]))))
    array([1. , 0.5])
    """
    _invert_triangle(factor)
    return factor


def inverse_from_root(root: Float[np.ndarray, "N N"]) -> Float[np.ndarray, "N N"]:
    """W^-1 = X'X in the place of X; only its lower triangle is meaningful."""
    lauum(root)
    return root


def diagonal_from_root(root: Float[np.ndarray, "N N"]) -> Float[np.ndarray, " N"]:
    """The diagonal of W^-1 alone, a third of the work: squared lengths of the columns of X.

    >>> diagonal_from_root(np.array([[1.0, 7.0], [2.0, 3.0]]))
    array([5., 9.])
    """
    starts = range(0, len(root), LEAF)
    return np.concatenate([np.sum(np.tril(root[start:, start : start + LEAF]) ** 2, axis=0) for start in starts])


def _invert_triangle(lower: Float[np.ndarray, "n n"]) -> None:
    """L^-1 in the place of L; what lies above the diagonal is not read."""
    n = len(lower)
    if n <= LEAF:
        trtri(lower)
        return
    half = n // 2
    first, second, corner = lower[:half, :half], lower[half:, half:], lower[half:, :half]
    _invert_triangle(first)
    _invert_triangle(second)
    trmm(-1.0, second, corner, b"L")
    trmm(1.0, first, corner, b"R")
