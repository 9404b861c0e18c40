"""Compiled blocks of scalar Stein kernels and their pullbacks, a tile at a time, at a few padded sizes.

Tiles fit the processor's cache, so nothing larger than the N x N result is ever formed; of a symmetric matrix only the
tiles on and above the diagonal are visited, which is all a Cholesky factorisation reads.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..kernels import Coregionalization, Side
from ..runtime.compilation import compiled
from .kernel import SteinKernel, SteinSum

#: Rows of a tile of a compiled Gram matrix: a few arrays of its size stay in the processor's cache.
TILE = 128

#: Up to this size one tile is the whole matrix.
SMALL = 256

#: Bytes to which the addresses of arrays must be aligned for compiled code to read them in place.
ALIGNMENT = 64

#: Matrices up to TINY take microseconds however they are compiled: compile them fast.
TINY = 64
FAST_COMPILE = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}


def upper(scalar: SteinKernel, padded_side: Side) -> Float[np.ndarray, "pairs width width"]:
    """The tiles on and above the diagonal of a symmetric block, where `windows` says. Read-only.

    Half the memory of the square: none is set to zero, or asked of the operating system, that no one reads.
    """
    evaluate = _upper_tiny if len(padded_side.task) <= TINY else _upper_large
    return np.asarray(evaluate(scalar, padded_side))


def windows(size: int) -> list[tuple[slice, slice]]:
    """Rows and columns of each tile of a block of a padded size, in the order of `upper`."""
    width = _width(size)
    rows, columns = np.triu_indices(size // width)
    return [(slice(i, i + width), slice(j, j + width)) for i, j in zip(rows * width, columns * width, strict=True)]


def pull(scalar: SteinKernel, padded_side: Side, cotangent: Float[np.ndarray, "n n"]) -> list[np.ndarray]:
    """The gradient's leaves in the kernel's parameters, given a symmetric cotangent whose upper triangle is read."""
    n, size = len(cotangent), len(padded_side.task)
    if size != n:
        padded = aligned_zeros(size)
        padded[:n, :n] = cotangent
        cotangent = padded
    if size > SMALL:
        cotangent = jax.device_put(cotangent, may_alias=True)  # in place; small ones are quicker copied
    evaluate = _pullback_tiny if size <= TINY else _pullback_large
    return [np.asarray(leaf) for leaf in jax.tree.leaves(evaluate(scalar, padded_side, cotangent))]


def aligned_zeros(size: int) -> Float[np.ndarray, "size size"]:
    """A square of zeros at an address that compiled code can read in place: elsewhere it would be copied first."""
    memory = np.zeros(size * size + ALIGNMENT // 8)
    first = -memory.ctypes.data % ALIGNMENT // 8
    return memory[first : first + size * size].reshape(size, size)


def bucket(n: int) -> int:
    """The padded length of n rows: few lengths, so few compilations, and little waste where it would cost."""
    for size in (TINY, 128, SMALL):
        if n <= size:
            return size
    return -(-n // TILE) * TILE


@jax.jit
def rectangle(kernel: SteinKernel | SteinSum, left: Side, right: Side) -> Float[Array, "n m"]:
    """The block between two padded sides, all terms and tasks."""
    rows = left.points.shape[0]
    if rows <= SMALL:
        return kernel.block(left, right)
    strips = jax.tree.map(lambda a: a.reshape(rows // TILE, TILE, *a.shape[1:]), left)
    return jax.lax.map(lambda part: kernel.block(part, right), strips).reshape(rows, -1)


#: The function compiled with little optimisation.
compiled_fast = partial(compiled, options=FAST_COMPILE)


@compiled_fast
def matrix(coregionalization: Coregionalization) -> Float[Array, "T T"]:
    """B of any form."""
    return coregionalization.matrix()


@compiled_fast
def pull_matrix(coregionalization: Coregionalization, slope: Float[Array, "T T"]):
    """The gradient in the parameters of B, given dL/dB."""
    return jax.vjp(lambda b: b.matrix(), coregionalization)[1](slope)[0]


def _upper(term: SteinKernel, side: Side) -> Float[Array, "pairs width width"]:
    size = side.points.shape[0]
    if size <= SMALL:
        return term.block(side)[None]
    width = _width(size)
    return jax.lax.map(lambda pair: term.block(*_tiles(side, pair, width)), _tile_pairs(size // width, diagonal=True))


def _pullback(term: SteinKernel, side: Side, cotangent: Float[Array, "n n"]) -> SteinKernel:
    size = side.points.shape[0]
    width = _width(size)
    twice_above = jnp.asarray(2 * np.triu(np.ones((width, width)), 1) + np.eye(width))

    def pull(sides: tuple[Side, ...], weights: Array) -> SteinKernel:
        return jax.vjp(lambda parameters: parameters.block(*sides), term)[1](weights)[0]

    def fold(weights: Array) -> Array:
        return jnp.where(twice_above > 0, weights * twice_above, 0.0)  # what lies below may be anything, even nan

    if size <= SMALL:
        return pull((side,), fold(cotangent))

    def weights(i: Array, j: Array) -> Array:
        return jax.lax.dynamic_slice(cotangent, (i * width, j * width), (width, width))

    def add(total: SteinKernel, pair: tuple[Array, Array]):
        part = pull(_tiles(side, pair, width), 2.0 * weights(*pair))
        return jax.tree.map(jnp.add, total, part), None

    def add_diagonal(total: SteinKernel, i: Array):
        part = pull(_tiles(side, (i, i), width), fold(weights(i, i)))
        return jax.tree.map(jnp.add, total, part), None

    pairs = _tile_pairs(size // width, diagonal=False)
    total = jax.lax.scan(add, jax.tree.map(jnp.zeros_like, term), pairs)[0]
    return jax.lax.scan(add_diagonal, total, jnp.arange(size // width))[0]


@jax.jit
def diagonal(kernel: SteinKernel | SteinSum, side: Side) -> Float[Array, " n"]:
    """K_0(x_i, x_i)_(t_i t_i) of a padded side."""
    single = jax.tree.map(lambda a: a[:, None], side)
    return jax.vmap(lambda s: kernel.block(s)[0, 0])(single)


def _width(size: int) -> int:
    """The width of the tiles of a padded size: wide ones where they fit are fewer, larger products."""
    if size <= SMALL:
        return size
    return 2 * TILE if size % (2 * TILE) == 0 else TILE


def _tile(side: Side, index: Array, width: int) -> Side:
    return jax.tree.map(partial(jax.lax.dynamic_slice_in_dim, start_index=index * width, slice_size=width), side)


def _tiles(side: Side, pair: tuple[Array, Array], width: int) -> tuple[Side, Side]:
    return _tile(side, pair[0], width), _tile(side, pair[1], width)


def _tile_pairs(count: int, diagonal: bool) -> tuple[Array, Array]:
    """Indices of the tiles above the diagonal, or on and above it."""
    i, j = np.triu_indices(count, 0 if diagonal else 1)
    return jnp.asarray(i), jnp.asarray(j)


def padded(side: Side) -> Side:
    """Rows of zeros up to the next padded length."""
    n = len(side.task)
    extra = bucket(n) - n
    if extra == 0:
        return Side(*(np.ascontiguousarray(a) for a in side))
    return Side(*(np.concatenate([a, np.zeros((extra, *np.shape(a)[1:]), dtype=np.asarray(a).dtype)]) for a in side))


_upper_tiny, _upper_large = compiled_fast(_upper), jax.jit(_upper)
_pullback_tiny, _pullback_large = compiled_fast(_pullback), jax.jit(_pullback)
