"""Double precision for functions that a sampler may already have compiled in single precision, and will again.

JAX keeps one converted copy of each NumPy array that a compiled function closes over, as long as any compiled function
has it, and finds it again in either precision: data seen in one then refuse to combine with parameters in the other.
What is compiled is therefore forgotten when the precision changes and compiled anew when it is next called.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import jax

from ..runtime.caller import warn_caller
from ..runtime.precision import float64

P = ParamSpec("P")
R = TypeVar("R")

SINGLE = (
    "Scores should be computed in double precision, but the function's data are held in single precision by something "
    "traced before, such as a jaxpr or a jax.vjp that is still there: gradients have three to six digits. Delete it, "
    "or set jax.config.update('jax_enable_x64', True) first."
)


def in_double(function: Callable[P, R]) -> Callable[P, R]:
    """Run `function` with JAX in float64, whatever its data were compiled in, and leave no trace of it.

    Where the user still holds what was traced in single precision, that is all there is, and a warning says so.

    >>> import jax.numpy as jnp, numpy as np
    >>> data = np.array([2.0, 4.0])
    >>> density = jax.jit(lambda z: jnp.sum(z / data))
    >>> before = density(1.0)                               # by the user's default: single precision
    >>> float(in_double(jax.jit(jax.grad(density)))(1.0)), bool(density(1.0) == before)
    (0.75, True)
    """

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if jax.config.read("jax_enable_x64"):
            return function(*args, **kwargs)
        jax.clear_caches()
        try:
            return float64(function)(*args, **kwargs)
        except (TypeError, ValueError, jax.errors.JaxRuntimeError):
            found = function(*args, **kwargs)  # an error of the function's own is raised again
            warn_caller(SINGLE, UserWarning)
            return found
        finally:
            jax.clear_caches()

    return run
