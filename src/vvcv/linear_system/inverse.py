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
LEAF = 64


def inverse_from_factor(factor: Float[np.ndarray, "N N"]) -> Float[np.ndarray, "N N"]:
    """W^-1 in the place of the lower Cholesky factor (column-major); only its lower triangle is meaningful.

    >>> np.diag(inverse_from_factor(np.asfortranarray(np.diag([1.0, 2.0]))))
    array([1.  , 0.25])
    """
    _invert_triangle(factor)
    lauum(factor)
    return factor


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
