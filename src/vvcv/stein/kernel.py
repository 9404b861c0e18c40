"""Matrix-valued Stein kernels K_0 (paper, Theorems 3.1 and C.1): an operator applied to a matrix-valued kernel.

    (K_0(x, y))_tt' = sum_r a_r (d/dx_r + l_tr(x)) (d/dy_r + l_t'r(y)) K(x, y)_tt'          order 1
    (K_0(x, y))_tt' = L'_t,x L'_t',y K(x, y)_tt',  L'_t u = sum_r a_r (d_rr u + l_tr d_r u)  order 2

The paper has a_r = 1. Letting the restricted likelihood choose the weights a_r of the axes says how much each
coordinate of the Stein class contributes: a coordinate that the integrand ignores then costs nothing.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..kernels import Kernel, MatrixKernel, MatrixSum, Own, Radial, Separable, Side
from ..kernels.base import positive
from . import automatic


class SteinKernel(eqx.Module):
    """The image of one kernel under the Langevin operator of order 1 or 2, with a weight for each axis.

    A scalar kernel is the same for every task (B = 1 1'). Stein kernels add.

    >>> from vvcv.kernels import SquaredExponential
    >>> SteinKernel(SquaredExponential(), order=1).order
    1
    """

    kernel: Any  # Kernel | MatrixKernel
    log_axes: Float[Array, " d"] | None
    order: int = eqx.field(static=True)

    def __init__(self, kernel: Kernel | MatrixKernel, order: int = 1, axes: Any = None) -> None:
        if order not in (1, 2):
            raise ValueError(f"The Langevin operator has order 1 or 2, but order = {order!r}.")
        if not isinstance(kernel, Kernel | MatrixKernel):
            raise ValueError(f"A Stein kernel is made from a kernel, but got a {type(kernel).__name__}.")
        rough = [part for part in jax.tree.leaves(kernel, is_leaf=_is_radial) if _is_radial(part)]
        if any(part.smoothness < 2 * order for part in rough):
            raise ValueError(
                f"The Langevin operator of order {order} needs kernels with {order} continuous derivatives in each "
                "argument, but a Matern kernel here has fewer. Use a smoother family or order 1."
            )
        self.kernel = kernel
        self.order = order
        self.log_axes = None if axes is None else positive(np.atleast_1d(axes), "Weights of the axes")

    def block(self, left: Side, right: Side) -> Float[Array, "n m"]:
        """The Stein kernel between all rows of `left` and all rows of `right` (traceable)."""
        d = left.points.shape[1]
        axes = jnp.ones(d) if self.log_axes is None else jnp.broadcast_to(jnp.exp(self.log_axes), (d,))
        return _block(self.kernel, self.order, axes, left, right)

    def __add__(self, other: SteinKernel | SteinSum) -> SteinSum:
        return SteinSum((*stein_terms(self), *stein_terms(other)))


class SteinSum(eqx.Module):
    """A sum of Stein kernels, such as shared + own: K_0 = B k_0 + diag(k_t)."""

    terms: tuple[SteinKernel, ...]

    def block(self, left: Side, right: Side) -> Float[Array, "n m"]:
        """The sum of the blocks of all terms."""
        return reduce(jnp.add, [term.block(left, right) for term in self.terms])

    __add__ = SteinKernel.__add__


def with_kernel(term: SteinKernel, kernel: Kernel | MatrixKernel) -> SteinKernel:
    """The same operator on another kernel."""
    changed = object.__new__(SteinKernel)
    for name, value in (("kernel", kernel), ("log_axes", term.log_axes), ("order", term.order)):
        object.__setattr__(changed, name, value)  # as tree_at would, a hundred times faster
    return changed


def _is_radial(node: Any) -> bool:
    return isinstance(node, Radial)


def stein_terms(kernel: SteinKernel | SteinSum) -> tuple[SteinKernel, ...]:
    """The terms of a sum, or the kernel itself as the only one."""
    return kernel.terms if isinstance(kernel, SteinSum) else (kernel,)


def _block(kernel: Kernel | MatrixKernel, order: int, axes: Float[Array, " d"], left: Side, right: Side):
    if isinstance(kernel, Kernel):
        if kernel.has_stein(order):
            return kernel.stein(order, axes, left, right)
        return automatic.block(lambda x, t, y, u: kernel(x, y), order, axes, left, right)
    if isinstance(kernel, Separable):
        loadings = kernel.coregionalization.loadings()
        expanded = loadings[left.task] @ loadings[right.task].T
        return expanded * _block(kernel.kernel, order, axes, left, right)
    if isinstance(kernel, Own):
        mine = (left.task == kernel.task)[:, None] & (right.task == kernel.task)[None, :]
        return jnp.where(mine, _block(kernel.kernel, order, axes, left, right), 0.0)
    if isinstance(kernel, MatrixSum):
        return sum(_block(term, order, axes, left, right) for term in kernel.terms)
    return automatic.block(kernel.entry, order, axes, left, right)
