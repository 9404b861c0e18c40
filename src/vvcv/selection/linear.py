"""Polynomial control variates by weighted least squares (zero-variance, Mira et al. 2013; paper, C.2).

    values = beta + Phi gamma + residual,   Phi the Stein images of monomials up to a total degree

The degree is chosen by exact leave-one-out, h_i the leverage of row i: residual_i / (1 - h_i).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import qr, solve_triangular

from ..data import Coordinates, Prepared
from ..stein import count_features, polynomial_features
from .design import orthonormal_features

HIGHEST_DEGREE = 4


@dataclass(frozen=True, eq=False)
class PolynomialFit:
    """A least-squares polynomial control variate of one task, in the user's units."""

    coordinates: Coordinates
    transform: Float[np.ndarray, "p q"]
    degree: int
    mean: float
    std_error: float
    coefficients: Float[np.ndarray, " q"]
    leave_one_out: Float[np.ndarray, " n"]

    def variate(self, points: Float[np.ndarray, "k d"], scores: Float[np.ndarray, "k d"]) -> Float[np.ndarray, " k"]:
        """g at new points with their scores."""
        z, s = self.coordinates.points(points), self.coordinates.scores(scores)
        return polynomial_features(z, s, self.degree) @ (self.transform @ self.coefficients)


def fit_polynomial(prepared: Prepared, task: int, degree: int) -> PolynomialFit | None:
    """Least squares with all monomials up to `degree`, or None where that leaves no degree of freedom."""
    rows = prepared.distinct[task]
    n, d = rows.points.shape
    if count_features(d, degree) > n - 3:
        return None
    coordinates = prepared.coordinates((task,), "scaled")
    basis, transform = orthonormal_features(coordinates.points(rows.points), coordinates.scores(rows.scores), degree)
    values = prepared.standard_values(task)
    columns = np.hstack([np.ones((n, 1)), basis])
    root = np.sqrt(rows.multiplicity)
    q, r = qr(columns * root[:, None], mode="economic")
    coefficients = solve_triangular(r, q.T @ (values * root))
    residual = values - columns @ coefficients
    leverage = np.sum(q**2, axis=1)
    freedom = rows.multiplicity.sum() * (1 - columns.shape[1] / n)
    variance = float(np.sum(rows.multiplicity * residual**2) / freedom)
    inverse = solve_triangular(r, np.eye(len(r)))
    scale = prepared.scale[task]
    return PolynomialFit(
        coordinates=coordinates,
        transform=transform,
        degree=degree,
        mean=float(prepared.shift[task] + scale * coefficients[0]),
        std_error=float(scale * np.sqrt(variance * np.sum(inverse[0] ** 2))),
        coefficients=scale * coefficients[1:],
        leave_one_out=scale * residual / np.maximum(1 - leverage, 1e-12),
    )


def best_polynomial(prepared: Prepared, task: int) -> PolynomialFit | None:
    """The degree with the smallest leave-one-out error, or None with too few points for degree one."""
    fits = [fit_polynomial(prepared, task, degree) for degree in range(1, HIGHEST_DEGREE + 1)]
    possible = [fit for fit in fits if fit is not None]
    return min(possible, key=lambda fit: float(np.mean(fit.leave_one_out**2)), default=None)
