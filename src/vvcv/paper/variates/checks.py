"""Is what a user wrote a kernel? K(x, y) = K(y, x)' on a few points, in double precision."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ...kernels import Kernel, MatrixKernel
from ...runtime.precision import float64

#: Points whose pairs are looked at: an asymmetry shows on any.
POINTS = 5


@float64
def check_symmetric(kernel: Kernel | MatrixKernel, points: Float[np.ndarray, "n d"], tasks: int) -> None:
    """Refuse a kernel with K(x, y)_tu different from K(y, x)_ut, or with constants in single precision.

    >>> from vvcv.kernels import Custom
    >>> check_symmetric(Custom(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2))), np.eye(2), 1)
    """
    _check_precision(kernel, points[0])
    x, t = jnp.asarray(points[:POINTS]), jnp.arange(tasks)
    along_u = jax.vmap(kernel.entry, (None, None, None, 0))
    along_y = jax.vmap(along_u, (None, None, 0, None))
    along_t = jax.vmap(along_y, (None, 0, None, None))
    values = np.asarray(jax.vmap(along_t, (0, None, None, None))(x, t, x, t))  # x, t, y, u
    difference = np.abs(values - np.transpose(values, (2, 3, 0, 1)))
    if not (difference <= 1e-8 * np.abs(values).max()).all():
        i, t_, j, u_ = np.unravel_index(np.argmax(difference), difference.shape)
        raise ValueError(
            f"A kernel must be symmetric, K(x, y)_tu = K(y, x)_ut, but between rows {i} and {j} and tasks {t_} and "
            f"{u_} it is {values[i, t_, j, u_]:g} one way and {values[j, u_, i, t_]:g} the other. Use "
            "(K(x, y) + K(y, x)') / 2, if that is positive semi-definite."
        )


def _check_precision(kernel: Kernel | MatrixKernel, point: Float[np.ndarray, " d"]) -> None:
    traced = jax.make_jaxpr(kernel.entry)(point, jnp.asarray(0), point, jnp.asarray(0))
    single = [c for c in traced.consts if getattr(c, "dtype", None) == jnp.float32]
    if single:
        raise ValueError(
            f"Constants of a kernel must be in double precision, but one is float32, of shape {single[0].shape}: "
            "jnp.array rounds to seven digits outside the library. Write it as a NumPy array or a Python number."
        )
