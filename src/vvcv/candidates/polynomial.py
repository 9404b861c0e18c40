"""Polynomial control variates by weighted least squares (zero-variance, Mira et al. 2013; paper, C.2).

    values = beta + Phi gamma + residual,   Phi the Stein images of monomials up to a total degree

With h_i the leverage of row i, its residual when left out is residual_i / (1 - h_i), which chooses the degree; and as
beta = sum_i c_i value_i, the error bar is sqrt(sum_i (c_i left-out residual_i)^2), whatever the residuals' law.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import qr, solve_triangular

from ..data import Coordinates, Prepared
from ..linear_system.design import orthonormal_features
from ..runtime.clock import factorisation_seconds, time_left
from ..stein import count_features, polynomial_features

#: Highest total degree: squares of squares, which second moments of second moments need; for what is curved more, a
#: kernel needs fewer numbers than a polynomial has coefficients.
HIGHEST_DEGREE = 4

#: Monomials, and rows times squared monomials, beyond which kernels with polynomial parts are left to do it: least
#: squares takes longer from the first on, and a second and a half at the second.
MANY_MONOMIALS, MOST_PRODUCTS = 200, 1e9


@dataclass(frozen=True, eq=False)
class PolynomialFit:
    """A least-squares polynomial control variate of one task, in the user's units."""

    coordinates: Coordinates
    transform: Float[np.ndarray, "p q"]
    degree: int
    mean: float
    std_error: float
    freedom: int
    coefficients: Float[np.ndarray, " q"]
    model_error: float
    leave_one_out: Float[np.ndarray, " n"]
    move: Float[np.ndarray, " n"]

    @property
    def left_out_error(self) -> float:
        """Root mean square of the left-out residuals."""
        return float(np.sqrt(np.mean(self.leave_one_out**2)))

    def variate(self, points: Float[np.ndarray, "k d"], scores: Float[np.ndarray, "k d"]) -> Float[np.ndarray, " k"]:
        """g at new points with their scores."""
        z, s = self.coordinates.points(points), self.coordinates.scores(scores)
        return polynomial_features(z, s, self.degree) @ (self.transform @ self.coefficients)


def fit_polynomials(prepared: Prepared, members: tuple[int, ...], degree: int) -> list[PolynomialFit]:
    """Least squares with all monomials up to `degree` for one task, or for several on the same points.

    Nothing comes back where the monomials leave no degree of freedom, or are many and more than half as many as the
    rows: coefficients with prior variances (`stein.ridge`) then do better at less cost; nor where time is too short.
    """
    rows = prepared.distinct[members[0]]
    n, d = rows.points.shape
    count = count_features(d, degree)
    if count > n - 3 or count > max(MANY_MONOMIALS, n / 2) or n * count**2 > MOST_PRODUCTS:
        return []
    if degree > 1 and _seconds(n, count) > time_left():
        return []
    coordinates = prepared.coordinates(members[:1], "scaled")
    basis, transform = orthonormal_features(coordinates.points(rows.points), coordinates.scores(rows.scores), degree)
    columns = np.hstack([np.ones((n, 1)), basis])
    root = np.sqrt(rows.multiplicity)
    q, r = qr(columns * root[:, None], mode="economic")
    values = np.column_stack([prepared.standard_values(t) for t in members])
    solution = solve_triangular(r, q.T @ (values * root[:, None]))
    left_out = (values - columns @ solution) / np.maximum(1 - np.sum(q**2, axis=1), 1e-12)[:, None]
    # beta = first row of r^-1 q' root: the weight of every value in the mean.
    weights = q @ solve_triangular(r, np.eye(len(r)))[0] * root
    moves = weights[:, None] * left_out
    errors = np.sqrt(np.sum(moves**2, axis=0))
    # What least squares believes: residuals of one variance, independent.
    spread = np.sqrt(np.sum((root[:, None] * (values - columns @ solution)) ** 2, axis=0) / (n - columns.shape[1]))
    believed = spread * np.linalg.norm(weights / root)
    return [
        PolynomialFit(
            coordinates=coordinates,
            transform=transform,
            degree=degree,
            mean=float(prepared.shift[t] + prepared.scale[t] * solution[0, i]),
            std_error=float(prepared.scale[t] * errors[i]),
            freedom=max(n - columns.shape[1], 1),
            coefficients=prepared.scale[t] * solution[1:, i],
            model_error=float(prepared.scale[t] * believed[i]),
            leave_one_out=prepared.scale[t] * left_out[:, i],
            move=prepared.scale[t] * moves[:, i],
        )
        for i, t in enumerate(members)
    ]


def _seconds(rows: int, count: int) -> float:
    """About how long least squares takes: three QR decompositions, one slow, as a factorisation of like cost."""
    return 0.0 if time_left() == np.inf else factorisation_seconds(round((60 * rows * count**2) ** (1 / 3)))
