"""Compilation with options that this JAX may or may not know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import Any

import jax

#: For programs of a few large products: trying out how each is best multiplied takes longer than it ever saves, and
#: without trials a product must be the library's own: Triton's untried ones of float64 took five times as long. (On a
#: CPU, which such programs are only tested on, nothing need be fused.)
WITHOUT_TRIALS = {
    "xla_gpu_autotune_level": 0,
    "xla_gpu_enable_triton_gemm": False,
    "xla_cpu_use_fusion_emitters": False,
}


def compiled(function: Callable, options: Mapping[str, Any] = WITHOUT_TRIALS, **keywords: Any) -> Callable:
    """`jax.jit` with those of some compiler options that are known here; keywords are those of `jax.jit`.

    Inside another program it is a part of that one, as JAX has no options for parts.

    >>> float(compiled(lambda x: 2 * x, {"no_such_option": 1})(1.0))
    2.0
    """

    @cache
    def program() -> Callable:  # made when first called: what is known can only be asked of a running JAX
        known = {name: value for name, value in options.items() if _is_known(name, value)}
        return jax.jit(function, compiler_options=known, **keywords)

    @wraps(function)
    def call(*arguments):
        inside = any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(arguments))
        return (function if inside else program())(*arguments)

    return call


@cache
def _is_known(option: str, value: Any) -> bool:
    try:
        jax.jit(lambda: 0.0, compiler_options={option: value})()
    except jax.errors.JaxRuntimeError as error:
        if "compile option" not in str(error):
            raise
        return False
    return True
