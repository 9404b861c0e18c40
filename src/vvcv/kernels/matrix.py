"""Matrix-valued kernels K(x, y) in R^(T x T) (paper, section 3.2).

`Separable` is B k(x, y) (special case I), `Own` gives one task a scalar kernel of its own, `MatrixSum` adds such terms
(the linear model of coregionalisation), and `General` takes any function K(x, y), Theorem 3.1 in full.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .base import Kernel, traceable
from .coregionalization import Coregionalization


class MatrixKernel(eqx.Module):
    """A matrix-valued kernel, read entry by entry: output t at x against output u at y."""

    relates_tasks: ClassVar[bool] = True

    def entry(
        self, x: Float[Array, " d"], t: Int[Array, ""], y: Float[Array, " d"], u: Int[Array, ""]
    ) -> Float[Array, ""]:
        """K(x, y)_tu."""
        raise NotImplementedError

    def has_stein(self, order: int) -> bool:
        """Whether a closed form is known of the whole kernel; its terms may have one."""
        return False

    def __add__(self, other: MatrixKernel) -> MatrixSum:
        return MatrixSum((*_terms(self), *_terms(other)))


class Separable(MatrixKernel):
    """K(x, y) = B k(x, y)."""

    coregionalization: Coregionalization
    kernel: Kernel

    def entry(self, x, t, y, u):
        return self.coregionalization.matrix()[t, u] * self.kernel(x, y)


class Own(MatrixKernel):
    """K(x, y) = e_t e_t' k(x, y): a kernel that only task `task` has."""

    kernel: Kernel
    task: int = eqx.field(static=True)

    def entry(self, x, t, y, u):
        return jnp.where((t == self.task) & (u == self.task), self.kernel(x, y), 0.0)


class General(MatrixKernel):
    """Any user-given K(x, y) -> (T, T), symmetric in the sense K(x, y) = K(y, x)'."""

    function: Callable[..., Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = traceable(function)

    def entry(self, x, t, y, u):
        return self.function(x, y)[t, u]


class MatrixSum(MatrixKernel):
    """A sum of matrix-valued kernels."""

    terms: tuple[MatrixKernel, ...]

    def entry(self, x, t, y, u):
        return sum(term.entry(x, t, y, u) for term in self.terms)


def _terms(kernel: MatrixKernel) -> tuple[MatrixKernel, ...]:
    return kernel.terms if isinstance(kernel, MatrixSum) else (kernel,)
