"""The exact system W c = y - A beta with beta solved jointly: N unknowns where Theorem 4.1 has N T.

    beta = (A' W^-1 A)^-1 A' W^-1 y,   cov beta = (A' W^-1 A)^-1,   W = K_0 + noise
    P = W^-1 - W^-1 A (A' W^-1 A)^-1 A' W^-1,   c = P y

One Cholesky factorisation serves the solution; the inverse, needed for gradients and leave-one-out, is taken
in the same memory. Values may have several columns: integrands on shared points under one covariance, where W stands
for B kron W with any B (the estimates do not depend on it).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import LinAlgError
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from .inverse import inverse_from_factor

#: Relative size below which a difference of two like numbers is rounding.
ROUNDING = 1e-14


class DenseSystem:
    """Solution of the joint linear system for one covariance matrix W, whose memory it takes over.

    >>> system = DenseSystem(np.diag([1.0, 1.0, 2.0]), np.ones((3, 1)), np.array([1.0, 3.0, 2.0]))
    >>> system.coefficients
    array([2.])
    """

    def __init__(
        self,
        covariance: Float[np.ndarray, "N N"],
        columns: Float[np.ndarray, "N q"],
        values: Float[np.ndarray, " N *m"],
    ) -> None:
        # The transpose of a row-major array is column-major, as LAPACK wants it: no copy.
        self._factor = _cholesky(covariance.T, "covariance matrix")
        self.values = values
        q = columns.shape[1]
        solved, _ = dpotrs(self._factor, np.column_stack([columns, values]), lower=1)
        whitened, target = solved[:, :q], solved[:, q:]
        self._normal = _cholesky(np.asfortranarray(columns.T @ whitened), "normal matrix of the columns")
        coefficients, _ = dpotrs(self._normal, columns.T @ target, lower=1)
        weights = target - whitened @ coefficients
        self.coefficients = coefficients if values.ndim == 2 else coefficients[:, 0]
        self.weights = weights if values.ndim == 2 else weights[:, 0]
        self._reducer = dtrtrs(self._normal, whitened.T, lower=1)[0].T
        self._log_determinant = 2 * float(np.sum(np.log(np.diag(self._factor))))

    @cached_property
    def covariance(self) -> Float[np.ndarray, "q q"]:
        """Covariance of the coefficients under the model (of each column of values, for unit B)."""
        return dpotrs(self._normal, np.eye(len(self.coefficients)), lower=1)[0]

    @cached_property
    def influence(self) -> Float[np.ndarray, "q N"]:
        """How each coefficient depends on each value: (A' W^-1 A)^-1 A' W^-1."""
        return dtrtrs(self._normal, self._reducer.T, lower=1, trans=1)[0]

    def restricted_likelihood(self) -> float:
        """Minus the log restricted likelihood, (y'Py + log|W| + log|A'W^-1 A|) / 2, without its constant."""
        normal = 2 * float(np.sum(np.log(np.diag(self._normal))))
        quadratic = float(np.sum(self.values * self.weights))
        return 0.5 * (quadratic + self._count * (self._log_determinant + normal))

    def restricted_likelihood_cotangent(self) -> Float[np.ndarray, "N N"]:
        """d(restricted likelihood)/dW = (P - P y (P y)') / 2; only the upper triangle (row-major) is meaningful."""
        half = 0.5 * self._count
        update = np.column_stack([self._reducer, self.weights / np.sqrt(self._count)])
        inverse = self._inverse
        del self._inverse  # its memory becomes the answer's
        return dsyrk(-half, update, beta=half, c=inverse, lower=1, overwrite_c=1).T

    def leave_one_out(self) -> tuple[Float[np.ndarray, " N *m"], Float[np.ndarray, N * m]]:
        """Residual and variance of each value predicted from all others: P y / diag P and 1 / diag P."""
        diagonal = self._projection_diagonal.reshape(-1, *[1] * (self.values.ndim - 1))
        return self.weights / diagonal, np.broadcast_to(1.0 / diagonal, self.weights.shape)

    def leave_rows_out(self, folds: Iterable[Int[np.ndarray, " k"]]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Residuals and their covariance, of each fold of rows predicted from all others: (P_SS)^-1 (P y)_S, (P_SS)^-1.

        Rows of a fold come sorted.

        >>> system = DenseSystem(np.eye(4), np.ones((4, 1)), np.array([1.0, 3.0, 2.0, 2.0]))
        >>> [residual.round(6).tolist() for residual, _ in system.leave_rows_out([np.array([0, 1])])]
        [[-1.0, 1.0]]
        """
        for rows in map(np.sort, folds):
            lower = np.tril(self._inverse[np.ix_(rows, rows)])
            reduced = self._reducer[rows]
            covariance = np.linalg.inv(lower + np.tril(lower, -1).T - reduced @ reduced.T)
            yield covariance @ self.weights[rows], covariance

    def leave_one_out_likelihood(self) -> float:
        """Minus the log predictive density of each value given the others, summed."""
        residual, variance = self.leave_one_out()
        return 0.5 * float(np.sum(np.log(variance) + residual**2 / variance))

    def leave_one_out_cotangent(self) -> Float[np.ndarray, "N N"]:
        """d(leave-one-out likelihood)/dW, symmetric; from dP = -P dW P."""
        p = self._projection()
        a = self.weights.reshape(len(p), -1)
        diagonal = np.diag(p).copy()[:, None]
        weight = np.sum(-0.5 / diagonal - 0.5 * (a / diagonal) ** 2, axis=1)
        pulled = p @ (a / diagonal)
        return -(p * weight) @ p - 0.5 * (pulled @ a.T + a @ pulled.T)

    @property
    def _count(self) -> int:
        return 1 if self.values.ndim == 1 else self.values.shape[1]

    @cached_property
    def _inverse(self) -> Float[np.ndarray, "N N"]:
        """W^-1, of which the lower triangle is meaningful, in the place of the factor, which is gone afterwards."""
        factor = self._factor
        del self._factor
        return inverse_from_factor(factor)

    @cached_property
    def _projection_diagonal(self) -> Float[np.ndarray, " N"]:
        whole = np.diag(self._inverse)
        # A row that no other row predicts has none left but rounding errors of either sign.
        return np.maximum(whole - np.sum(self._reducer**2, axis=1), ROUNDING * whole)

    def _projection(self) -> Float[np.ndarray, "N N"]:
        inverse = np.tril(self._inverse)
        return inverse + np.tril(inverse, -1).T - self._reducer @ self._reducer.T


def _cholesky(matrix: Float[np.ndarray, "k k"], what: str) -> Float[np.ndarray, "k k"]:
    """The lower factor in the memory of a column-major matrix; what lies above its diagonal is not meaningful."""
    factor, info = dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
    if info != 0:
        raise LinAlgError(f"The {what} is not positive definite (leading minor {info}).")
    return factor
