"""What a solved system knows, wherever it was solved: W c = y - A beta with beta solved jointly.

    beta = (A' W^-1 A)^-1 A' W^-1 y,   cov beta = (A' W^-1 A)^-1,   W = K_0 + noise
    P = W^-1 - W^-1 A (A' W^-1 A)^-1 A' W^-1,   c = P y

Nothing here is of N x N: a home of systems (`dense` on the host, `device` on a GPU) brings W^-1 A, W^-1 y and log |W|,
and later, if asked, entries of W^-1. Values may have several columns: integrands on shared points under one covariance,
where W stands for B kron W with any B (the estimates do not depend on it).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import groupby, islice

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrs, dtrtrs

from ..runtime.once import cached_property
from .lapack import potrf

#: Relative size below which a difference of two like numbers is rounding.
ROUNDING = 1e-14

#: Rows of folds that are left out at once: few beside N, whose numbers each of them has.
ROWS_AT_ONCE = 128


class System(ABC):
    """Coefficients, weights and their errors, from W^-1 [A y]."""

    def __init__(
        self,
        solved: Float[np.ndarray, "N q+m"],
        columns: Float[np.ndarray, "N q"],
        values: Float[np.ndarray, " N *m"],
        log_determinant: float,
    ) -> None:
        self.values = values
        q = columns.shape[1]
        whitened, target = solved[:, :q], solved[:, q:]
        products = columns.T @ solved
        self._normal = cholesky(np.array(products[:, :q], order="F"), "normal matrix of the columns")
        coefficients, _ = dpotrs(self._normal, products[:, q:], lower=1)
        weights = target - whitened @ coefficients
        self.coefficients = coefficients if values.ndim == 2 else coefficients[:, 0]
        self.weights = weights if values.ndim == 2 else weights[:, 0]
        self._whitened = whitened
        self._log_determinant = log_determinant

    @cached_property
    def _reducer(self) -> Float[np.ndarray, "N q"]:
        """What is taken from W^-1 to make P, times its transpose: W^-1 A times the root of cov beta."""
        return dtrtrs(self._normal, self._whitened.T, lower=1)[0].T

    @cached_property
    def covariance(self) -> Float[np.ndarray, "q q"]:
        """Covariance of the coefficients under the model (of each column of values, for unit B)."""
        return dpotrs(self._normal, np.eye(len(self.coefficients)), lower=1)[0]

    @cached_property
    def influence(self) -> Float[np.ndarray, "q N"]:
        """How each coefficient depends on each value: (A' W^-1 A)^-1 A' W^-1."""
        return dtrtrs(self._normal, self._reducer.T, lower=1, trans=1)[0]

    def restricted_likelihood(self, scale: float = 1.0) -> float:
        """Minus the log restricted likelihood of scale times W, without its constant.

        (y'Py / scale + log|W| + log|A'W^-1 A| + (N - q) log scale) / 2
        """
        size = self._log_determinant + log_determinant(self._normal) + self._freedom * np.log(scale)
        return 0.5 * (self._quadratic / scale + self._count * size)

    @property
    def best_scale(self) -> float:
        """The scale with which it is the largest: y'Py / (N - q)."""
        scale = self._quadratic / (self._count * max(self._freedom, 1))
        if not 0 < scale < np.inf:
            raise LinAlgError("Values that the columns leave nothing of have no scale.")
        return scale

    @property
    def _freedom(self) -> int:
        return len(self.values) - len(self._normal)

    @property
    def _quadratic(self) -> float:
        return float(np.vdot(self.values, self.weights))

    def leave_one_out(self) -> tuple[Float[np.ndarray, " N *m"], Float[np.ndarray, " N *m"]]:
        """Residual and variance of each value predicted from all others: P y / diag P and 1 / diag P."""
        diagonal = self._projection_diagonal.reshape(-1, *[1] * (self.values.ndim - 1))
        return self.weights / diagonal, np.broadcast_to(1.0 / diagonal, self.weights.shape)

    def leave_one_out_likelihood(self) -> float:
        """Minus the log predictive density of each value given the others, summed."""
        residual, variance = self.leave_one_out()
        return 0.5 * float(np.sum(np.log(variance) + residual**2 / variance))

    def squares(self, rows: Float[np.ndarray, "N k"]) -> Float[np.ndarray, " k"]:
        """x' P x of each column: that of values over N - q is the best scale."""
        return np.maximum(self._inverse_squares(rows) - np.sum((self._reducer.T @ rows) ** 2, axis=0), 0.0)

    def leave_rows_out(self, folds: Iterable[Int[np.ndarray, " k"]]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Residuals, (P_SS)^-1 (P y)_S, of each fold S of rows predicted from all others, and their covariance."""
        for rows in _batches(folds):
            reducer, weights = self._reducer[rows], self.weights[rows]
            covariance = np.linalg.inv(self._inverse_blocks(rows) - reducer @ reducer.swapaxes(1, 2))
            residual = covariance @ weights.reshape(*rows.shape, -1)
            yield from zip(residual.reshape(weights.shape), covariance, strict=True)

    @abstractmethod
    def _inverse_squares(self, rows: Float[np.ndarray, "N k"]) -> Float[np.ndarray, " k"]:
        """x' W^-1 x of each column."""

    @abstractmethod
    def _inverse_diagonal(self) -> Float[np.ndarray, " N"]:
        """The diagonal of W^-1."""

    @abstractmethod
    def _inverse_blocks(self, folds: Int[np.ndarray, "f k"]) -> Float[np.ndarray, "f k k"]:
        """W^-1 between the rows of each fold."""

    @property
    def _count(self) -> int:
        return 1 if self.values.ndim == 1 else self.values.shape[1]

    @cached_property
    def _projection_diagonal(self) -> Float[np.ndarray, " N"]:
        whole = self._inverse_diagonal()
        # A row that no other row predicts has none left but rounding errors of either sign.
        return np.maximum(whole - np.sum(self._reducer**2, axis=1), ROUNDING * whole)


def _batches(folds: Iterable[Int[np.ndarray, " k"]]) -> Iterator[Int[np.ndarray, "f k"]]:
    """Folds of one size that follow each other, as many as have few rows together.

    >>> [batch.shape for batch in _batches([np.arange(3), np.arange(3), np.arange(4)])]
    [(2, 3), (1, 4)]
    """
    for size, alike in groupby(folds, len):
        while batch := list(islice(alike, max(ROWS_AT_ONCE // max(size, 1), 1))):
            yield np.array(batch)


def log_determinant(factor: Float[np.ndarray, "k k"]) -> float:
    """Of the matrix whose Cholesky factor this is."""
    return 2 * float(np.log(factor.diagonal()).sum())


def cholesky(matrix: Float[np.ndarray, "k k"], what: str) -> Float[np.ndarray, "k k"]:
    """The lower factor in the memory of a column-major matrix; what lies above its diagonal is not meaningful."""
    info = potrf(matrix)
    if info != 0:
        raise LinAlgError(f"The {what} is not positive definite (leading minor {info}).")
    return matrix
