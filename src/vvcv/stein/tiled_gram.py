"""Gram matrices that stay on a device, in a few large tiles: nothing of N x N beside the matrix itself.

Only tiles on and below the diagonal are visited. `rows` is any tree of arrays with a row for each row of the matrix,
`block(parameters, left, right)` the entries between two parts of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..kernels import Own, Side
from .kernel import SteinKernel, SteinSum, with_kernel

Block = Callable[[Any, Any, Any], Array]

#: Rows of a tile: of kernels with a closed form, and of those that are differentiated pair by pair.
TILE, TILE_OF_PAIRS = 4096, 256


def tile_width(kernel: SteinKernel | SteinSum, size: int) -> int:
    """The largest tile that divides a matrix evenly and is not too large for the kernel."""
    closed = all(_scalar(term).has_stein(term.order) for term in kernel.terms)
    most = TILE if closed else TILE_OF_PAIRS
    if size <= most:
        return size
    return next(
        width for width in (TILE, TILE // 2, TILE // 4, TILE_OF_PAIRS, 128) if width <= most and size % width == 0
    )


def lower(block: Block, parameters: Any, rows: Any, width: int) -> Float[Array, "N N"]:
    """The matrix on and below its diagonal (traceable); what lies above is not meaningful."""
    size = len(jax.tree.leaves(rows)[0])
    if size == width:
        return block(parameters, rows, rows)

    def add(matrix: Array, pair: tuple[Array, Array]):
        tile = block(parameters, *(_tile(rows, index, width) for index in pair))
        return jax.lax.dynamic_update_slice(matrix, tile, (pair[0] * width, pair[1] * width)), None

    return jax.lax.scan(add, jnp.zeros((size, size)), _pairs(size // width))[0]


def pull(block: Block, parameters: Any, rows: Any, width: int, cotangent: Callable[[Array, Array], Array]) -> Any:
    """The gradient in the parameters (traceable), given the tiles of a symmetric cotangent, lower triangle read."""
    size = len(jax.tree.leaves(rows)[0])

    def gradient(i: Array, j: Array, left: Any, right: Any) -> Any:
        row, column = i * width + jnp.arange(width)[:, None], j * width + jnp.arange(width)[None, :]
        weights = jnp.where(row > column, 2 * cotangent(i, j), jnp.where(row == column, cotangent(i, j), 0.0))
        return jax.vjp(lambda chosen: block(chosen, left, right), parameters)[1](weights)[0]

    if size == width:
        return gradient(jnp.asarray(0), jnp.asarray(0), rows, rows)

    def add(total: Any, pair: tuple[Array, Array]):
        part = gradient(*pair, _tile(rows, pair[0], width), _tile(rows, pair[1], width))
        return jax.tree.map(jnp.add, total, part), None

    return jax.lax.scan(add, jax.tree.map(jnp.zeros_like, parameters), _pairs(size // width))[0]


def kernel_block(kernel: SteinKernel | SteinSum, left: Side, right: Side) -> Float[Array, "n m"]:
    """All terms of a kernel between two sides (traceable); of one task's own, only where both sides have rows of it."""
    shared = [term for term in kernel.terms if not isinstance(term.kernel, Own)]
    total = sum((term.block(left, right) for term in shared), jnp.zeros((len(left.task), len(right.task))))
    groups: dict[Any, list[SteinKernel]] = {}
    for term in kernel.terms:
        if isinstance(term.kernel, Own):
            groups.setdefault(_shape(term), []).append(term)
    for terms in groups.values():
        scalars = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(with_kernel(t, t.kernel.kernel) for t in terms))
        total = total + _of_their_own(scalars, jnp.asarray([term.kernel.task for term in terms]), left, right)
    return total


@jax.custom_vjp
def _of_their_own(scalars: SteinKernel, tasks: Array, left: Side, right: Side) -> Float[Array, "n m"]:
    """Terms of one form, one after the other in one loop: compiled once, however many tasks there are.

    Its gradient, in the parameters alone, is a loop of its own: JAX's would compute the terms again on the way there.
    """

    def add(total: Array, one: tuple[SteinKernel, Array]):
        scalar, task = one
        mine, present = _mine(task, left, right)
        return jax.lax.cond(present, lambda: jnp.where(mine, scalar.block(left, right), total), lambda: total), None

    return jax.lax.scan(add, jnp.zeros((len(left.task), len(right.task))), (scalars, tasks))[0]


def _pulled_to_their_own(given: tuple[SteinKernel, Array, Side, Side], cotangent: Float[Array, "n m"]) -> Any:
    scalars, tasks, left, right = given

    def one(_: None, term: tuple[SteinKernel, Array]):
        scalar, task = term
        mine, present = _mine(task, left, right)

        def pulled() -> SteinKernel:
            return jax.vjp(lambda chosen: chosen.block(left, right), scalar)[1](jnp.where(mine, cotangent, 0.0))[0]

        return None, jax.lax.cond(present, pulled, lambda: jax.tree.map(jnp.zeros_like, scalar))

    return jax.lax.scan(one, None, (scalars, tasks))[1], None, None, None


_of_their_own.defvjp(lambda *given: (_of_their_own(*given), given), _pulled_to_their_own)


def _mine(task: Array, left: Side, right: Side) -> tuple[Array, Array]:
    """Which entries are of this task on both sides, and whether there are any."""
    rows, columns = left.task == task, right.task == task
    return rows[:, None] & columns, rows.any() & columns.any()


def _shape(term: SteinKernel) -> Any:
    scalar = with_kernel(term, term.kernel.kernel)
    return jax.tree.structure(scalar), tuple(np.shape(leaf) for leaf in jax.tree.leaves(scalar))


def _scalar(term: SteinKernel) -> Any:
    return getattr(term.kernel, "kernel", term.kernel) if term.kernel.relates_tasks else term.kernel


def _tile(rows: Any, index: Array, width: int) -> Any:
    return jax.tree.map(lambda a: jax.lax.dynamic_slice_in_dim(a, index * width, width), rows)


def _pairs(count: int) -> tuple[Array, Array]:
    i, j = np.tril_indices(count)
    return jnp.asarray(i), jnp.asarray(j)
