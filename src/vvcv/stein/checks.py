"""Is what a user wrote a kernel? One number or T x T of them, K(x, y) = K(y, x)', derivatives, in double precision."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..data import require
from ..kernels import General, Kernel, MatrixKernel, Own, Side
from ..kernels.radial import Radial
from ..runtime.precision import float64
from ..runtime.tracing import differentiable
from .automatic import block
from .kernel import SteinKernel, SteinSum

#: Points whose pairs are looked at: an asymmetry or a derivative that is none shows on any.
POINTS = 5


@float64
@differentiable("A kernel")
def check_kernel(kernel: SteinKernel | SteinSum, side: Side, tasks: int) -> None:
    """Refuse kernels that are none for these rows; those with a closed form are known to be kernels.

    >>> from vvcv.kernels import Custom
    >>> x = np.eye(2)
    >>> smooth = Custom(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2)))
    >>> check_kernel(SteinKernel(smooth), Side(x, -x, np.zeros(2, int)), 1)
    """
    points = np.asarray(side.points)[:POINTS]
    for term in kernel.terms:
        _check_sizes(term.kernel, points.shape[1], tasks)
        if not term.kernel.has_stein(term.order):
            _check_precision(term.kernel, points[0])
            _check_symmetric(term.kernel, points, tasks)
        _check_derivatives(term, side)


@float64
@differentiable("A kernel")
def check_function(term: SteinKernel, side: Side) -> None:
    """Refuse what is no kernel of one task, of whatever precision its parameters are, which are tuned."""
    _check_sizes(term.kernel, np.shape(side.points)[1], 1)
    _check_derivatives(term, side)


def _check_sizes(kernel: Kernel | MatrixKernel, d: int, tasks: int) -> None:
    """Indexing past the end would not fail inside compiled code, only give wrong numbers."""
    for radial in jax.tree.leaves(kernel, is_leaf=_is_radial):
        shape = np.shape(radial.log_lengthscale) if _is_radial(radial) else ()
        require(
            shape in ((), (1,), (d,)),
            f"A kernel needs one lengthscale, or one for each of the {d} coordinates, but has shape {shape}.",
        )
    for part in kernel.summands if isinstance(kernel, MatrixKernel) else (kernel,):
        b: Any = part.task_form
        function: Any = part.function if isinstance(part, General) else part
        require(
            b is None or b.count == tasks,
            f"B must have one row per task, but has {b and b.count} for {tasks} tasks.",
        )
        require(
            not isinstance(part, Own) or part.task in range(tasks),
            f"Own needs one of the tasks, from 0 to {tasks - 1}, but has {getattr(part, 'task', None)}.",
        )
        if isinstance(part, Kernel | General):
            point = jax.ShapeDtypeStruct((d,), float)
            shape, wanted = np.shape(jax.eval_shape(function, point, point)), (tasks, tasks)
            require(
                shape == (wanted if isinstance(part, General) else ()),
                f"k(x, y) of two points must be one number, or K(x, y) in General a matrix {wanted} with a row per "
                f"task, but it has shape {shape}. Sum over coordinates, or write the missing rows.",
            )


def _check_symmetric(kernel: Kernel | MatrixKernel, points: Float[np.ndarray, "n d"], tasks: int) -> None:
    x, t = jnp.asarray(points), jnp.arange(tasks)
    along_u = jax.vmap(kernel.entry, (None, None, None, 0))
    along_y = jax.vmap(along_u, (None, None, 0, None))
    along_t = jax.vmap(along_y, (None, 0, None, None))
    values = np.asarray(jax.vmap(along_t, (0, None, None, None))(x, t, x, t))  # x, t, y, u
    difference = np.abs(values - np.transpose(values, (2, 3, 0, 1)))
    if not (difference <= 1e-8 * np.abs(values).max()).all():
        i, t_, j, u_ = np.unravel_index(np.argmax(difference), difference.shape)
        raise ValueError(
            f"A kernel must be symmetric, K(x, y)_tu = K(y, x)_ut, but between rows {i} and {j} and tasks {t_} and "
            f"{u_} it is {values[i, t_, j, u_]:g} one way and {values[j, u_, i, t_]:g} the other. Use "
            "(K(x, y) + K(y, x)') / 2, if that is positive semi-definite."
        )


def _check_derivatives(term: SteinKernel, side: Side) -> None:
    """Refuse a kernel without a closed form whose derivatives are no numbers, as those of a norm at x = y."""
    if term.kernel.has_stein(term.order):
        return
    few = Side(*(jnp.asarray(np.asarray(part)[:POINTS]) for part in side))
    values = np.asarray(block(term.kernel.entry, term.order, jnp.ones(few.points.shape[1]), few, few))
    if not np.isfinite(values).all():
        i, j = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(
            f"A kernel must be differentiable {term.order} times in each argument, also at x = y, but between rows {i} "
            f"and {j} its derivatives are {values[i, j]}. jnp.linalg.norm and jnp.sqrt have none at 0: use "
            "vvcv.kernels.Matern, or a function of jnp.sum((x - y) ** 2) that is smooth at 0."
        )


def _check_precision(kernel: Kernel | MatrixKernel, point: Float[np.ndarray, " d"]) -> None:
    traced = jax.make_jaxpr(kernel.entry)(point, jnp.asarray(0), point, jnp.asarray(0))
    single = [c for c in traced.consts if getattr(c, "dtype", None) == jnp.float32]
    if single:
        raise ValueError(
            f"Constants of a kernel must be in double precision, but one is float32, of shape {single[0].shape}: "
            "jnp.array rounds to seven digits outside the library. Write it as a NumPy array or a Python number."
        )


def _is_radial(node: Any) -> bool:
    return isinstance(node, Radial)
