"""Products over rows on what there is: LAPACK on one processor, or JAX over all devices, the rows shared among them."""

from __future__ import annotations

import sys
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Float
from scipy.linalg.blas import dsyrk, dtrmm

from ..runtime.device import device_for
from ..runtime.precision import float64


def gram_and_cross(
    raw: Float[np.ndarray, "n q"], inverse: Float[np.ndarray, "q q"], values: Float[np.ndarray, "n T"]
) -> tuple[Float[np.ndarray, "q q"], Float[np.ndarray, "q T"]]:
    """A' A and A' Y of A = raw inverse, where the inverse is upper triangular.

    >>> gram, cross = gram_and_cross(np.ones((3, 1)), 2 * np.eye(1), np.ones((3, 1)))
    >>> gram.tolist(), cross.tolist()
    ([[12.0]], [[6.0]])
    """
    if on_host():
        columns = times_triangle(raw, inverse)
        lower = dsyrk(1.0, columns, trans=1, lower=1)
        return np.tril(lower) + np.tril(lower, -1).T, columns.T @ values
    return _on_devices(raw, inverse, values)


def times_triangle(raw: Float[np.ndarray, "n q"], upper: Float[np.ndarray, "q q"]) -> Float[np.ndarray, "n q"]:
    """A product with an upper triangular matrix, at half the work of another one; column-major, as LAPACK has it."""
    return dtrmm(1.0, upper, raw, side=1)


def on_host() -> bool:
    """Whether there is nothing but one processor, or it was asked for: LAPACK is faster there than compiled code."""
    return device_for(sys.maxsize) is None and (jax.default_backend() != "cpu" or jax.local_device_count() == 1)


@float64
def _on_devices(raw: np.ndarray, inverse: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same with the rows shared among all devices; rows of zeros, which add nothing, fill the last share."""
    devices = jax.local_device_count()
    extra = -len(raw) % devices
    if extra:
        raw, values = (np.concatenate([a, np.zeros((extra, a.shape[1]))]) for a in (raw, values))
    by_rows, everywhere = _shardings()
    shared = [jax.device_put(a, by_rows) for a in (raw, values)]
    gram, cross = _products()(shared[0], jax.device_put(inverse, everywhere), shared[1])
    return np.asarray(gram), np.asarray(cross)


@cache
def _shardings() -> tuple[NamedSharding, NamedSharding]:
    mesh = Mesh(np.array(jax.local_devices()), ("rows",))
    return NamedSharding(mesh, PartitionSpec("rows")), NamedSharding(mesh, PartitionSpec())


@cache
def _products():
    everywhere = _shardings()[1]

    def products(raw, inverse, values):
        columns = raw @ inverse
        return jnp.matmul(columns.T, columns), jnp.matmul(columns.T, values)

    return jax.jit(products, out_shardings=(everywhere, everywhere))
