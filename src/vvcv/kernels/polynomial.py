"""Polynomial kernel k(x, y) = (x'y + c)^l and its Stein kernels by matrix products (paper, C.3 and D.1)."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .base import Kernel, Side, positive


class Polynomial(Kernel):
    """k(x, y) = (x'y + c)^degree.

    >>> import numpy as np
    >>> round(float(Polynomial(degree=2, c=1.0)(np.ones(2), np.ones(2))), 3)
    9.0
    """

    log_c: Float[Array, ""]
    degree: int = eqx.field(static=True)

    def __init__(self, degree: int = 1, c: Any = 1.0) -> None:
        if int(degree) != degree or degree < 1:
            raise ValueError(f"The degree of a polynomial kernel must be a positive integer, but is {degree!r}.")
        self.degree = int(degree)
        self.log_c = positive(c, "The constant c of a polynomial kernel")

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        return (jnp.dot(x, y) + jnp.exp(self.log_c)) ** self.degree

    def has_stein(self, order: int) -> bool:
        return order in (1, 2)

    def stein(self, order: int, axes: Float[Array, " d"], left: Side, right: Side) -> Float[Array, "n m"]:
        form = self._first_order if order == 1 else self._second_order
        return form(axes, left, right)

    def _powers(self, x: Float[Array, "n d"], y: Float[Array, "m d"]) -> list[Float[Array, "n m"]]:
        """p[j] = j-th derivative of u^l at u = x'y + c."""
        u = x @ y.T + jnp.exp(self.log_c)
        powers, factor = [], 1.0
        for j in range(5):
            powers.append(factor * u ** (self.degree - j) if j <= self.degree else jnp.zeros_like(u))
            factor *= self.degree - j
        return powers

    def _first_order(self, axes: Float[Array, " d"], left: Side, right: Side) -> Float[Array, "n m"]:
        x, sx, y, sy = left.points, left.scores, right.points, right.scores
        p = self._powers(x, y)
        drift = jnp.sum(axes * x * sx, axis=1)[:, None] + jnp.sum(axes * y * sy, axis=1)[None, :]
        return p[2] * ((x * axes) @ y.T) + p[1] * (jnp.sum(axes) + drift) + p[0] * ((sx * axes) @ sy.T)

    def _second_order(self, axes: Float[Array, " d"], left: Side, right: Side) -> Float[Array, "n m"]:
        x, sx, y, sy = left.points, left.scores, right.points, right.scores
        p = self._powers(x, y)
        # L'_y k = p2 x'Mx + p1 (M s_y)'x; then L'_x of both, with M = diag(axes).
        xx, yy = jnp.sum(axes * x * x, axis=1)[:, None], jnp.sum(axes * y * y, axis=1)[None, :]
        xy = (x * axes**2) @ y.T
        x_sx, y_sy = jnp.sum(axes**2 * x * sx, axis=1)[:, None], jnp.sum(axes**2 * y * sy, axis=1)[None, :]
        sx_y, x_sy = (sx * axes) @ y.T, (x * axes) @ sy.T
        curved = p[4] * yy * xx + 4 * p[3] * xy + 2 * p[2] * jnp.sum(axes**2)
        curved_drift = p[3] * sx_y * xx + 2 * p[2] * x_sx
        sloped = p[3] * yy * x_sy + 2 * p[2] * y_sy
        sloped_drift = p[2] * sx_y * x_sy + p[1] * ((sx * axes**2) @ sy.T)
        return curved + curved_drift + sloped + sloped_drift
