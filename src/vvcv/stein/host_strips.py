"""Strips of a radial Stein kernel's Gram matrix in NumPy, and the gradient of a sum over them, by hand.

Between rows x and columns y, with s = sum_r lam_r delta_r^2, q = sum_r a_r lam_r^2 delta_r^2, inner = sum_r a_r s_xr
s_yr and pull = sum_r a_r lam_r (delta_r (s_y - s_x)_r - 1), the first-order formula of `kernels.radial_stein` is

    k0 = phi inner + 2 phi' pull - 4 phi'' q.

With W = dL/dk0: dL/ds = W (phi' inner + 2 phi'' pull - 4 phi''' q), dL/dinner = W phi, dL/dpull = 2 W phi', dL/dq =
-4 W phi''. All four are weighted sums over axes (`host_pairs`), and the gradients sums over pairs.
For phi = exp(-s / 2), whose derivatives are multiples of itself, k0 = phi h with h = inner - pull - q in one product.

A search evaluates hundreds of kernels on the same rows: what does not change, and all memory, is made once.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from ..kernels import Matern, SquaredExponential
from ..kernels.radial_stein import COINCIDENT
from .host_pairs import Rows, Weights, on_diagonal, pairs_of

PerAxis = Float[np.ndarray, " d"]
Strip = Float[np.ndarray, "m k"]


class Exponential:
    """The squared exponential: two products, one exponential. A strip is (block, phi)."""

    def __init__(self, kernel: SquaredExponential, rows: Rows, kept: bool) -> None:
        self._rows, self._strips, self._weighted = rows, rows.arrays(2, kept), rows.arrays(1, False)
        self._h, self._half_s = pairs_of(rows), pairs_of(rows, "squares")

    def at(self, axes: PerAxis, lam: PerAxis) -> None:
        """The parameters of what follows."""
        self.axes, self.lam = axes, lam
        first = axes * lam
        self._h.weigh(Weights(-first * lam, -first, axes))
        self._half_s.weigh(Weights(-0.5 * lam))
        self._diagonal = self._rows.score_squares @ axes + first.sum()  # without rounding where points coincide

    def form(self, k: int) -> Strip:
        """The k-th strip of the matrix."""
        (start, stop), (h, phi) = self._rows.strips[k], self._strips[k]
        self._h.strip(k, h)
        self._half_s.strip(k, phi)
        on_diagonal(h)[:] = self._diagonal[start:stop]
        np.exp(phi, out=phi, where=self._rows.above[k])  # by far the dearest: not below, where anything will do
        on_diagonal(phi)[:] = 1.0
        return np.multiply(phi, h, out=h)

    def block(self, k: int) -> Strip:
        """The k-th strip, formed before."""
        return self._strips[k][0]

    def pull(self, k: int, weights: Strip) -> None:
        """Add what a strip, formed before, contributes to the gradient; strips come in their order."""
        (block, phi), (product,) = self._strips[k], self._weighted[k]
        self._half_s.add(k, np.multiply(weights, block, out=product))
        self._h.add(k, np.multiply(weights, phi, out=product))

    def gradient(self) -> tuple[PerAxis, PerAxis]:
        """In lam and in the axes, of all strips."""
        squares, products, scores = self._h.sums()
        bent = self.lam * squares
        by_lam = -0.5 * self._half_s.sums().squares - self.axes * (products + 2 * bent)
        return by_lam, scores - self.lam * (products + bent)


class Rough:
    """A kernel that states its profile and three derivatives in NumPy. A strip is (block, inner, 2 pull, -4 q)."""

    def __init__(self, kernel: Matern, rows: Rows, kept: bool) -> None:
        self._kernel, self._rows, self._kept = kernel, rows, kept
        self._strips, self._weighted = rows.arrays(4, kept), rows.arrays(2, False)
        self._phi: dict[int, list[np.ndarray]] = {}
        self._coincident: dict[int, Bool[np.ndarray, "m k"] | None] = {}
        self._s, self._q = pairs_of(rows, "squares"), pairs_of(rows, "squares")
        self._pull, self._inner = pairs_of(rows, "products"), pairs_of(rows, "scores")

    def at(self, axes: PerAxis, lam: PerAxis) -> None:
        """The parameters of what follows."""
        self.axes, self.lam = axes, lam
        first = axes * lam
        self._norms = COINCIDENT * (self._rows.squares @ lam)
        self._s.weigh(Weights(squares=lam))
        self._q.weigh(Weights(squares=-4 * first * lam))
        self._pull.weigh(Weights(products=2 * first))
        self._inner.weigh(Weights(scores=axes))

    def form(self, k: int) -> Strip:
        """The k-th strip of the matrix."""
        block, inner, twice_pull, minus_4_q = self._strips[k]
        s = self._s.strip(k, block)
        self._q.strip(k, minus_4_q)
        coincident = self._too_close(s, *self._rows.strips[k])
        for array in (s, minus_4_q):
            if coincident is not None:
                array[coincident] = 0.0
            on_diagonal(array)[:] = 0.0
        self._inner.strip(k, inner)
        self._pull.strip(k, twice_pull)
        if not self._kept:
            self._phi, self._coincident = {}, {}
        self._phi[k] = type(self._kernel).profiles(self._kernel, 4, s)  # a bound method of a module takes 50 us to make
        self._coincident[k] = coincident
        return self._times(k, 0, block)

    def block(self, k: int) -> Strip:
        """The k-th strip, formed before."""
        return self._strips[k][0]

    def pull(self, k: int, weights: Strip) -> None:
        """Add what a strip, formed before, contributes to the gradient; strips come in their order."""
        (product, slope), phi = self._weighted[k], self._phi[k]
        self._inner.add(k, np.multiply(weights, phi[0], out=product))
        self._pull.add(k, np.multiply(weights, phi[1], out=product))
        for pairs, array in ((self._q, phi[2]), (self._s, self._times(k, 1, slope))):
            np.multiply(weights, array, out=product)
            on_diagonal(product)[:] = 0.0
            if self._coincident[k] is not None:
                product[self._coincident[k]] = 0.0
            pairs.add(k, product)

    def gradient(self) -> tuple[PerAxis, PerAxis]:
        """In lam and in the axes, of all strips."""
        axes, lam = self.axes, self.lam
        squares, products = -4 * self._q.sums().squares, 2 * self._pull.sums().products
        by_lam = self._s.sums().squares + axes * (products + 2 * lam * squares)
        return by_lam, self._inner.sums().scores + lam * (products + lam * squares)

    def _times(self, k: int, j: int, out: Strip) -> Strip:
        """phi^(j) inner + 2 phi^(j+1) pull - 4 phi^(j+2) q."""
        _, *parts = self._strips[k]
        np.multiply(self._phi[k][j], parts[0], out=out)
        for profile, part in zip(self._phi[k][j + 1 : j + 3], parts[1:], strict=True):
            out += profile * part
        return out

    def _too_close(self, s: Strip, start: int, stop: int) -> Bool[np.ndarray, "m k"] | None:
        """Pairs whose s is nothing but the rounding of their norms: derivatives of a rough phi explode there."""
        close = s <= self._norms[start:stop, None] + self._norms[start:]
        on_diagonal(close)[:] = False
        return close if close.any() else None
