"""Stein kernels of radial kernels by matrix products: no array has more than two axes.

With delta = x - y, Lam = diag(1 / l^2), M = diag(axes), s = delta' Lam delta and k = phi(s), the first-order operator
(Theorem 3.1, weighted by M) gives

    k0 = -2 phi' tr(M Lam) - 4 phi'' delta' M Lam^2 delta + 2 phi' delta' M Lam (s_y - s_x) + phi s_x' M s_y,

and the second-order operator (Theorem C.1) the expression in `second_order`. M = I is the paper's kernel.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float

Profile = Callable[[int, Array], Array]

#: Squared distances below this many rounding errors of the squared norms are coincident points.
COINCIDENT = 16 * 2.3e-16


def first_order(phi: Profile, lam: Float[Array, " d"], axes: Float[Array, " d"], left, right) -> Float[Array, "n m"]:
    """Block of the first-order Stein kernel of phi."""
    s, coincident = _scaled_square(lam, left.points, right.points)
    q2 = _square_at(axes * lam**2, left.points, right.points, coincident)
    pull = _cross(axes * lam, left, right)
    inner = (left.scores * axes) @ right.scores.T
    return phi(0, s) * inner + 2 * phi(1, s) * (pull - jnp.sum(axes * lam)) - 4 * phi(2, s) * q2


def exponential_first_order(
    phi: Profile, lam: Float[Array, " d"], axes: Float[Array, " d"], left, right
) -> Float[Array, "n m"]:
    """The same for phi(s) = exp(-s / 2), whose derivatives are multiples of itself: two products instead of five.

        k0 = exp(-s / 2) h,   h = tr(M Lam) - delta' M Lam^2 delta - delta' M Lam (s_y - s_x) + s_x' M s_y

    Where points coincide h keeps a rounding error of x' Lam x float64 epsilons instead of none.
    """
    x, sx, y, sy = left.points, left.scores, right.points, right.scores
    first, second = axes * lam, axes * lam**2
    rows = jnp.sum(x * (first * sx - second * x), axis=1) + jnp.sum(first)
    columns = jnp.sum(y * (first * sy - second * y), axis=1)
    joined = jnp.concatenate([axes * sx - first * x, 2 * second * x - first * sx], axis=1)
    h = joined @ jnp.concatenate([sy, y], axis=1).T + rows[:, None] + columns[None, :]
    scaled = x * lam
    s = jnp.sum(scaled * x, axis=1)[:, None] + jnp.sum(y * y * lam, axis=1)[None, :] - 2 * scaled @ y.T
    return phi(0, s) * h


def second_order(phi: Profile, lam: Float[Array, " d"], axes: Float[Array, " d"], left, right) -> Float[Array, "n m"]:
    """Block of the second-order Stein kernel of phi: (Delta_x + s_x . grad_x)(Delta_y + s_y . grad_y) phi."""
    x, sx, y, sy = left.points, left.scores, right.points, right.scores
    trace1, trace2 = jnp.sum(axes * lam), jnp.sum((axes * lam) ** 2)
    s, coincident = _scaled_square(lam, x, y)
    q2 = _square_at(axes * lam**2, x, y, coincident)
    q3 = _square_at(axes**2 * lam**3, x, y, coincident)
    a, b = _along(axes * lam, x, y, sy.T), _along_left(axes * lam, x, y, sx)
    e, f = _along((axes * lam) ** 2, x, y, sy.T), _along_left((axes * lam) ** 2, x, y, sx)
    h = (sx * axes**2 * lam) @ sy.T
    from_trace = 4 * trace1**2 * phi(2, s) + 8 * trace1 * phi(3, s) * q2
    from_square = 8 * trace1 * phi(3, s) * q2 + 16 * phi(4, s) * q2**2 + 32 * phi(3, s) * q3 + 8 * trace2 * phi(2, s)
    from_right = -(4 * phi(2, s) * trace1 + 8 * phi(3, s) * q2) * a - 8 * phi(2, s) * e
    from_left = 4 * trace1 * phi(2, s) * b + 8 * phi(3, s) * q2 * b + 8 * phi(2, s) * f
    return from_trace + from_square + from_right + from_left - 4 * phi(2, s) * a * b - 2 * phi(1, s) * h


def _scaled_square(lam, x, y):
    """delta' Lam delta, exactly zero for coincident points (the expansion would leave rounding noise)."""
    scaled = x * lam
    nx, ny = jnp.sum(scaled * x, axis=1), jnp.sum(y * y * lam, axis=1)
    norms = nx[:, None] + ny[None, :]
    s = norms - 2 * scaled @ y.T
    coincident = s <= COINCIDENT * norms
    return jnp.where(coincident, 0.0, s), coincident


def _square_at(weights, x, y, coincident):
    scaled = x * weights
    q = jnp.sum(scaled * x, axis=1)[:, None] + jnp.sum(y * y * weights, axis=1)[None, :] - 2 * scaled @ y.T
    return jnp.where(coincident, 0.0, q)


def _cross(weights, left, right):
    """delta' diag(weights) (s_y - s_x); weights stay on the left so that their derivative is one product per term."""
    x, sx, y, sy = left.points, left.scores, right.points, right.scores
    rows, columns = jnp.sum(x * sx * weights, axis=1), jnp.sum(y * sy * weights, axis=1)
    mixed = jnp.concatenate([x * weights, sx * weights], axis=1) @ jnp.concatenate([sy, y], axis=1).T
    return mixed - rows[:, None] - columns[None, :]


def _along(weights, x, y, right_scores_transposed):
    """delta' diag(weights) s_y."""
    return (x * weights) @ right_scores_transposed - jnp.sum(y.T * weights[:, None] * right_scores_transposed, axis=0)


def _along_left(weights, x, y, left_scores):
    """delta' diag(weights) s_x."""
    return jnp.sum(x * weights * left_scores, axis=1)[:, None] - (left_scores * weights) @ y.T
