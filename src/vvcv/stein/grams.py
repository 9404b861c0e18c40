"""Gram matrices of Stein kernels and their pullbacks, a tile at a time.

Tiles fit the processor's cache, so nothing larger than the N x N result is ever formed; of a symmetric matrix only the
tiles on and above the diagonal are visited, which is all a Cholesky factorisation reads. A matrix-valued kernel is
assembled from scalar ones, block by block of tasks: B_tt' times the scalar kernel, or one task's block alone. So only
scalar kernels are compiled, at a few padded lengths, and nearly equal shapes share one compilation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..kernels import Coregionalization, Own, Separable, Side
from ..precision import float64
from .kernel import SteinKernel, SteinSum, stein_terms

TILE = 128

#: Up to this size one tile is the whole matrix.
SMALL = 256

#: Small matrices take microseconds however they are compiled: compile them fast.
FAST_COMPILE = {"xla_backend_optimization_level": 0}

Pull = Callable[[np.ndarray], SteinKernel]


def gram(kernel: SteinKernel | SteinSum, left: Side, right: Side | None = None) -> Float[np.ndarray, "n m"]:
    """The matrix K_0(x_i, x_j)_(t_i t_j) between two sides, or of one side with itself (Theorem 3.1).

    >>> from vvcv.kernels import SquaredExponential
    >>> x = np.linspace(-1, 1, 4)[:, None]
    >>> gram(SteinKernel(SquaredExponential()), Side(x, -x, np.zeros(4, int))).shape
    (4, 4)
    """
    if right is not None:
        return _between(kernel, left, right)
    order = np.argsort(left.task, kind="stable")
    upper = Gram(Side(*(np.asarray(a)[order] for a in left))).upper(kernel)
    upper = np.triu(upper) + np.triu(upper, 1).T
    back = np.argsort(order, kind="stable")
    return upper[np.ix_(back, back)]


def pullback(kernel, side: Side, cotangent: Float[np.ndarray, "N N"]):
    """dL/d(parameters), in the shape of the kernel, given a symmetric dL/dK over the Gram matrix of one side."""
    order = np.argsort(side.task, kind="stable")
    _, pull = Gram(Side(*(np.asarray(a)[order] for a in side))).with_pullback(kernel)
    return pull(np.asarray(cotangent, dtype=float)[np.ix_(order, order)])


@float64
def diagonal(kernel: SteinKernel | SteinSum, side: Side) -> Float[np.ndarray, " n"]:
    """The diagonal K_0(x_i, x_i)_(t_i t_i)."""
    return np.asarray(_diagonal(kernel, _padded(side)))[: len(side.task)]


@float64
def task_matrix(coregionalization: Coregionalization) -> Float[np.ndarray, "T T"]:
    """B of any form as an array on the host."""
    return np.asarray(_matrix(coregionalization))


class Gram:
    """The Gram matrix of one side with itself, rows sorted by task, for any kernel: padding is done once."""

    def __init__(self, side: Side) -> None:
        self.side = Side(*(np.asarray(a) for a in side))
        self.size = len(self.side.task)
        if (np.diff(self.side.task) < 0).any():
            raise ValueError("Rows of a Gram matrix must be sorted by task.")

    def upper(self, kernel: SteinKernel | SteinSum) -> Float[np.ndarray, "N N"]:
        """The matrix on and above its diagonal (row-major, writable); what lies below is not meaningful."""
        return self.with_pullback(kernel)[0]

    @float64
    def with_pullback(self, kernel):
        """The upper matrix and the map from a symmetric cotangent (upper triangle read) to the kernel's gradient."""
        result, pulls = None, []
        for term in stein_terms(kernel):
            result, pull = self._add(result, term)
            pulls.append(pull)

        @float64
        def pull_all(cotangent: Float[np.ndarray, "N N"]):
            gradients = tuple(pull(cotangent) for pull in pulls)
            return jax.tree.unflatten(jax.tree.structure(kernel), jax.tree.leaves(gradients))

        return result, pull_all

    def _add(self, result: np.ndarray | None, term: SteinKernel) -> tuple[np.ndarray, Pull]:
        if isinstance(term.kernel, Separable):
            return self._add_separable(result, term)
        if isinstance(term.kernel, Own):
            scalar, window = term.with_kernel(term.kernel.kernel), self._windows[term.kernel.task]
        else:
            scalar, window = term, slice(0, self.size)
        part = self._padded_rows(window)
        block = self._scalar(scalar, part, window)
        if result is None:
            result = np.zeros((self.size, self.size)) if isinstance(term.kernel, Own) else np.array(block)
            if isinstance(term.kernel, Own):
                result[window, window] = block
        else:
            result[window, window] += block

        def pull(cotangent: np.ndarray) -> SteinKernel:
            inner = _pull(scalar, part, cotangent[window, window])
            return jax.tree.unflatten(jax.tree.structure(term), jax.tree.leaves(inner))

        return result, pull

    def _add_separable(self, result: np.ndarray | None, term: SteinKernel) -> tuple[np.ndarray, Pull]:
        """K = B_tt' k_0 block by block, for the price of the copy that a writable result costs anyway."""
        scalar, whole = term.with_kernel(term.kernel.kernel), slice(0, self.size)
        part = self._padded_rows(whole)
        block = self._scalar(scalar, part, whole)
        b = np.asarray(_matrix(term.kernel.coregionalization))
        if result is None:
            result = self._times(b, block)
        else:
            result += self._times(b, block)

        def pull(cotangent: np.ndarray) -> SteinKernel:
            inner = _pull(scalar, part, self._times(b, cotangent))
            slope = self._task_sums(cotangent, block)
            coregionalization = _pull_matrix(term.kernel.coregionalization, slope)
            leaves = [*jax.tree.leaves(coregionalization), *jax.tree.leaves(inner)]
            return jax.tree.unflatten(jax.tree.structure(term), leaves)

        return result, pull

    def _scalar(self, scalar: SteinKernel, part: Side, window: slice) -> Float[np.ndarray, "n n"]:
        n = window.stop - window.start
        evaluate = _upper_small if len(part.task) <= SMALL else _upper_large
        return np.asarray(evaluate(scalar, part))[:n, :n]

    def _times(self, b: np.ndarray, block: np.ndarray) -> Float[np.ndarray, "N N"]:
        result = np.zeros(block.shape)
        for t, rows in self._windows.items():
            for u, columns in self._windows.items():
                if u >= t:
                    np.multiply(block[rows, columns], b[t, u], out=result[rows, columns])
        return result

    def _task_sums(self, cotangent: np.ndarray, block: np.ndarray) -> Float[np.ndarray, "T T"]:
        """dL/dB_tu: the sum of cotangent times scalar kernel over each pair of tasks, from upper triangles."""
        count = max(self._windows) + 1
        sums = np.zeros((count, count))
        for t, rows in self._windows.items():
            for u, columns in self._windows.items():
                if u > t:
                    sums[t, u] = sums[u, t] = np.einsum("ij,ij->", cotangent[rows, columns], block[rows, columns])
            sums[t, t] = _symmetric_sum(cotangent[rows, rows], block[rows, rows])
        return sums

    @cached_property
    def _windows(self) -> dict[int, slice]:
        tasks, starts, counts = np.unique(self.side.task, return_index=True, return_counts=True)
        return {int(t): slice(int(i), int(i + n)) for t, i, n in zip(tasks, starts, counts, strict=True)}

    @cached_property
    def _parts(self) -> dict[tuple[int, int], Side]:
        return {}

    def _padded_rows(self, window: slice) -> Side:
        key = (window.start, window.stop)
        if key not in self._parts:
            self._parts[key] = _padded(Side(*(a[window] for a in self.side)))
        return self._parts[key]


