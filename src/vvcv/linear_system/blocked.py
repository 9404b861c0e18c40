"""Linear algebra of one large positive definite matrix on a device, in its own memory: matrix products of blocks.

    W = L L',   X = L^-1 = [[X_1, 0], [-X_2 L_21 X_1, X_2]],   W^-1 = X'X

Every result takes the memory of what it was made from (given up by the caller), and blocks that are zero are left out,
so that factor, triangle and inverse cost about N^3 / 3 each. Rows must be a multiple of the block.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import dynamic_slice_in_dim, dynamic_update_slice_in_dim
from jaxtyping import Array, Float

from ..runtime.compilation import compiled

#: Rows of a block, large enough that products of blocks run at full speed.
BLOCK = 1024

#: Rows of the triangles that are solved directly, all at once.
LEAF = 128

#: Rows of the diagonal blocks that a library factorises: it needs a few more arrays of their size.
DIRECT = 10 * BLOCK

#: Parts into which a product with a triangle is cut, to leave out most of what is zero.
PARTS = 4


def padded_size(rows: int) -> int:
    """The least size of a matrix here that has room for so many rows: few sizes, so few compilations.

    >>> padded_size(1000), padded_size(2500)
    (1024, 3072)
    """
    step = LEAF if rows <= BLOCK else BLOCK
    return -(-rows // step) * step


def factorise(
    matrix: Float[Array, "N N"], block: int
) -> tuple[Float[Array, "N N"], Float[Array, "blocks block block"]]:
    """L of a matrix whose lower triangle is read, and the inverses of its diagonal blocks; NaN if there is none."""
    factor, corners = _with_corners(_factorised(matrix, 0, len(matrix), block), block)
    return factor, _corner_inverses(corners)


def solve_lower(
    factor: Float[Array, "N N"], diagonal: Float[Array, "blocks block block"], right: Float[Array, "N k"]
) -> Float[Array, "N k"]:
    """L^-1 b (traceable), block by block."""
    block = diagonal.shape[1]

    def step(i: Array, solved: Array) -> Array:
        rows = dynamic_slice_in_dim(factor, i * block, block)
        rest = dynamic_slice_in_dim(right, i * block, block) - rows @ solved
        return dynamic_update_slice_in_dim(solved, diagonal[i] @ rest, i * block, 0)

    return jax.lax.fori_loop(0, len(diagonal), step, jnp.zeros_like(right))


def solve_upper(
    factor: Float[Array, "N N"], diagonal: Float[Array, "blocks block block"], right: Float[Array, "N k"]
) -> Float[Array, "N k"]:
    """L^-T b (traceable), block by block from the last."""
    block, count = diagonal.shape[1], len(diagonal)

    def step(k: Array, solved: Array) -> Array:
        i = count - 1 - k
        columns = dynamic_slice_in_dim(factor, i * block, block, axis=1)
        rest = dynamic_slice_in_dim(right, i * block, block) - columns.T @ solved
        return dynamic_update_slice_in_dim(solved, diagonal[i].T @ rest, i * block, 0)

    return jax.lax.fori_loop(0, count, step, jnp.zeros_like(right))


def triangle_inverse(factor: Float[Array, "N N"], diagonal: Float[Array, "blocks block block"]) -> Float[Array, "N N"]:
    """X = L^-1."""
    return _joined(_with_diagonal(factor, diagonal), 0, len(factor), diagonal.shape[1])


@partial(compiled, static_argnums=1, donate_argnums=0)
def product_of_inverse(inverse: Float[Array, "N N"], block: int) -> Float[Array, "N N"]:
    """X'X on and below its diagonal; what lies above is not meaningful."""
    for start in range(0, len(inverse), block):
        stop = start + block
        # Later rows of blocks need none of the rows before them, so theirs can be taken.
        strip = inverse[start:, start:stop].T @ inverse[start:, :stop]
        inverse = inverse.at[start:stop, :stop].set(strip)
    return inverse


def _factorised(matrix: Float[Array, "N N"], first: int, last: int, block: int) -> Float[Array, "N N"]:
    """The factor from one row to another, in place; what lies above the diagonal is not meaningful.

    A program that calls a library may copy whatever it is given, so each is given only the part it needs.
    """
    size = last - first
    if size <= max(block, DIRECT):
        return _put(matrix, _cholesky(_part(matrix, first, first, size, size)), first, first)
    half = size // block // 2 * block
    middle = first + half
    matrix = _factorised(matrix, first, middle, block)
    below = _solved_below(_part(matrix, first, first, half, half), _part(matrix, middle, first, last - middle, half))
    matrix = _less_square(_put(matrix, below, middle, first), below, middle, block)
    return _factorised(matrix, middle, last, block)


