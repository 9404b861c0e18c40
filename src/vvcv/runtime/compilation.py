"""Compilation with options that this JAX may or may not know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import jax

#: For programs of a few large products: trying out how each is best multiplied takes longer than it ever saves.
WITHOUT_TRIALS = {"xla_gpu_autotune_level": 0}


def compiled(function: Callable, options: Mapping[str, Any] = WITHOUT_TRIALS, **keywords: Any) -> Callable:
    """`jax.jit` with compiler options, or as usual where they are not known; keywords are those of `jax.jit`.

    >>> float(compiled(lambda x: 2 * x, {"no_such_option": 1})(1.0))
    2.0
    """
    with_options, usual = jax.jit(function, compiler_options=dict(options), **keywords), jax.jit(function, **keywords)

    @wraps(function)
    def call(*arguments):
        try:
            return with_options(*arguments)
        except jax.errors.JaxRuntimeError as error:
            if "compile option" not in str(error):
                raise
            return usual(*arguments)

    return call
