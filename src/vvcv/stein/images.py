"""Stein images of any differentiable function, by automatic differentiation (paper, eqs. 2 and 11).

    L[u]  = div u + u . s              for fields u: R^d -> R^d       (order 1)
    L'[u] = Laplacian u + grad u . s   for functions u: R^d -> R      (order 2)

Both have mean zero under the density whose score is s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..runtime.precision import float64
from ..runtime.tracing import differentiable
from .automatic import check_order

#: Points differentiated together: enough to fill the processor, few enough to keep derivatives in its cache.
STRIP = 256


def stein_image(
    function: Callable[..., Any], order: int, x: Float[Array, " d"], score: Float[Array, " d"]
) -> Float[Array, " ..."]:
    """The image at one point (traceable): outputs (..., d) become (...) for order 1, (...) stay (...) for order 2.

    >>> float(stein_image(lambda x: jnp.sum(x**2), 2, jnp.ones(3), jnp.ones(3)))
    12.0
    """
    axes = jnp.eye(x.shape[0], dtype=x.dtype)

    def along(axis: Array):
        return lambda point: jax.jvp(function, (point,), (axis,))

    if order == 1:
        value = function(x)
        slopes = jax.vmap(lambda axis: jnp.sum(along(axis)(x)[1] * axis, axis=-1))(axes)
        return jnp.sum(slopes, axis=0) + value @ score

    def curvature_and_slope(axis: Array):
        slope, curvature = jax.jvp(lambda point: along(axis)(point)[1], (x,), (axis,))
        return curvature + slope * jnp.dot(axis, score)

    return jnp.sum(jax.vmap(curvature_and_slope)(axes), axis=0)


@float64
def stein_images(
    function: Callable[..., Any], points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"], order: int = 2
) -> Float[np.ndarray, "n q"]:
    """Stein images of all components of `function` at all points, a strip of points at a time."""
    check_order(order)
    x, s = jnp.asarray(points, dtype=float), jnp.asarray(scores, dtype=float)
    _check_output(function, x[0], order)
    return np.asarray(_images(function, order, x, s))


@eqx.filter_jit
def _images(function: Callable[..., Any], order: int, points: Float[Array, "n d"], scores: Float[Array, "n d"]):
    def image(pair: tuple[Array, Array]) -> Float[Array, " q"]:
        return jnp.ravel(stein_image(function, order, *pair))

    return jax.lax.map(image, (points, scores), batch_size=min(STRIP, len(points)))


def _check_output(function: Callable[..., Any], x: Float[Array, " d"], order: int) -> None:
    with differentiable("A basis"):
        shape = jax.eval_shape(function, x).shape
    if order == 1 and (not shape or shape[-1] != x.shape[0]):
        raise ValueError(
            f"Order 1 takes fields, functions of a point with last axis d = {x.shape[0]}, but this one returns shape "
            f"{shape}. Return (q, d), or use order 2 for functions that return (q,)."
        )