@partial(compiled, static_argnums=(3, 4))
def _part(matrix: Array, row: int, column: int, rows: int, columns: int) -> Array:
    return jax.lax.dynamic_slice(matrix, (row, column), (rows, columns))


@partial(compiled, donate_argnums=0)
def _put(matrix: Array, part: Array, row: int, column: int) -> Array:
    return jax.lax.dynamic_update_slice(matrix, part, (row, column))


@compiled
def _cholesky(corner: Float[Array, "n n"]) -> Float[Array, "n n"]:
    return jax.lax.linalg.cholesky(corner, symmetrize_input=False)


@compiled
def _solved_below(factor: Float[Array, "n n"], below: Float[Array, "m n"]) -> Float[Array, "m n"]:
    """L_21 = W_21 L_11^-T."""
    return jax.lax.linalg.triangular_solve(factor, below, lower=True, transpose_a=True)


@partial(compiled, static_argnums=3, donate_argnums=0)
def _less_square(
    matrix: Float[Array, "N N"], below: Float[Array, "m n"], start: int, block: int
) -> Float[Array, "N N"]:
    """W_22 - L_21 L_21' on and below the diagonal, from one row on, in place."""
    for a, z in _cuts(len(below), block):
        corner = (start + a, start + a)
        part = jax.lax.dynamic_slice(matrix, corner, (len(below) - a, z - a))
        matrix = jax.lax.dynamic_update_slice(matrix, part - below[a:] @ below[a:z].T, corner)
    return matrix


@partial(compiled, static_argnums=1, donate_argnums=0)
def _with_corners(factor: Float[Array, "N N"], block: int) -> tuple[Array, Array]:
    """The factor with zeros above its diagonal, and its diagonal blocks."""
    factor = jnp.tril(factor)
    return factor, jnp.stack([factor[i : i + block, i : i + block] for i in range(0, len(factor), block)])


def _joined(inverse: Float[Array, "N N"], first: int, last: int, block: int) -> Float[Array, "N N"]:
    """The inverse of the triangle from one row to another, in place, its diagonal blocks being inverted."""
    if last - first <= block:
        return inverse
    half = (last - first) // block // 2 * block
    inverse = _joined(inverse, first, first + half, block)
    inverse = _joined(inverse, first + half, last, block)
    return _with_corner(inverse, first, half, last - first - half, block)


@partial(compiled, static_argnums=(2, 3, 4), donate_argnums=0)
def _with_corner(inverse: Float[Array, "N N"], first: int, n: int, m: int, block: int) -> Float[Array, "N N"]:
    """-X_2 L_21 X_1 in the place of L_21, from n rows and columns on, and m after them; one program for equal sizes."""
    middle = first + n
    corner = jax.lax.dynamic_slice(inverse, (middle, first), (m, n))
    before = jax.lax.dynamic_slice(inverse, (first, first), (n, n))
    product = jnp.concatenate([corner[:, a:] @ before[a:, a:z] for a, z in _cuts(n, block)], axis=1)
    for a, z in _cuts(m, block):
        after = jax.lax.dynamic_slice(inverse, (middle + a, middle), (z - a, z))
        inverse = jax.lax.dynamic_update_slice(inverse, -after @ product[:z], (middle + a, first))
    return inverse


@partial(compiled, donate_argnums=0)
def _with_diagonal(factor: Float[Array, "N N"], diagonal: Float[Array, "blocks block block"]) -> Float[Array, "N N"]:
    """The same with other diagonal blocks."""
    block = diagonal.shape[1]

    def put(i: Array, matrix: Array) -> Array:
        return jax.lax.dynamic_update_slice(matrix, diagonal[i], (i * block, i * block))

    return jax.lax.fori_loop(0, len(diagonal), put, factor)


def _cuts(length: int, block: int) -> Iterator[tuple[int, int]]:
    """First and last row of a few parts of about equal length, each of whole blocks."""
    edges = np.unique(np.linspace(0, length // block, PARTS + 1).astype(int)) * block
    return zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)


def _inverses(lower: Float[Array, "k n n"]) -> Float[Array, "k n n"]:
    """Inverses of triangles, all halves of all of them at once."""
    size = lower.shape[1]
    if size <= LEAF or size % 2:
        unit = jnp.broadcast_to(jnp.eye(size), lower.shape)
        return jax.lax.linalg.triangular_solve(lower, unit, left_side=True, lower=True)
    half = size // 2
    halves = jnp.concatenate([lower[:, :half, :half], lower[:, half:, half:]])
    first, second = jnp.split(_inverses(halves), 2)
    corner = -second @ (lower[:, half:, :half] @ first)
    above = jnp.concatenate([first, jnp.zeros_like(first)], axis=2)
    return jnp.concatenate([above, jnp.concatenate([corner, second], axis=2)], axis=1)


_corner_inverses = compiled(_inverses)
