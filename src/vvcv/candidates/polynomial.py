"""Polynomial control variates by weighted least squares (zero-variance, Mira et al. 2013; paper, C.2).

    values = beta + Phi gamma + residual,   Phi the Stein images of monomials up to a total degree

With h_i the leverage of row i, its residual when left out is residual_i / (1 - h_i), which chooses the degree; and as
beta = sum_i c_i value_i, the jackknife's error is S = sqrt(sum_i m_i^2), m_i = c_i left-out residual_i.

What a polynomial leaves lies in the tails: few rows carry S, and a sample that missed them knows too little. So

    nu = 2 S^4 / (sum_i m_i^4 - S^4 / n)                                degrees of freedom of S^2 (Satterthwaite)
    std_error^2 = (nu S^2 + (beta - beta two degrees up)^2) / (nu + 1)  the step is one more look at the same error

Two degrees, for of an even integrand the next odd one sees nothing; and only where it predicts left-out values better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from jaxtyping import Float
from scipy.linalg import qr, solve_triangular

from ..data import Coordinates, Prepared
from ..linear_system.design import orthonormal_features
from ..runtime.clock import factorisation_seconds, time_for, time_left
from ..stein import count_features, polynomial_features
from .plain import effective_size

#: Highest total degree: squares of squares, which second moments of second moments need; for what is curved more, a
#: kernel needs fewer numbers than a polynomial has coefficients. And how many degrees up a fit is compared with one:
#: of an even integrand the next odd degree sees nothing.
HIGHEST_DEGREE, STEP = 4, 2

#: Monomials, and rows times squared monomials, beyond which kernels with parts are left to do it: least
#: squares takes longer from the first on, and a second and a half at the second.
MANY_MONOMIALS, MOST_PRODUCTS = 200, 1e9


@dataclass(frozen=True, eq=False)
class PolynomialFit:
    """A least-squares polynomial control variate of one task, in the user's units."""

    coordinates: Coordinates
    transform: Float[np.ndarray, "p q"]
    degree: int
    mean: float
    jackknife: float
    std_error: float
    freedom: float
    coefficients: Float[np.ndarray, " q"]
    model_error: float
    leave_one_out: Float[np.ndarray, " n"]
    move: Float[np.ndarray, " n"]

    @property
    def numbers(self) -> int:
        """How many were chosen on the values: the mean, and a coefficient for each monomial."""
        return self.coefficients.size + 1

    @property
    def left_out_error(self) -> float:
        """Root mean square of the left-out residuals."""
        return float(np.sqrt(np.mean(self.leave_one_out**2)))

    def variate(self, points: Float[np.ndarray, "k d"], scores: Float[np.ndarray, "k d"]) -> Float[np.ndarray, " k"]:
        """g at new points with their scores."""
        z, s = self.coordinates.points(points), self.coordinates.scores(scores)
        return polynomial_features(z, s, self.degree) @ (self.transform @ self.coefficients)


def polynomials(prepared: Prepared, members: tuple[int, ...]) -> list[list[PolynomialFit]]:
    """For each task, the fits of all degrees that its rows allow, errors compared with those two degrees up.

    `members` are one task, or several on the same points.
    """
    by_degree = [fit_polynomials(prepared, members, degree) for degree in range(1, HIGHEST_DEGREE + STEP + 1)]
    of_each = [[fits[i] for fits in by_degree if fits] for i in range(len(members))]
    return [compared_with_richer(fits) for fits in of_each]


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
    if degree > 1 and not time_for(_seconds(n, count)):
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
    # What least squares believes: residuals of one variance, independent.
    spread = np.sqrt(np.sum((root[:, None] * (values - columns @ solution)) ** 2, axis=0) / (n - columns.shape[1]))
    believed = spread * np.linalg.norm(weights / root)
    most = max(n - columns.shape[1], 1)
    errors = [_error_and_freedom(prepared, t, move, most) for t, move in zip(members, moves.T, strict=True)]
    return [
        PolynomialFit(
            coordinates=coordinates,
            transform=transform,
            degree=degree,
            mean=float(prepared.shift[t] + prepared.scale[t] * solution[0, i]),
            jackknife=float(prepared.scale[t] * np.sqrt(np.sum(moves[:, i] ** 2))),
            std_error=float(prepared.scale[t] * errors[i][0]),
            freedom=errors[i][1],
            coefficients=prepared.scale[t] * solution[1:, i],
            model_error=float(prepared.scale[t] * believed[i]),
            leave_one_out=prepared.scale[t] * left_out[:, i],
            move=prepared.scale[t] * moves[:, i],
        )
        for i, t in enumerate(members)
    ]


def degrees_of_freedom(squares: float, fourths: float, rows: int, most: int) -> float:
    """Of a sum of squared moves, from theirs and that of their fourth powers (Satterthwaite).

    >>> degrees_of_freedom(squares=100.0, fourths=300.0, rows=100, most=96)  # moves of a normal distribution
    96.0
    >>> degrees_of_freedom(squares=100.0, fourths=2600.0, rows=100, most=96)  # a few rows carry the sum
    8.0
    """
    spread = fourths - squares**2 / rows
    return float(most if spread <= 0 else min(2 * squares**2 / spread, most))


class Compared(Protocol):
    """What of a fit its comparison with a richer one needs."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def mean(self) -> float: ...
    @property
    def std_error(self) -> float: ...
    @property
    def freedom(self) -> float: ...
    @property
    def left_out_error(self) -> float: ...


F = TypeVar("F", bound=Compared)


def compared_with_richer(fits: Sequence[F]) -> list[F]:
    """The fits of one task up to the highest degree, of all degrees from one; each step up counted."""
    return [_compared(fit, fits[k + STEP :]) for k, fit in enumerate(fits[:HIGHEST_DEGREE])]


def _compared(fit: F, richer: Sequence[F]) -> F:
    """The same fit, its step to the first of the richer ones counted as one more look at its error."""
    if not richer or richer[0].left_out_error >= fit.left_out_error:
        return fit
    variance = (fit.freedom * fit.std_error**2 + (richer[0].mean - fit.mean) ** 2) / (fit.freedom + 1)
    return replace(fit, std_error=float(np.sqrt(variance)), freedom=fit.freedom + 1)


def _error_and_freedom(prepared: Prepared, task: int, move: Float[np.ndarray, " n"], most: int) -> tuple[float, float]:
    """The jackknife's error with the autocorrelation of chains, and the degrees of freedom of its square."""
    rows, distinct = prepared.tasks[task], prepared.distinct[task]
    total = float(np.sum(move**2))
    freedom = degrees_of_freedom(total, float(np.sum((move**2) ** 2)), len(move), most)
    if rows.chains is None or total == 0:
        return np.sqrt(total), freedom
    in_order = (move / distinct.multiplicity)[distinct.row]
    correlated = float(np.sum(in_order**2)) * rows.size / effective_size(in_order, rows.chains)
    inefficiency = max(1.0, correlated / total)
    return np.sqrt(inefficiency * total), max(freedom / inefficiency, 1.0)


def _seconds(rows: int, count: int) -> float:
    """About how long least squares takes: three QR decompositions, one slow, as a factorisation of like cost."""
    return 0.0 if time_left() == np.inf else factorisation_seconds(round((90 * rows * count**2) ** (1 / 3)))
