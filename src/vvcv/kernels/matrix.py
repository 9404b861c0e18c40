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

from ..runtime.tracing import takes
from .base import Image, Kernel, traceable
from .coregionalization import Coregionalization


class MatrixKernel(eqx.Module):
    """A matrix-valued kernel, read entry by entry: output t at x against output u at y."""

    relates_tasks: ClassVar[bool] = True
    only_task: ClassVar[Any] = None
    task_form: ClassVar[Any] = None

    def entry(
        self, x: Float[Array, " d"], t: Int[Array, ""], y: Float[Array, " d"], u: Int[Array, ""]
    ) -> Float[Array, ""]:
        """K(x, y)_tu."""
        raise NotImplementedError

    def has_stein(self, order: int) -> bool:
        """Whether a closed form is known of the whole kernel; its terms may have one."""
        return False

    @property
    def scalar(self) -> Any:
        """The scalar kernel that the entries are multiples of, or the kernel itself where there is none."""
        return self

    def assembled(self, image: Image, left: Int[Array, " n"], right: Int[Array, " m"]) -> Float[Array, "n m"]:
        """The block between rows of given tasks, made of images of scalar kernels where that can be."""
        return image(self)

    @property
    def summands(self) -> tuple[MatrixKernel, ...]:
        """The terms of a sum, or the kernel itself as the only one."""
        return (self,)

    def __add__(self, other: MatrixKernel) -> MatrixSum:
        return MatrixSum((*self.summands, *other.summands))


class Separable(MatrixKernel):
    """K(x, y) = B k(x, y).

    >>> from vvcv.kernels import Fixed, SquaredExponential
    >>> kernel = Separable(Fixed([[1.0, 0.5], [0.5, 1.0]]), SquaredExponential())
    >>> round(float(kernel.entry(jnp.zeros(1), 0, jnp.zeros(1), 1)), 6)
    0.5
    """

    coregionalization: Coregionalization
    kernel: Kernel

    def entry(self, x, t, y, u):
        return self.coregionalization.matrix()[t, u] * self.kernel(x, y)

    @property
    def scalar(self) -> Kernel:
        return self.kernel

    @property
    def task_form(self) -> Coregionalization:  # type: ignore[override]
        return self.coregionalization

    def assembled(self, image, left, right):
        loadings = self.coregionalization.loadings()
        return (loadings[left] @ loadings[right].T) * image(self.kernel)


class Own(MatrixKernel):
    """K(x, y) = e_t e_t' k(x, y): a kernel that only task `task` has.

    >>> from vvcv.kernels import SquaredExponential
    >>> own = Own(SquaredExponential(), task=1)
    >>> [float(own.entry(jnp.zeros(1), t, jnp.zeros(1), 1)) for t in (0, 1)]
    [0.0, 1.0]
    """

    kernel: Kernel
    task: int = eqx.field(static=True)

    def entry(self, x, t, y, u):
        return jnp.where((t == self.task) & (u == self.task), self.kernel(x, y), 0.0)

    @property
    def scalar(self) -> Kernel:
        return self.kernel

    @property
    def only_task(self) -> int:  # type: ignore[override]
        return self.task

    def assembled(self, image, left, right):
        mine = (left == self.task)[:, None] & (right == self.task)[None, :]
        return jnp.where(mine, image(self.kernel), 0.0)


class General(MatrixKernel):
    """Any user-given K(x, y) -> (T, T), symmetric in the sense K(x, y) = K(y, x)'."""

    function: Callable[..., Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        takes(function, 2, "A kernel K(x, y)")
        self.function = traceable(function)

    def entry(self, x, t, y, u):
        return self.function(x, y)[t, u]


class MatrixSum(MatrixKernel):
    """A sum of matrix-valued kernels."""

    terms: tuple[MatrixKernel, ...]

    def entry(self, x, t, y, u):
        return sum(term.entry(x, t, y, u) for term in self.terms)

    @property
    def summands(self) -> tuple[MatrixKernel, ...]:
        return self.terms

    def assembled(self, image, left, right):
        return sum(term.assembled(image, left, right) for term in self.terms)
