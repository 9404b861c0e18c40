"""Stein kernels by automatic differentiation, for any kernel: Theorem 3.1 and Theorem C.1 as they stand.

One entry is (S_x S_y k)(x, y) for the operator S of each argument; the order of the operator says which S.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..kernels import Side

Pair = Callable[[Array, Array], Array]


def first_order(k: Pair, axes: Float[Array, " d"], x, sx, y, sy) -> Float[Array, ""]:
    """sum_r a_r (d/dx_r + sx_r)(d/dy_r + sy_r) k (Theorem 3.1; a = 1 in the paper)."""
    mixed = jax.jacfwd(jax.grad(k, argnums=1), argnums=0)(x, y)
    slope_x, slope_y = jax.grad(k, argnums=(0, 1))(x, y)
    return jnp.sum(axes * (jnp.diag(mixed) + sx * slope_y + sy * slope_x + sx * sy * k(x, y)))


def second_order(k: Pair, axes: Float[Array, " d"], x, sx, y, sy) -> Float[Array, ""]:
    """(Delta_x + sx . grad_x)(Delta_y + sy . grad_y) k with axes as weights (Theorem C.1)."""

    def generator(function, point, score):
        slope = jax.grad(function)
        curvature = jnp.diag(jax.jacfwd(slope)(point))
        return jnp.sum(axes * (curvature + score * slope(point)))

    return generator(lambda a: generator(lambda b: k(a, b), y, sy), x, sx)


ORDERS = {1: first_order, 2: second_order}


def check_order(order: int) -> None:
    """Refuse an operator that there is none of.

    >>> check_order(2)
    """
    if order not in ORDERS:
        raise ValueError(f"The Langevin operator has order 1 or 2, but order = {order!r}.")


def block(entry: Callable, order: int, axes: Float[Array, " d"], left: Side, right: Side) -> Float[Array, "n m"]:
    """All pairs of two sides; `entry(x, t, y, u)` is the base kernel between output t at x and output u at y."""
    operator = ORDERS[order]

    def pair(x, sx, t, y, sy, u):
        return operator(lambda a, b: entry(a, t, b, u), axes, x, sx, y, sy)

    rows = jax.vmap(pair, in_axes=(None, None, None, 0, 0, 0))
    return jax.vmap(rows, in_axes=(0, 0, 0, None, None, None))(*left, *right)
