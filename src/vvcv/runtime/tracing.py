"""Functions that JAX is to differentiate, written by people who may not have thought of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jax


@contextmanager
def differentiable(what: str) -> Iterator[None]:
    """Turn what JAX says of a function that it cannot follow into one sentence.

    >>> import numpy as np
    >>> with differentiable("logdensity"):  # doctest: +ELLIPSIS
    ...     jax.grad(lambda x: np.sum(np.asarray(x)))(1.0)
    Traceback (most recent call last):
    ...
    ValueError: logdensity must be a function that JAX can differentiate: ...
    """
    try:
        yield
    except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError):
        raise ValueError(
            f"{what} must be a function that JAX can differentiate: use jax.numpy and jax.scipy, not numpy, scipy, "
            "math, float() or `if`."
        ) from None
