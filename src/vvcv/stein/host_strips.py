"""A strip of a radial Stein kernel's Gram matrix in NumPy, and the gradient of a sum over it, by hand.

Between rows x and columns y, with s = sum_r lam_r delta_r^2, q = sum_r a_r lam_r^2 delta_r^2, inner = sum_r a_r s_xr
s_yr and pull = sum_r a_r lam_r (delta_r (s_y - s_x)_r - 1), the first-order formula of `kernels.radial_stein` is

    k0 = phi inner + 2 phi' pull - 4 phi'' q.

With W = dL/dk0: dL/ds = W (phi' inner + 2 phi'' pull - 4 phi''' q), dL/dinner = W phi, dL/dpull = 2 W phi', dL/dq =
-4 W phi''. All four are sums of products of a row's and a column's numbers, and so are the gradients: matrix products.
For phi = exp(-s / 2), whose derivatives are multiples of itself, k0 = phi h with h = inner - pull - q in one product.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from ..kernels import Matern, Side, SquaredExponential
from ..kernels.radial_stein import COINCIDENT


class _Strip:
    """The rows from `start` to `stop` of one side, and all rows from `start` on."""

    def __init__(self, axes: np.ndarray, lam: np.ndarray, side: Side, start: int, stop: int) -> None:
        self.axes, self.lam = axes, lam
        self.x, self.s_x = side.points[start:stop], side.scores[start:stop]
        self.y, self.s_y = side.points[start:], side.scores[start:]
        self._moments = np.hstack([self.y, self.s_y, np.ones((len(self.y), 1))])

    def _scaled_square(self) -> Float[np.ndarray, "m k"]:
        """s, exactly zero on the diagonal."""
        s = _bilinear([-2 * self.lam * self.x], [self.y], self.lam, self.x**2, self.y**2)
        np.fill_diagonal(s, 0.0)
        return s


class _Sums:
    """Sums over all pairs of a strip of weights times products of their numbers."""

    def __init__(self, strip: _Strip, weights: Float[np.ndarray, "m k"]) -> None:
        d = strip.x.shape[1]
        self._strip = strip
        by_row = weights @ strip._moments
        self._y, self._s_y, self._rows = by_row[:, :d], by_row[:, d : 2 * d], by_row[:, -1]
        self._columns = np.ones(len(weights)) @ weights

    @property
    def squares(self) -> Float[np.ndarray, " d"]:
        """sum_ij weights_ij (x_ir - y_jr)^2 for every r."""
        x, y = self._strip.x, self._strip.y
        return self._rows @ x**2 + self._columns @ y**2 - 2 * np.einsum("ir,ir->r", x, self._y)

    @property
    def products(self) -> Float[np.ndarray, " d"]:
        """sum_ij weights_ij ((x_ir - y_jr) (s_yjr - s_xir) - 1) for every r."""
        at = self._strip
        alone = self._rows @ (at.x * at.s_x + 1) + self._columns @ (at.y * at.s_y)
        return np.einsum("ir,ir->r", at.x, self._s_y) + np.einsum("ir,ir->r", at.s_x, self._y) - alone

    @property
    def scores(self) -> Float[np.ndarray, " d"]:
        """sum_ij weights_ij s_xir s_yjr for every r."""
        return np.einsum("ir,ir->r", self._strip.s_x, self._s_y)


class ExponentialStrip(_Strip):
    """The strip of the squared exponential: two products, one exponential."""

    def __init__(
        self, kernel: SquaredExponential, axes: np.ndarray, lam: np.ndarray, side: Side, start: int, stop: int
    ) -> None:
        super().__init__(axes, lam, side, start, stop)
        x, s_x, y, s_y = self.x, self.s_x, self.y, self.s_y
        first, second = axes * lam, axes * lam**2
        left = [axes * s_x - first * x, 2 * second * x - first * s_x]
        h = _bilinear(left, [s_y, y], first, x * s_x - lam * x**2 + 1, y * s_y - lam * y**2)
        np.fill_diagonal(h, np.sum(axes * s_x**2 + first, axis=1))  # without rounding where points coincide
        s = self._scaled_square()
        s *= -0.5
        self._phi = np.exp(s, out=s)
        self.block: Float[np.ndarray, "m k"] = np.multiply(self._phi, h, out=h)

    def pull(self, weights: Float[np.ndarray, "m k"]) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
        """The gradient in lam and in the axes."""
        by_s = weights * self.block
        by_inner = np.multiply(weights, self._phi, out=weights)
        squares, sums = _Sums(self, by_s).squares, _Sums(self, by_inner)
        axes, lam = self.axes, self.lam
        by_lam = -0.5 * squares - axes * sums.products - 2 * axes * lam * sums.squares
        return by_lam, sums.scores - lam * sums.products - lam**2 * sums.squares


class RadialStrip(_Strip):
    """The strip of a kernel that states its profile and three derivatives in NumPy."""

    def __init__(self, kernel: Matern, axes: np.ndarray, lam: np.ndarray, side: Side, start: int, stop: int) -> None:
        super().__init__(axes, lam, side, start, stop)
        x, s_x, y, s_y = self.x, self.s_x, self.y, self.s_y
        first, second = axes * lam, axes * lam**2
        s = self._scaled_square()
        self._q = _bilinear([-2 * second * x], [y], second, x**2, y**2)
        self._coincident = self._pairs_that_coincide(s)
        s[self._coincident] = self._q[self._coincident] = 0.0
        self._pull = _bilinear([first * x, first * s_x], [s_y, y], -first, x * s_x + 1, y * s_y)
        self._inner = (axes * s_x) @ s_y.T
        self._phi = type(kernel).profiles(kernel, 4, s)  # a method bound to an equinox module takes 50 us to make
        phi = self._phi
        self.block: Float[np.ndarray, "m k"] = phi[0] * self._inner + 2 * phi[1] * self._pull - 4 * phi[2] * self._q

    def pull(self, weights: Float[np.ndarray, "m k"]) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
        """The gradient in lam and in the axes."""
        phi = self._phi
        by_s = weights * (phi[1] * self._inner + 2 * phi[2] * self._pull - 4 * phi[3] * self._q)
        by_q = -4 * weights * phi[2]
        by_s[self._coincident] = by_q[self._coincident] = 0.0
        axes, lam = self.axes, self.lam
        squares, products = _Sums(self, by_q).squares, _Sums(self, 2 * weights * phi[1]).products
        by_lam = _Sums(self, by_s).squares + axes * products + 2 * axes * lam * squares
        return by_lam, _Sums(self, weights * phi[0]).scores + lam * products + lam**2 * squares

    def _pairs_that_coincide(self, s: Float[np.ndarray, "m k"]) -> Bool[np.ndarray, "m k"]:
        """Pairs whose s is nothing but the rounding of their norms: derivatives of a rough phi explode there."""
        norms = (self.x**2 @ self.lam)[:, None] + self.y**2 @ self.lam
        return s <= COINCIDENT * norms


def _bilinear(
    left: list[Float[np.ndarray, "m d"]],
    right: list[Float[np.ndarray, "k d"]],
    weights: Float[np.ndarray, " d"],
    rows: Float[np.ndarray, "m d"],
    columns: Float[np.ndarray, "k d"],
) -> Float[np.ndarray, "m k"]:
    """sum left_i . right_j + weights . (rows_i + columns_j), as one product of matrices."""
    of_rows, of_columns = rows @ weights, columns @ weights
    return (
        np.column_stack([*left, of_rows, np.ones(len(rows))])
        @ np.column_stack([*right, np.ones(len(columns)), of_columns]).T
    )
