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

from ..kernels import Kernel, MatrixKernel, Radial, Side
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
        automatic.check_order(order)
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

    def block(self, left: Side, right: Side | None = None) -> Float[Array, "n m"]:
        """The Stein kernel between all rows of `left` and all of `right`, or of `left` with itself (traceable)."""
        d = left.points.shape[1]
        axes = jnp.ones(d) if self.log_axes is None else jnp.broadcast_to(jnp.exp(self.log_axes), (d,))

        def image(kernel: Any) -> Float[Array, "n m"]:
            if not kernel.has_stein(self.order):
                return automatic.block(kernel.entry, self.order, axes, left, left if right is None else right)
            if right is None:
                return kernel.stein_with_itself(self.order, axes, left)
            return kernel.stein(self.order, axes, left, right)

        return self.kernel.assembled(image, left.task, (left if right is None else right).task)

    @property
    def terms(self) -> tuple[SteinKernel, ...]:
        """The kernel itself as the only term of a sum."""
        return (self,)

    def __add__(self, other: SteinKernel | SteinSum) -> SteinSum:
        return SteinSum((*self.terms, *other.terms))


class SteinSum(eqx.Module):
    """A sum of Stein kernels, such as shared + own: K_0 = B k_0 + diag(k_t)."""

    terms: tuple[SteinKernel, ...]

    def block(self, left: Side, right: Side | None = None) -> Float[Array, "n m"]:
        """The sum of the blocks of all terms."""
        return reduce(jnp.add, [term.block(left, right) for term in self.terms])

    __add__ = SteinKernel.__add__


def axis_shares(kernel: SteinKernel | SteinSum, d: int) -> Float[np.ndarray, " d"]:
    """How much each axis counts: the weights a_r of every term as shares of their sum, on average over the terms.

    >>> from vvcv.kernels import SquaredExponential
    >>> axis_shares(SteinKernel(SquaredExponential(), axes=[3.0, 1.0]) + SteinKernel(SquaredExponential()), 2)
    array([0.625, 0.375])
    """
    logs = [np.zeros(d) + (0.0 if term.log_axes is None else term.log_axes) for term in kernel.terms]
    weights = [np.exp(each - np.max(each)) for each in logs]
    return np.mean([each / each.sum() for each in weights], axis=0)


def with_kernel(term: SteinKernel, kernel: Kernel | MatrixKernel) -> SteinKernel:
    """The same operator on another kernel."""
    changed = object.__new__(SteinKernel)
    for name, value in (("kernel", kernel), ("log_axes", term.log_axes), ("order", term.order)):
        object.__setattr__(changed, name, value)  # as tree_at would, a hundred times faster
    return changed


def _is_radial(node: Any) -> bool:
    return isinstance(node, Radial)
