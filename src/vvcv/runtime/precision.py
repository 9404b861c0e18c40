"""Double precision inside the library, whatever the user's global settings of JAX and NumPy.

Stein Gram matrices have condition numbers far beyond what float32 can hold, so every public entry runs under
`jax.enable_x64(True)`, a context that leaves the user's configuration as it was. Kernels of far points vanish, which is
no error, though `np.seterr(all="raise")` would make it one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import jax
import numpy as np

P = ParamSpec("P")
R = TypeVar("R")


def float64(function: Callable[P, R]) -> Callable[P, R]:
    """Run `function` with JAX in float64 and NumPy silent about underflow; restore the caller's settings afterwards.

    >>> import jax.numpy as jnp
    >>> float64(lambda: str(jnp.zeros(1).dtype))()
    'float64'
    """

    @wraps(function)
    def in_double_precision(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.enable_x64(True), np.errstate(under="ignore"):
            return function(*args, **kwargs)

    return in_double_precision


def without_warnings() -> np.errstate:
    """NumPy silent: numbers beyond float64 make a factorisation fail, and a search steps back from it.

    >>> with without_warnings():
    ...     float(np.float64(1e300) * 1e300)
    inf
    """
    return np.errstate(all="ignore")
