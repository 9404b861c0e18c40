"""Strips of a radial Stein kernel's Gram matrix in NumPy, and the gradient of a sum over them, by hand.

Between rows x and columns y, with s = sum_r lam_r delta_r^2, q = sum_r a_r lam_r^2 delta_r^2, inner = sum_r a_r s_xr
s_yr and pull = sum_r a_r lam_r (delta_r (s_y - s_x)_r - 1), the first-order formula of `kernels.radial_stein` is

    k0 = phi inner + 2 phi' pull - 4 phi'' q.

With W = dL/dk0: dL/ds = W (phi' inner + 2 phi'' pull - 4 phi''' q), dL/dinner = W phi, dL/dpull = 2 W phi', dL/dq =
-4 W phi''. All four are sums of products of a row's and a column's numbers, and so are the gradients: matrix products.
For phi = exp(-s / 2), whose derivatives are multiples of itself, k0 = phi h with h = inner - pull - q in one product.

A search evaluates hundreds of kernels on the same rows: what does not change, and all memory, is made once. Of few rows
the calls themselves are what costs, so there are few of them.
"""

from __future__ import annotations

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
        self.squares, self.score_squares = self.points**2, self.scores**2
        self.moments = np.hstack([self.scores, self.points, np.ones((len(self.points), 1))])
        self.crossed = np.hstack([self.points, self.scores])
        self.bends = np.hstack([self.points * self.scores, self.squares])
        self.strips: list[tuple[int, int]] = []
        start, n = 0, len(self.points)
        while start < n:  # of about the same number of entries
            stop = min(n, start + max(STRIP_ENTRIES // (n - start), 32))
            self.strips.append((start, stop))
            start = stop

    def arrays(self, count: int, kept: bool) -> list[Float[np.ndarray, "count m k"]]:
        """Memory for each strip, so many arrays of its size: its own where they are kept, the same for all where not.

        >>> x = np.zeros((300, 2))
        >>> [array.shape for array in Rows(Side(x, x, np.zeros(300))).arrays(2, kept=True)]
        [(2, 109, 300), (2, 171, 191), (2, 20, 20)]
        """
        n = len(self.points)
        shapes = [(count, stop - start, n - start) for start, stop in self.strips]
        if kept:
            return [np.empty(shape) for shape in shapes]
        memory = np.empty(max((int(np.prod(shape)) for shape in shapes), default=0))
        return [memory[: int(np.prod(shape))].reshape(shape) for shape in shapes]


class _Product:
    """left_i . right_j + of_rows_i + of_columns_j between rows and columns, as one product; right never changes."""

    def __init__(self, right: Float[np.ndarray, "n k"]) -> None:
        n, k = right.shape
        self._left, self._right = np.ones((n, k + 2)), np.ones((n, k + 2))
        self._right[:, :k] = right
        self.left, self.of_rows, self.of_columns = self._left[:, :k], self._left[:, k], self._right[:, k + 1]

    def strip(self, start: int, stop: int, out: Float[np.ndarray, "m k"]) -> Float[np.ndarray, "m k"]:
        return np.matmul(self._left[start:stop], self._right[start:].T, out=out)


class _Sums:
    """Sums over all pairs of weights times products of their numbers, gathered strip by strip.

    Moments are those of scores, points and ones: all of them, or the last ones alone.
    """

    def __init__(self, rows: Rows, scores: bool) -> None:
        n, d = rows.points.shape
        self._bends, self._d, self._ones = rows.bends, d, np.ones(n)
        self._moments = rows.moments if scores else rows.moments[:, d:]
        self._by_row, self._by_column = np.empty((n, self._moments.shape[1])), np.zeros(n)

    def begin(self) -> None:
        self._by_column[:] = 0.0

    def add(self, weights: Float[np.ndarray, "m k"], start: int, stop: int) -> None:
        np.matmul(weights, self._moments[start:], out=self._by_row[start:stop])
        self._by_column[start:] += self._ones[start:stop] @ weights

    def gather(self) -> None:
        """All strips have been added: sums of the products of every two moments, and of those of one row alone."""
        total = self._by_row[:, -1]
        self._total, self._of_rows = total.sum(), (total + self._by_column) @ self._bends
        self._pairs = self._moments[:, :-1].T @ self._by_row[:, :-1]

    @property
    def squares(self) -> Float[np.ndarray, " d"]:
        """sum_ij weights_ij (x_ir - y_jr)^2 for every r."""
        return self._of_rows[self._d :] - 2 * self._pairs.diagonal()[-self._d :]

    @property
    def products(self) -> Float[np.ndarray, " d"]:
        """sum_ij weights_ij ((x_ir - y_jr) (s_yjr - s_xir) - 1) for every r."""
        d = self._d
        return self._pairs.diagonal(d) + self._pairs.diagonal(-d) - self._of_rows[:d] - self._total

    @property
    def scores(self) -> Float[np.ndarray, " d"]:
        """sum_ij weights_ij s_xir s_yjr for every r."""
        return self._pairs.diagonal()[: self._d]


class Exponential:
    """The squared exponential: two products, one exponential. A strip is (block, phi)."""

    def __init__(self, kernel: SquaredExponential, rows: Rows, kept: bool) -> None:
        d = rows.points.shape[1]
        self._rows, self._strips, self._weighted = rows, rows.arrays(2, kept), rows.arrays(1, False)
        self._h, self._half_s = _Product(rows.moments[:, : 2 * d]), _Product(rows.points)
        self._of_s, self._of_h = _Sums(rows, scores=False), _Sums(rows, scores=True)

    def at(self, axes: Float[np.ndarray, " d"], lam: Float[np.ndarray, " d"]) -> None:
        """The parameters of what follows."""
        self.axes, self.lam, rows, h, half_s = axes, lam, self._rows, self._h, self._half_s
        first = axes * lam
        second, total = first * lam, first.sum()
        bend = rows.bends @ np.concatenate([first, -second])
        np.multiply(rows.moments[:, :-1], np.concatenate([axes, 2 * second]), out=h.left)
        h.left -= rows.crossed * np.concatenate([first, first])
        h.of_columns[:] = bend
        np.add(bend, total, out=h.of_rows)
        self._diagonal = rows.score_squares @ axes + total  # without rounding where points coincide
        np.multiply(rows.points, lam, out=half_s.left)
        half_s.of_rows[:] = half_s.of_columns[:] = rows.squares @ (-0.5 * lam)

    def form(self, k: int) -> Float[np.ndarray, "m k"]:
        """The k-th strip of the matrix."""
        (start, stop), (h, phi) = self._rows.strips[k], self._strips[k]
        self._h.strip(start, stop, h)
        self._half_s.strip(start, stop, phi)
        on_diagonal(h)[:] = self._diagonal[start:stop]
        on_diagonal(phi)[:] = 0.0
        np.exp(phi, out=phi)
        return np.multiply(phi, h, out=h)

    def block(self, k: int) -> Float[np.ndarray, "m k"]:
        """The k-th strip, formed before."""
        return self._strips[k][0]

    def begin(self) -> None:
        """No strip has been pulled back yet."""
        self._of_s.begin()
        self._of_h.begin()

    def pull(self, k: int, weights: Float[np.ndarray, "m k"]) -> None:
        """Add what a strip, formed before, contributes to the gradient."""
        (start, stop), (block, phi), (product,) = self._rows.strips[k], self._strips[k], self._weighted[k]
        self._of_s.add(np.multiply(weights, block, out=product), start, stop)
        self._of_h.add(np.multiply(weights, phi, out=product), start, stop)

    def gradient(self) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
        """In lam and in the axes, of all strips."""
        self._of_s.gather()
        self._of_h.gather()
        products, bent = self._of_h.products, self.lam * self._of_h.squares
        by_lam = -0.5 * self._of_s.squares - self.axes * (products + 2 * bent)
        return by_lam, self._of_h.scores - self.lam * (products + bent)


class Rough:
    """A kernel that states its profile and three derivatives in NumPy. A strip is (block, inner, 2 pull, -4 q)."""

    def __init__(self, kernel: Matern, rows: Rows, kept: bool) -> None:
        d = rows.points.shape[1]
        self._kernel, self._rows = kernel, rows
        self._strips, self._weighted = rows.arrays(4, kept), rows.arrays(2, False)
        self._kept, self._phi, self._coincident = kept, {}, {}
        self._s, self._q, self._pull = _Product(rows.points), _Product(rows.points), _Product(rows.moments[:, : 2 * d])
        self._sums = {name: _Sums(rows, scores=name in ("pull", "inner")) for name in ("s", "q", "pull", "inner")}

    def at(self, axes: Float[np.ndarray, " d"], lam: Float[np.ndarray, " d"]) -> None:
        """The parameters of what follows."""
        self.axes, self.lam, rows = axes, lam, self._rows
        twice_first, second = 2 * axes * lam, -4 * axes * lam**2
        for product, factors in ((self._s, lam), (self._q, second)):
            np.multiply(rows.points, -2 * factors, out=product.left)
            product.of_rows[:] = product.of_columns[:] = rows.squares @ factors
        np.multiply(rows.crossed, np.concatenate([twice_first, twice_first]), out=self._pull.left)
        self._pull.of_columns[:] = rows.bends[:, : len(lam)] @ -twice_first
        np.subtract(self._pull.of_columns, twice_first.sum(), out=self._pull.of_rows)
        self._weighted_scores = axes * rows.scores

    def form(self, k: int) -> Float[np.ndarray, "m k"]:
        """The k-th strip of the matrix."""
        (start, stop), (block, inner, twice_pull, minus_4_q) = self._rows.strips[k], self._strips[k]
        s = self._s.strip(start, stop, block)
        self._q.strip(start, stop, minus_4_q)
        coincident = self._too_close(s, start, stop)
        for array in (s, minus_4_q):
            if coincident is not None:
                array[coincident] = 0.0
            on_diagonal(array)[:] = 0.0
        np.matmul(self._weighted_scores[start:stop], self._rows.scores[start:].T, out=inner)
        self._pull.strip(start, stop, twice_pull)
        phi = type(self._kernel).profiles(self._kernel, 4, s)  # a method bound to an equinox module takes 50 us to make
        before = (self._phi, self._coincident) if self._kept else ({}, {})
        self._phi, self._coincident = before[0] | {k: phi}, before[1] | {k: coincident}
        return self._times(k, 0, block)

    def block(self, k: int) -> Float[np.ndarray, "m k"]:
        """The k-th strip, formed before."""
        return self._strips[k][0]

    def begin(self) -> None:
        """No strip has been pulled back yet."""
        for sums in self._sums.values():
            sums.begin()

    def pull(self, k: int, weights: Float[np.ndarray, "m k"]) -> None:
        """Add what a strip, formed before, contributes to the gradient."""
        (start, stop), (product, slope), phi = self._rows.strips[k], self._weighted[k], self._phi[k]
        slopes = {"s": self._times(k, 1, slope), "q": phi[2], "pull": phi[1], "inner": phi[0]}
        for name, array in slopes.items():
            np.multiply(weights, array, out=product)
            if name in ("s", "q"):
                on_diagonal(product)[:] = 0.0
                if self._coincident[k] is not None:
                    product[self._coincident[k]] = 0.0
            self._sums[name].add(product, start, stop)

    def gradient(self) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
        """In lam and in the axes, of all strips."""
        for sums in self._sums.values():
            sums.gather()
        axes, lam = self.axes, self.lam
        squares, products = -4 * self._sums["q"].squares, 2 * self._sums["pull"].products
        by_lam = self._sums["s"].squares + axes * (products + 2 * lam * squares)
        return by_lam, self._sums["inner"].scores + lam * (products + lam * squares)

    def _times(self, k: int, j: int, out: np.ndarray) -> Float[np.ndarray, "m k"]:
        """phi^(j) inner + 2 phi^(j+1) pull - 4 phi^(j+2) q."""
        _, *parts = self._strips[k]
        np.multiply(self._phi[k][j], parts[0], out=out)
        for profile, part in zip(self._phi[k][j + 1 : j + 3], parts[1:], strict=True):
            out += profile * part
        return out

    def _too_close(self, s: np.ndarray, start: int, stop: int) -> Bool[np.ndarray, "m k"] | None:
        """Pairs whose s is nothing but the rounding of their norms: derivatives of a rough phi explode there."""
        norms = COINCIDENT * self._s.of_columns
        close = s <= norms[start:stop, None] + norms[start:]
        on_diagonal(close)[:] = False
        return close if close.any() else None


def on_diagonal(strip: Float[np.ndarray, "m k"]) -> Float[np.ndarray, " m"]:
    """The diagonal of a strip or matrix in one piece, writable."""
    return strip.reshape(-1)[:: strip.shape[1] + 1]
