"""Numbers of pairs of rows that radial Stein kernels are made of: weighted sums over axes, and sums over pairs.

With delta = x - y, every quantity a first-order Stein kernel needs of rows x and columns y is a sum over axes r of

    squares   delta_r^2          products   delta_r (s_y - s_x)_r - 1          scores   s_xr s_yr

with weights that depend on the parameters, and the gradient in these weights is a sum over pairs. All are products of a
row's and a column's numbers, so both are matrix products (`_Moments`), for any number of rows. Of few rows the calls
cost more than the numbers: there all of them are kept, and every sum is one product with them (`_Kept`).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from jaxtyping import Bool, Float

from ..kernels import Side
from ..runtime.once import cached_property

#: Entries of a strip: a few arrays of this size stay in the processor's cache, and few strips are few calls.
STRIP_ENTRIES = 32_768

#: Numbers of pairs that are kept, at most: as many as pass through the processor in the time of the calls they spare
#: (73 rows in one dimension, 26 in eight), an eighth of a megabyte.
MOST_KEPT = 16_384

#: What there is of a pair, in this order.
QUANTITIES = ("squares", "products", "scores")


class Weights(NamedTuple):
    """Weights of the axes, or sums over pairs for every axis; None where a quantity is not needed."""

    squares: Any = None
    products: Any = None
    scores: Any = None


class Rows:
    """What every Gram matrix of one side is made of, worked out once: points, scores, their products, and the strips.

    >>> x = np.zeros((300, 2))
    >>> Rows(Side(x, x, np.zeros(300))).strips
    [(0, 109), (109, 280), (280, 300)]
    """

    def __init__(self, side: Side) -> None:
        self.points, self.scores = np.asarray(side.points), np.asarray(side.scores)
        self.squares, self.score_squares = self.points**2, self.scores**2
        self.strips: list[tuple[int, int]] = []
        start, n = 0, len(self.points)
        while start < n:  # of about the same number of entries
            stop = min(n, start + max(STRIP_ENTRIES // (n - start), 32))
            self.strips.append((start, stop))
            start = stop

    @property
    def few(self) -> bool:
        """Whether the numbers of all pairs are kept."""
        return len(QUANTITIES) * self.points.size * len(self.points) <= MOST_KEPT

    @cached_property
    def moments(self) -> Float[np.ndarray, "n 2*d+1"]:
        """Scores, points and ones."""
        return np.hstack([self.scores, self.points, np.ones((len(self.points), 1))])

    @cached_property
    def crossed(self) -> Float[np.ndarray, "n 2*d"]:
        """Points and scores."""
        return np.hstack([self.points, self.scores])

    @cached_property
    def bends(self) -> Float[np.ndarray, "n 2*d"]:
        """What a row alone adds to squares, and takes from products."""
        return np.hstack([self.squares, self.points * self.scores])

    @cached_property
    def pairs(self) -> Float[np.ndarray, "3 d n*n"]:
        """Squares, products and scores of every pair."""
        delta = self.points[:, None] - self.points
        products = delta * (self.scores - self.scores[:, None]) - 1
        stacked = np.stack([delta**2, products, self.scores[:, None] * self.scores])
        return np.ascontiguousarray(np.moveaxis(stacked, 3, 1).reshape(3, self.points.shape[1], -1))

    @cached_property
    def above(self) -> list[Bool[np.ndarray, "m k"]]:
        """Where each strip lies above the diagonal of the matrix: what lies below is not needed."""
        return [~np.tri(stop - start, len(self.points) - start, dtype=bool) for start, stop in self.strips]

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


class Pairs(Protocol):
    """Weighted sums over axes of some of the three quantities, strip by strip, and sums over pairs."""

    def weigh(self, weights: Weights) -> None:
        """The weights of what follows."""

    def strip(self, k: int, out: Float[np.ndarray, "m k"]) -> Float[np.ndarray, "m k"]:
        """The weighted sum over axes for the pairs of the k-th strip."""
        ...

    def add(self, k: int, of_pairs: Float[np.ndarray, "m k"]) -> None:
        """Add the pairs of the k-th strip, each times a number, to the sums; strips come in their order."""

    def sums(self) -> Weights:
        """For every axis and quantity, the sum over all pairs that were added."""
        ...


def pairs_of(rows: Rows, *needed: str) -> Pairs:
    """The quantities that are needed, all three or one."""
    return (_Kept if rows.few else _Moments)(rows, needed or QUANTITIES)


class _Kept:
    """By products with the numbers of all pairs, in one strip."""

    def __init__(self, rows: Rows, needed: tuple[str, ...]) -> None:
        first, last = QUANTITIES.index(needed[0]), QUANTITIES.index(needed[-1]) + 1
        self._needed, self._d = needed, rows.points.shape[1]
        self._pairs = rows.pairs[first:last].reshape((last - first) * self._d, -1)

    def weigh(self, weights: Weights) -> None:
        given = [part for part in weights if part is not None]
        self._weights = given[0] if len(given) == 1 else np.concatenate(given)

    def strip(self, k: int, out: Float[np.ndarray, "m k"]) -> Float[np.ndarray, "m k"]:
        np.dot(self._weights, self._pairs, out=out.reshape(-1))
        return out

    def add(self, k: int, of_pairs: Float[np.ndarray, "m k"]) -> None:
        self._sums = self._pairs @ of_pairs.reshape(-1)

    def sums(self) -> Weights:
        d = self._d
        return Weights(**{name: self._sums[k * d : (k + 1) * d] for k, name in enumerate(self._needed)})


class _Moments:
    """By products of the moments of rows and columns: left_i . right_j + of_rows_i + of_columns_j."""

    def __init__(self, rows: Rows, needed: tuple[str, ...]) -> None:
        n, d = rows.points.shape
        self._rows, self._d, self._needed = rows, d, needed
        # Squares need the moments of points alone, scores those of scores.
        self._columns = slice(d if needed == ("squares",) else 0, d if needed == ("scores",) else 2 * d)
        k = self._columns.stop - self._columns.start
        self._left, self._right = np.ones((n, k + 2)), np.ones((n, k + 2))
        self._right[:, :k] = rows.moments[:, self._columns]
        self._moments = np.hstack([self._right[:, :k], np.ones((n, 1))])
        self._by_row, self._by_column = np.empty((n, k + 1)), np.zeros(n)
        self._ones, self._bend = np.ones(n), np.zeros(2 * d)

    def weigh(self, weights: Weights) -> None:
        squares, products, scores = weights
        left, own, rows, d = self._left[:, :-2], self._bend, self._rows, self._d
        if scores is None and products is None:
            np.multiply(rows.points, -2 * squares, out=left)
        elif squares is None and products is None:
            np.multiply(rows.scores, scores, out=left)
        else:
            np.multiply(rows.crossed, np.concatenate([products, products]), out=left)
            if scores is not None and squares is not None:
                left += rows.moments[:, :-1] * np.concatenate([scores, -2 * squares])
        if squares is not None:
            own[:d] = squares
        if products is not None:
            own[d:] = -products
        self._right[:, -1] = rows.bends @ own
        np.subtract(self._right[:, -1], 0.0 if products is None else products.sum(), out=self._left[:, -2])

    def strip(self, k: int, out: Float[np.ndarray, "m k"]) -> Float[np.ndarray, "m k"]:
        start, stop = self._rows.strips[k]
        return np.matmul(self._left[start:stop], self._right[start:].T, out=out)

    def add(self, k: int, of_pairs: Float[np.ndarray, "m k"]) -> None:
        start, stop = self._rows.strips[k]
        if k == 0:
            self._by_column[:] = 0.0
        np.matmul(of_pairs, self._moments[start:], out=self._by_row[start:stop])
        self._by_column[start:] += self._ones[start:stop] @ of_pairs

    def sums(self) -> Weights:
        d, total = self._d, self._by_row[:, -1]
        both = self._moments[:, :-1].T @ self._by_row[:, :-1]
        if self._needed == ("scores",):
            return Weights(scores=both.diagonal())
        of_rows = (total + self._by_column) @ self._rows.bends
        squares = of_rows[:d] - 2 * both.diagonal()[-d:]
        if self._needed == ("squares",):
            return Weights(squares)
        products = both.diagonal(d) + both.diagonal(-d) - of_rows[d:] - total.sum()
        return Weights(squares, products, both.diagonal()[:d])


def on_diagonal(strip: Float[np.ndarray, "m k"]) -> Float[np.ndarray, " m"]:
    """The diagonal of a strip or matrix in one piece, writable.

    >>> matrix = np.zeros((2, 3))
    >>> on_diagonal(matrix)[:] = 1.0
    >>> matrix.tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    return strip.reshape(-1)[:: strip.shape[1] + 1]
