"""Kernels weighted by a function of each argument, k(x, y) = w(x) w(y) k_1(x, y) (paper, D.1).

The first-order Stein kernel of such a kernel is that of k_1 with scores s + grad log w, times the weights: the
preconditioned squared exponential of Oates et al. (2017) needs no formula of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .base import Kernel, Side, positive, traceable
from .radial import SquaredExponential


class Weighted(Kernel):
    """k(x, y) = w(x) w(y) k_1(x, y) for a positive JAX function w."""

    kernel: Kernel
    weight: Callable[..., Any]

    def __init__(self, kernel: Kernel, weight: Callable[..., Any]) -> None:
        self.kernel = kernel
        self.weight = traceable(weight)

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        return self.weight(x) * self.weight(y) * self.kernel(x, y)

    def has_stein(self, order: int) -> bool:
        return order == 1 and self.kernel.has_stein(1)

    def stein(self, order: int, axes: Float[Array, " d"], left: Side, right: Side) -> Float[Array, "n m"]:
        (wl, left), (wr, right) = self._tilt(left), self._tilt(right)
        return wl[:, None] * wr[None, :] * self.kernel.stein(1, axes, left, right)

    def _tilt(self, side: Side) -> tuple[Float[Array, " n"], Side]:
        value, slope = jax.vmap(jax.value_and_grad(lambda x: jnp.log(self.weight(x))))(side.points)
        return jnp.exp(value), side._replace(scores=side.scores + slope)


class PreconditionedSquaredExponential(Weighted):
    """k(x, y) = exp(-|x - y|^2 / (2 l^2)) / ((1 + alpha |x|^2)(1 + alpha |y|^2)) (paper, D.1)."""

    def __init__(self, lengthscale: Any = 1.0, alpha: Any = 0.1) -> None:
        super().__init__(SquaredExponential(lengthscale), _Damping(positive(alpha, "The preconditioner alpha")))


class _Damping(eqx.Module):
    """w(x) = 1 / (1 + alpha |x|^2), a module so that alpha is a hyperparameter like any other."""

    log_alpha: Float[Array, ""]

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        return 1.0 / (1.0 + jnp.exp(self.log_alpha) * jnp.dot(x, x))
