"""Gram matrices of Stein kernels and their pullbacks, a tile at a time.

Tiles fit the processor's cache, so nothing larger than the N x N result is ever formed; of a symmetric matrix only the
tiles on and above the diagonal are visited, which is all a Cholesky factorisation reads. Sizes are padded to a few
lengths and results cut back, so that equal and nearly equal shapes share one compilation.
"""

from __future__ import annotations

from functools import cached_property, lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..kernels import Own, Side
from ..precision import float64
from .kernel import SteinKernel, SteinSum, stein_terms

TILE = 128

#: Up to this size one tile is the whole matrix.
SMALL = 256


def gram(kernel: SteinKernel | SteinSum, left: Side, right: Side | None = None) -> Float[np.ndarray, "n m"]:
    """The matrix K_0(x_i, x_j)_(t_i t_j) between two sides, or of one side with itself (Theorem 3.1).

    >>> from vvcv.kernels import SquaredExponential
    >>> x = np.linspace(-1, 1, 4)[:, None]
    >>> gram(SteinKernel(SquaredExponential()), Side(x, -x, np.zeros(4, int))).shape
    (4, 4)
    """
    if right is not None:
        return _between(kernel, left, right)
    upper = Gram(left).upper(kernel)
    below = np.tril_indices_from(upper, -1)
    upper[below] = upper.T[below]
    return upper


def pullback(kernel, side: Side, cotangent: Float[np.ndarray, "N N"]):
    """dL/d(parameters), in the shape of the kernel, given a symmetric dL/dK over the Gram matrix of one side."""
    return Gram(side).pullback(kernel, cotangent)


@float64
def diagonal(kernel: SteinKernel | SteinSum, side: Side) -> Float[np.ndarray, " n"]:
    """The diagonal K_0(x_i, x_i)_(t_i t_i)."""
    return np.asarray(_diagonal(kernel, _padded(side)))[: len(side.task)]


class Gram:
    """The Gram matrix of one side with itself, for any kernel: padding and splitting by task are done once."""

    def __init__(self, side: Side) -> None:
        self.side = Side(*(np.asarray(a) for a in side))
        self.size = len(self.side.task)

    @float64
    def upper(self, kernel: SteinKernel | SteinSum) -> Float[np.ndarray, "N N"]:
        """The matrix on and above its diagonal (row-major, writable); what lies below is not meaningful."""
        result = None
        for term in sorted(stein_terms(kernel), key=_is_own):
            part, rows = self._part(term)
            block = np.asarray(_upper(_scalar(term), part))[: rows.stop - rows.start, : rows.stop - rows.start]
            if result is None and not _is_own(term):
                result = np.array(block)
                continue
            result = np.zeros((self.size, self.size)) if result is None else result
            result[rows, rows] += block
        assert result is not None
        return result

    @float64
    def pullback(self, kernel, cotangent: Float[np.ndarray, "N N"]):
        """The gradient in the kernel's parameters; only the upper triangle of the symmetric cotangent is read."""
        gradients = []
        for term in stein_terms(kernel):
            part, rows = self._part(term)
            size = len(part.task)
            weights = cotangent[rows, rows]
            if size != len(weights):
                weights = np.zeros((size, size))
                weights[: rows.stop - rows.start, : rows.stop - rows.start] = cotangent[rows, rows]
            inner = _pullback(_scalar(term), part, weights)
            leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(inner)]
            gradients.append(jax.tree.unflatten(jax.tree.structure(term), leaves))
        return SteinSum(tuple(gradients)) if isinstance(kernel, SteinSum) else gradients[0]

    def _part(self, term: SteinKernel) -> tuple[Side, slice]:
        if not _is_own(term):
            return self._whole, slice(0, self.size)
        return self._by_task[term.kernel.task]

    @cached_property
    def _whole(self) -> Side:
        return _padded(self.side)

    @cached_property
    def _by_task(self) -> dict[int, tuple[Side, slice]]:
        parts = {}
        for task in np.unique(self.side.task):
            rows = np.flatnonzero(self.side.task == task)
            if rows[-1] - rows[0] + 1 != rows.size:
                raise ValueError("Rows of a task with a kernel of its own must stand together: sort the rows by task.")
            window = slice(int(rows[0]), int(rows[-1]) + 1)
            parts[int(task)] = (_padded(Side(*(a[window] for a in self.side))), window)
        return parts


def bucket(n: int) -> int:
    """The padded length of n rows: few lengths, so few compilations, and little waste where it would cost."""
    for size in (32, 64, 128, SMALL):
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


@jax.jit
def _upper(term: SteinKernel, side: Side) -> Float[Array, "n n"]:
    size = side.points.shape[0]
    if size <= SMALL:
        return term.block(side, side)

    def fill(result: Array, pair: tuple[Array, Array]):
        i, j = pair
        block = term.block(_tile(side, i), _tile(side, j))
        return jax.lax.dynamic_update_slice(result, block, (i * TILE, j * TILE)), None

    return jax.lax.scan(fill, jnp.zeros((size, size)), _tile_pairs(size))[0]


@jax.jit
def _pullback(term: SteinKernel, side: Side, cotangent: Float[Array, "n n"]) -> SteinKernel:
    size = side.points.shape[0]
    tile = min(size, TILE) if size > SMALL else size
    on_diagonal = jnp.asarray(2 * np.triu(np.ones((tile, tile)), 1) + np.eye(tile))

    def pull(left: Side, right: Side, weights: Array) -> SteinKernel:
        return jax.vjp(lambda parameters: parameters.block(left, right), term)[1](weights)[0]

    if size <= SMALL:
        return pull(side, side, cotangent * on_diagonal)

    def add(total: SteinKernel, pair: tuple[Array, Array]):
        i, j = pair
        weights = jax.lax.dynamic_slice(cotangent, (i * TILE, j * TILE), (TILE, TILE))
        part = pull(_tile(side, i), _tile(side, j), weights * jnp.where(i == j, on_diagonal, 2.0))
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


def _is_own(term: SteinKernel) -> bool:
    return isinstance(term.kernel, Own)


def _scalar(term: SteinKernel) -> SteinKernel:
    """A task's own kernel as a scalar one: one compilation serves all tasks, and the leaves are the same."""
    if not _is_own(term):
        return term
    leaves, structure = jax.tree.flatten(term)
    return jax.tree.unflatten(_scalar_structure(structure), leaves)


@lru_cache(maxsize=256)
def _scalar_structure(structure):
    term = jax.tree.unflatten(structure, [np.zeros(())] * structure.num_leaves)
    return jax.tree.structure(term.with_kernel(term.kernel.kernel))
