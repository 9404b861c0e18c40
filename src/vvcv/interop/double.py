"""Double precision for functions that a sampler may already have compiled in single precision.

JAX keeps one converted copy of each NumPy array that a compiled function closes over, and finds it again in either
precision: data that a sampler has seen in float32 then refuse to combine with float64 parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import jax

from ..runtime.precision import float64

P = ParamSpec("P")
R = TypeVar("R")


def in_double(function: Callable[P, R]) -> Callable[P, R]:
    """Run `function` with JAX in float64, or in the sampler's own single precision where its data allow no other.

    >>> import jax.numpy as jnp, numpy as np
    >>> data = np.array([2.0, 4.0])
    >>> compiled = jax.jit(lambda z: jnp.sum(z / data))
    >>> _ = compiled(1.0)                                   # by the user's default: single precision
    >>> float(in_double(jax.jit(jax.grad(lambda z: jnp.sum(z / data))))(1.0))
    0.75
    """

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return float64(function)(*args, **kwargs)
        except (TypeError, ValueError, jax.errors.JaxRuntimeError):
            if jax.config.read("jax_enable_x64"):
                raise
            return function(*args, **kwargs)  # an error of the function's own is raised again

    return run
