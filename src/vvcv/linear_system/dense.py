"""The exact system on the host, by LAPACK: N unknowns where Theorem 4.1 has N T.

One Cholesky factorisation serves the solution; the inverse, needed for gradients and leave-one-out, is taken
in the same memory.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from ..runtime.once import cached_property
from .inverse import diagonal_from_root, inverse_from_root, inverse_of_factor
from .lapack import potrs, syrk, trmm
from .system import System, cholesky, log_determinant


class DenseSystem(System):
    """Solution of the joint linear system, of W's lower Cholesky factor, whose memory it takes over, and W^-1 [A y].

    >>> system = DenseSystem.of(np.diag([1.0, 1.0, 2.0]), np.ones((3, 1)), np.array([1.0, 3.0, 2.0]))
    >>> system.coefficients
    array([2.])
    >>> system = DenseSystem.of(np.eye(4), np.ones((4, 1)), np.array([1.0, 3.0, 2.0, 2.0]))
    >>> [residual.round(6).tolist() for residual, _ in system.leave_rows_out([np.array([0, 1])])]
    [[-1.0, 1.0]]
    """

    def __init__(
        self,
        factor: Float[np.ndarray, "N N"],
        solved: Float[np.ndarray, "N q+m"],
        columns: Float[np.ndarray, "N q"],
        values: Float[np.ndarray, " N *m"],
    ) -> None:
        self._factor = factor
        super().__init__(solved, columns, values, log_determinant(factor))

    @classmethod
    def of(
        cls,
        covariance: Float[np.ndarray, "N N"],
        columns: Float[np.ndarray, "N q"],
        values: Float[np.ndarray, " N *m"],
    ) -> DenseSystem:
        """That of a covariance matrix W, whose memory it takes over."""
        # The transpose of a row-major array is column-major, as LAPACK wants it: no copy.
        factor = cholesky(np.asarray(covariance.T, dtype=float, order="F"), "covariance matrix")
        solved = np.array(np.concatenate([columns, values.reshape(len(values), -1)], axis=1), order="F")
        potrs(factor, solved)
        return cls(factor, solved, columns, values)

    def restricted_likelihood_cotangent(self, scale: float = 1.0) -> Float[np.ndarray, "N N"]:
        """d(restricted likelihood)/dW = (P - P y (P y)' / scale) / 2, its upper triangle (row-major) alone."""
        half = 0.5 * self._count
        update = np.empty((len(self.values), self._reducer.shape[1] + self._count), order="F")
        update[:, : -self._count] = self._reducer
        np.multiply(self.weights.reshape(len(update), -1), (self._count * scale) ** -0.5, out=update[:, -self._count :])
        inverse = self._inverse
        del self._inverse  # its memory becomes the answer's
        syrk(-half, update, half, inverse)
        return inverse.T

    def leave_one_out_cotangent(self) -> Float[np.ndarray, "N N"]:
        """d(leave-one-out likelihood)/dW, symmetric; from dP = -P dW P."""
        p = self._projection()
        a = self.weights.reshape(len(p), -1)
        diagonal = np.diag(p).copy()[:, None]
        weight = np.sum(-0.5 / diagonal - 0.5 * (a / diagonal) ** 2, axis=1)
        pulled = p @ (a / diagonal)
        return -(p * weight) @ p - 0.5 * (pulled @ a.T + a @ pulled.T)

    @cached_property
    def _inverse(self) -> Float[np.ndarray, "N N"]:
        """W^-1, of which the lower triangle is meaningful, in the place of its root, which is gone afterwards."""
        root = self._root
        del self._root
        return inverse_from_root(root)

    @cached_property
    def _root(self) -> Float[np.ndarray, "N N"]:
        """X = L^-1, of which the lower triangle is meaningful, in the place of the factor, which is gone afterwards."""
        factor = self._factor
        del self._factor
        return inverse_of_factor(factor)

    def _inverse_squares(self, rows: Float[np.ndarray, "N k"]) -> Float[np.ndarray, " k"]:
        if "_inverse" in vars(self):
            half = np.tril(self._inverse, -1)  # x' (half + half' + diagonal) x
            return np.sum(rows * (2 * half @ rows), axis=0) + np.diag(self._inverse) @ rows**2
        product = np.array(rows, dtype=float, order="F")
        trmm(1.0, self._root, product, b"L")
        return np.sum(product**2, axis=0)

    def _inverse_diagonal(self) -> Float[np.ndarray, " N"]:
        return np.diag(self._inverse) if "_inverse" in vars(self) else diagonal_from_root(self._root)

    def _inverse_blocks(self, folds: Int[np.ndarray, "f k"]) -> Float[np.ndarray, "f k k"]:
        if "_inverse" in vars(self):
            down, right = folds[:, :, None], folds[:, None, :]
            return self._inverse[np.maximum(down, right), np.minimum(down, right)]
        columns = self._root.T[folds]  # of the lower triangle
        columns[np.arange(len(self._root)) < folds[:, :, None]] = 0.0
        return columns @ columns.swapaxes(1, 2)

    def _projection(self) -> Float[np.ndarray, "N N"]:
        inverse = np.tril(self._inverse)
        return inverse + np.tril(inverse, -1).T - self._reducer @ self._reducer.T
