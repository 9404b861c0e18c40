"""Strips of a radial Stein kernel's Gram matrix in NumPy, and the gradient of a sum over them, by hand.

Between rows x and columns y, with s = sum_r lam_r delta_r^2, q = sum_r a_r lam_r^2 delta_r^2, inner = sum_r a_r s_xr
s_yr and pull = sum_r a_r lam_r (delta_r (s_y - s_x)_r - 1), the first-order formula of `kernels.radial_stein` is

    k0 = phi inner + 2 phi' pull - 4 phi'' q.

With W = dL/dk0: dL/ds = W (phi' inner + 2 phi'' pull - 4 phi''' q), dL/dinner = W phi, dL/dpull = 2 W phi', dL/dq =
-4 W phi''. All four are sums of products of a row's and a column's numbers, and so are the gradients: matrix products.
For phi = exp(-s / 2), whose derivatives are multiples of itself, k0 = phi h with h = inner - pull - q in one product.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ..kernels import Matern, Side, SquaredExponential
from ..kernels.radial_stein import COINCIDENT

#: Entries of a strip: a few arrays of this size stay in the processor's cache, and few strips are few calls.
STRIP_ENTRIES = 32_768


class Rows:
    """What every Gram matrix of one side is made of, worked out once: points, scores, their products, and the strips.

    >>> x = np.zeros((300, 2))
    >>> Rows(Side(x, x, np.zeros(300))).strips
    [(0, 109), (109, 280), (280, 300)]
    """

    def __init__(self, side: Side) -> None:
        self.points, self.scores = np.asarray(side.points), np.asarray(side.scores)
        self.squares, self.drift = self.points**2, self.points * self.scores
        self.moments = np.hstack([self.scores, self.points, np.ones((len(self.points), 1))])
        self.strips: list[tuple[int, int]] = []
        start, n = 0, len(self.points)
        while start < n:  # of about the same number of entries
            stop = min(n, start + max(STRIP_ENTRIES // (n - start), 32))
            self.strips.append((start, stop))
            start = stop


class _Product:
    """sum left_i . right_j + weights . (rows_i + columns_j) between rows and columns, as one product of matrices."""

    def __init__(self, left: list, right: list, of_rows: np.ndarray, of_columns: np.ndarray) -> None:
        one = np.ones((len(of_rows), 1))
        self._left = np.concatenate([*left, of_rows[:, None], one], axis=1)
        self._right = np.concatenate([*right, one, of_columns[:, None]], axis=1)

    def strip(self, start: int, stop: int) -> Float[np.ndarray, "m k"]:
        return self._left[start:stop] @ self._right[start:].T


class _Sums:
    """Sums over all pairs of weights times products of their numbers, gathered strip by strip.

    Moments are those of scores, points and ones: all of them, or the last ones alone.
    """

    def __init__(self, rows: Rows, scores: bool) -> None:
        n, d = rows.points.shape
        self._rows, self._d = rows, d
        self._moments = rows.moments if scores else rows.moments[:, d:]
        self._by_row, self._by_column = np.empty((n, self._moments.shape[1])), np.zeros(n)

    def add(self, weights: Float[np.ndarray, "m k"], start: int, stop: int) -> None:
        np.matmul(weights, self._moments[start:], out=self._by_row[start:stop])
        self._by_column[start:] += np.ones(stop - start) @ weights

    @property
    def squares(self) -> Float[np.ndarray, " d"]:
        """sum_ij weights_ij (x_ir - y_jr)^2 for every r."""
        points = self._by_row[:, -1 - self._d : -1]
        return (self._by_row[:, -1] + self._by_column) @ self._rows.squares - 2 * _dots(self._rows.points, points)

    @property
    def products(self) -> Float[np.ndarray, " d"]:
        """sum_ij weights_ij ((x_ir - y_jr) (s_yjr - s_xir) - 1) for every r."""
        rows, d, total = self._rows, self._d, self._by_row[:, -1]
        crossed = _dots(rows.points, self._by_row[:, :d]) + _dots(rows.scores, self._by_row[:, d : 2 * d])
        return crossed - (total + self._by_column) @ rows.drift - total.sum()

    @property
    def scores(self) -> Float[np.ndarray, " d"]:
        """sum_ij weights_ij s_xir s_yjr for every r."""
        return _dots(self._rows.scores, self._by_row[:, : self._d])


class Exponential:
    """The squared exponential: two products, one exponential. A strip is (block, phi)."""

    def __init__(self, kernel: SquaredExponential, rows: Rows, axes: np.ndarray, lam: np.ndarray) -> None:
        self.axes, self.lam, self._rows = axes, lam, rows
        x, s, first = rows.points, rows.scores, axes * lam
        bend = (rows.drift - lam * rows.squares) @ first
        left = [axes * s - first * x, first * (2 * lam * x - s)]
        self._h = _Product(left, [s, x], bend + first.sum(), bend)
        self._diagonal = (s * s) @ axes + first.sum()  # without rounding where points coincide
        half = -0.5 * (rows.squares @ lam)
        self._half_s = _Product([lam * x], [x], half, half)

    def strip(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        h, phi = self._h.strip(start, stop), self._half_s.strip(start, stop)
        np.fill_diagonal(h, self._diagonal[start:stop])
        np.fill_diagonal(phi, 0.0)
        np.exp(phi, out=phi)
        return np.multiply(phi, h, out=h), phi

    @staticmethod
    def block(strip: tuple[np.ndarray, np.ndarray]) -> Float[np.ndarray, "m k"]:
        return strip[0]

    def begin(self) -> None:
        """No strip has been pulled back yet."""
        self._of_s, self._of_h = _Sums(self._rows, scores=False), _Sums(self._rows, scores=True)

    def pull(self, strip: tuple[np.ndarray, np.ndarray], weights: np.ndarray, start: int, stop: int) -> None:
        """Add what a strip contributes to the gradient; the weights are used up."""
        block, phi = strip
        self._of_s.add(weights * block, start, stop)
        self._of_h.add(np.multiply(weights, phi, out=weights), start, stop)

    def gradient(self) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
        """In lam and in the axes, of all strips."""
        squares, products, lam = self._of_h.squares, self._of_h.products, self.lam
        by_lam = -0.5 * self._of_s.squares - self.axes * (products + 2 * lam * squares)
        return by_lam, self._of_h.scores - lam * (products + lam * squares)


class _Parts(NamedTuple):
    """What a strip of a rough kernel is made of: profiles, inner, 2 pull, -4 q, and distinct points that coincide."""

    phi: list[np.ndarray]
    inner: np.ndarray
    twice_pull: np.ndarray
    minus_4_q: np.ndarray
    coincident: Bool[np.ndarray, "m k"] | None


class Rough:
    """A kernel that states its profile and three derivatives in NumPy."""

    def __init__(self, kernel: Matern, rows: Rows, axes: np.ndarray, lam: np.ndarray) -> None:
        self._kernel, self.axes, self.lam, self._rows = kernel, axes, lam, rows
        x, s, first, second = rows.points, rows.scores, axes * lam, -4 * axes * lam**2
        self._norms = rows.squares @ lam
        norms, bend = rows.squares @ second, rows.drift @ (2 * first)
        self._s = _Product([-2 * lam * x], [x], self._norms, self._norms)
        self._q = _Product([-2 * second * x], [x], norms, norms)
        self._pull = _Product([2 * first * x, 2 * first * s], [s, x], -bend - 2 * first.sum(), -bend)
        self._weighted_scores = axes * s

    def strip(self, start: int, stop: int) -> _Parts:
        s, q = self._s.strip(start, stop), self._q.strip(start, stop)
        coincident = self._coincident(s, start, stop)
        if coincident is not None:
            s[coincident] = q[coincident] = 0.0
        for array in (s, q):
            np.fill_diagonal(array, 0.0)
        inner = self._weighted_scores[start:stop] @ self._rows.scores[start:].T
        phi = type(self._kernel).profiles(self._kernel, 4, s)  # a method bound to an equinox module takes 50 us to make
        return _Parts(phi, inner, self._pull.strip(start, stop), q, coincident)

    @staticmethod
    def block(strip: _Parts) -> Float[np.ndarray, "m k"]:
        return _times(strip, strip.phi[:3])

    def begin(self) -> None:
        """No strip has been pulled back yet."""
        names = ("s", "q", "pull", "inner")
        self._sums = {name: _Sums(self._rows, scores=name in ("pull", "inner")) for name in names}

    def pull(self, strip: _Parts, weights: np.ndarray, start: int, stop: int) -> None:
        """Add what a strip contributes to the gradient; the weights are used up."""
        slopes = {"s": _times(strip, strip.phi[1:]), "q": strip.phi[2], "pull": strip.phi[1], "inner": strip.phi[0]}
        for name, slope in slopes.items():
            product = weights * slope
            if name in ("s", "q"):
                np.fill_diagonal(product, 0.0)
                if strip.coincident is not None:
                    product[strip.coincident] = 0.0
            self._sums[name].add(product, start, stop)

    def gradient(self) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
        """In lam and in the axes, of all strips."""
        axes, lam = self.axes, self.lam
        squares, products = -4 * self._sums["q"].squares, 2 * self._sums["pull"].products
        by_lam = self._sums["s"].squares + axes * (products + 2 * lam * squares)
        return by_lam, self._sums["inner"].scores + lam * (products + lam * squares)

    def _coincident(self, s: np.ndarray, start: int, stop: int) -> Bool[np.ndarray, "m k"] | None:
        """Pairs whose s is nothing but the rounding of their norms: derivatives of a rough phi explode there."""
        norms = COINCIDENT * self._norms
        close = s <= norms[start:stop, None] + norms[start:]
        np.fill_diagonal(close, False)
        return close if close.any() else None


def _times(strip: _Parts, phi: list[np.ndarray]) -> Float[np.ndarray, "m k"]:
    """phi_0 inner + 2 phi_1 pull - 4 phi_2 q."""
    result = phi[0] * strip.inner
    for profile, part in ((phi[1], strip.twice_pull), (phi[2], strip.minus_4_q)):
        result += profile * part
    return result


def _dots(left: Float[np.ndarray, "n d"], right: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " d"]:
    return np.einsum("ir,ir->r", left, right)