def bucket(n: int) -> int:
    """The padded length of n rows: few lengths, so few compilations, and little waste where it would cost."""
    for size in (64, 128, SMALL):
        if n <= size:
            return size
    return -(-n // TILE) * TILE


@float64
def _between(kernel: SteinKernel | SteinSum, left: Side, right: Side) -> Float[np.ndarray, "n m"]:
    n, m = len(left.task), len(right.task)
    return np.array(_rectangle(kernel, _padded(left), _padded(right)))[:n, :m]


@jax.jit
def _rectangle(kernel: SteinKernel | SteinSum, left: Side, right: Side) -> Float[Array, "n m"]:
    rows = left.points.shape[0]
    if rows <= SMALL:
        return kernel.block(left, right)
    strips = jax.tree.map(lambda a: a.reshape(rows // TILE, TILE, *a.shape[1:]), left)
    return jax.lax.map(lambda part: kernel.block(part, right), strips).reshape(rows, -1)


def _symmetric_sum(cotangent: np.ndarray, block: np.ndarray) -> float:
    """Sum of the elementwise product of two symmetric matrices of which only the upper triangles are meaningful."""
    total = 0.0
    for start in range(0, len(block), SMALL):
        stop = min(start + SMALL, len(block))
        total += 2 * np.einsum("ij,ij->", cotangent[start:stop, stop:], block[start:stop, stop:])
        product = cotangent[start:stop, start:stop] * block[start:stop, start:stop]
        total += 2 * np.triu(product, 1).sum() + np.trace(product)
    return float(total)


@partial(jax.jit, compiler_options=FAST_COMPILE)
def _matrix(coregionalization) -> Float[Array, "T T"]:
    return coregionalization.matrix()


@partial(jax.jit, compiler_options=FAST_COMPILE)
def _pull_matrix(coregionalization, slope: Float[Array, "T T"]):
    return jax.vjp(lambda b: b.matrix(), coregionalization)[1](slope)[0]


def _pull(scalar: SteinKernel, part: Side, cotangent: Float[np.ndarray, "n n"]) -> SteinKernel:
    n, size = len(cotangent), len(part.task)
    if size != n:
        padded = np.zeros((size, size))
        padded[:n, :n] = cotangent
        cotangent = padded
    evaluate = _pullback_small if size <= SMALL else _pullback_large
    return jax.tree.map(np.asarray, evaluate(scalar, part, cotangent))


def _upper(term: SteinKernel, side: Side) -> Float[Array, "n n"]:
    size = side.points.shape[0]
    if size <= SMALL:
        return term.block(side, side)

    def fill(result: Array, pair: tuple[Array, Array]):
        i, j = pair
        block = term.block(_tile(side, i), _tile(side, j))
        return jax.lax.dynamic_update_slice(result, block, (i * TILE, j * TILE)), None

    return jax.lax.scan(fill, jnp.zeros((size, size)), _tile_pairs(size))[0]


def _pullback(term: SteinKernel, side: Side, cotangent: Float[Array, "n n"]) -> SteinKernel:
    size = side.points.shape[0]
    tile = min(size, TILE) if size > SMALL else size
    twice_above = jnp.asarray(2 * np.triu(np.ones((tile, tile)), 1) + np.eye(tile))

    def fold(weights: Array) -> Array:
        return jnp.where(twice_above > 0, weights * twice_above, 0.0)  # what lies below may be anything, even nan

    def pull(left: Side, right: Side, weights: Array) -> SteinKernel:
        return jax.vjp(lambda parameters: parameters.block(left, right), term)[1](weights)[0]

    if size <= SMALL:
        return pull(side, side, fold(cotangent))

    def add(total: SteinKernel, pair: tuple[Array, Array]):
        i, j = pair
        weights = jax.lax.dynamic_slice(cotangent, (i * TILE, j * TILE), (TILE, TILE))
        part = pull(_tile(side, i), _tile(side, j), jnp.where(i == j, fold(weights), 2.0 * weights))
        return jax.tree.map(jnp.add, total, part), None

    return jax.lax.scan(add, jax.tree.map(jnp.zeros_like, term), _tile_pairs(size))[0]


@jax.jit
def _diagonal(kernel: SteinKernel | SteinSum, side: Side) -> Float[Array, " n"]:
    single = jax.tree.map(lambda a: a[:, None], side)
    return jax.vmap(lambda s: kernel.block(s, s)[0, 0])(single)


def _tile(side: Side, index: Array) -> Side:
    return jax.tree.map(partial(jax.lax.dynamic_slice_in_dim, start_index=index * TILE, slice_size=TILE), side)


def _tile_pairs(size: int) -> tuple[Array, Array]:
    i, j = np.triu_indices(size // TILE)
    return jnp.asarray(i), jnp.asarray(j)


def _padded(side: Side) -> Side:
    n = len(side.task)
    extra = bucket(n) - n
    if extra == 0:
        return Side(*(np.ascontiguousarray(a) for a in side))
    return Side(*(np.concatenate([a, np.zeros((extra, *np.shape(a)[1:]), dtype=np.asarray(a).dtype)]) for a in side))


_upper_small, _upper_large = jax.jit(_upper, compiler_options=FAST_COMPILE), jax.jit(_upper)
_pullback_small, _pullback_large = jax.jit(_pullback, compiler_options=FAST_COMPILE), jax.jit(_pullback)
