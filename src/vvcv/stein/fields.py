"""First-order Stein images of polynomial vector fields: div u + u . s for u = x^alpha e_r (paper, eq. 2 and C.2).

They span the same space as the first-order Stein kernel of the polynomial kernel (x'y + c)^l with l = degree.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from .features import exponents


def polynomial_field_features(
    points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"], degree: int
) -> Float[np.ndarray, "n q"]:
    """Images d_r x^alpha + x^alpha s_r for every axis r and every |alpha| <= degree, the constant included.

    >>> polynomial_field_features(np.array([[2.0]]), np.array([[-2.0]]), 1)
    array([[-2., -3.]])
    """
    n, d = points.shape
    powers = points[None] ** np.arange(degree + 1)[:, None, None]
    columns = []
    for alpha in [np.zeros(d, dtype=int), *exponents(d, degree)]:
        factors = [powers[alpha[j], :, j] for j in range(d)]
        monomial = np.prod(factors, axis=0)
        for r in range(d):
            rest = np.prod([factors[j] for j in range(d) if j != r], axis=0) * np.ones(n)
            slope = alpha[r] * powers[max(alpha[r] - 1, 0), :, r] * rest
            columns.append(slope + monomial * scores[:, r])
    return np.stack(columns, axis=1)
