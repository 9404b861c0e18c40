"""Functions that JAX is to differentiate, written by people who may not have thought of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import jax
import jax.numpy as jnp


def takes(function: Callable[..., Any], arguments: Literal[1, 2], what: str) -> None:
    """Refuse what is no function of so many arguments, before JAX says so in its own words.

    >>> takes(lambda x: x, 2, "A kernel k(x, y)")
    Traceback (most recent call last):
    ...
    ValueError: A kernel k(x, y) must be a function of two arguments, but <lambda>(x) is not.
    """
    rule = f"{what} must be a function of {'one argument' if arguments == 1 else 'two arguments'}, but"
    given = getattr(function, "__name__", type(function).__name__)
    try:
        signature = inspect.signature(function)
    except ValueError:  # some that are written in C do not say
        return
    except TypeError:
        raise ValueError(f"{rule} {function!r} is none.") from None
    try:
        signature.bind(*range(arguments))
    except TypeError:
        raise ValueError(f"{rule} {given}{signature} is not.") from None


def as_array(value: Any) -> jax.Array:
    """What a user's function gave, as an array; of what is none, such as text or nothing, an array of False.

    >>> as_array(2.0).dtype.kind, as_array("2").dtype.kind
    ('f', 'b')
    """
    try:
        return jnp.asarray(value)
    except (TypeError, ValueError):
        return jnp.asarray(False)


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
