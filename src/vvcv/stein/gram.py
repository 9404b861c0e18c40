"""Gram matrices of Stein kernels and their pullbacks, a strip of rows at a time.

A strip of rows fits the processor's cache, so neither the Gram matrix nor its derivative ever forms more than the
N x N result. Sizes are padded to a few lengths and results cut back, so that equal and nearly equal shapes share one
compilation. The pullback maps a cotangent dL/dK to dL/d(parameters).
"""

from __future__ import annotations

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..kernels import Own, Side
from ..precision import float64
from .kernel import SteinKernel, SteinSum, stein_terms

AnyStein = TypeVar("AnyStein", SteinKernel, SteinSum)


@float64
def gram(kernel: SteinKernel | SteinSum, left: Side, right: Side | None = None) -> Float[np.ndarray, "n m"]:
    """The matrix K_0(x_i, x_j)_(t_i t_j), writable and in row-major order.

    >>> from vvcv.kernels import SquaredExponential
    >>> x = np.linspace(-1, 1, 4)[:, None]
    >>> gram(SteinKernel(SquaredExponential()), Side(x, -x, np.zeros(4, int))).shape
    (4, 4)
    """
    right = left if right is None else right
    first, *rest = sorted(stein_terms(kernel), key=_is_own)
    result = np.zeros((len(left.task), len(right.task))) if _is_own(first) else np.array(_whole(first, left, right))
    for term in rest if not _is_own(first) else [first, *rest]:
        if _is_own(term):
            rows, columns = _rows_of(term, left), _rows_of(term, right)
            if rows.size and columns.size:
                block = _whole(_scalar(term), _take(left, rows), _take(right, columns))
                result[_window(rows, columns)] += block
        else:
            result += _whole(term, left, right)
    return result


@float64
def pullback(kernel: AnyStein, side: Side, cotangent: Float[np.ndarray, "N N"]) -> AnyStein:
    """dL/d(parameters of the kernel), given dL/dK over the Gram matrix of one side with itself."""
    gradients = []
    for term in stein_terms(kernel):
        if _is_own(term):
            rows = _rows_of(term, side)
            inner = _pull(_scalar(term), _take(side, rows), cotangent[_window(rows, rows)])
            gradients.append(eqx.tree_at(lambda s: (s.kernel.kernel, s.log_axes), term, (inner.kernel, inner.log_axes),
                                         is_leaf=lambda x: x is None))
        else:
            gradients.append(_pull(term, side, cotangent))
    return SteinSum(tuple(gradients)) if isinstance(kernel, SteinSum) else gradients[0]


@float64
def diagonal(kernel: SteinKernel | SteinSum, side: Side) -> Float[np.ndarray, " n"]:
    """The diagonal K_0(x_i, x_i)_(t_i t_i)."""
    return np.asarray(_diagonal(kernel, _padded(side, bucket(len(side.task)))))[: len(side.task)]


def bucket(n: int) -> int:
    """The padded length of n rows: few lengths, so few compilations, and little waste where it would cost."""
    for size in (32, 64, 128, 256):
        if n <= size:
            return size
    return -(-n // 128) * 128


def _strip(rows: int, columns: int) -> int:
    """Rows per strip: a divisor of the padded length with about 10^5 entries, the size of a second-level cache."""
    if rows <= 256:
        return rows
    return 128 if columns <= 1024 else 64


def _whole(term: SteinKernel, left: Side, right: Side) -> Float[np.ndarray, "n m"]:
    n, m = len(left.task), len(right.task)
    rows, columns = bucket(n), bucket(m)
    return np.asarray(_gram(term, _padded(left, rows), _padded(right, columns)))[:n, :m]


def _pull(term: SteinKernel, side: Side, cotangent: Float[np.ndarray, "n n"]) -> SteinKernel:
    n = len(side.task)
    size = bucket(n)
    if size != n:
        cotangent = np.pad(cotangent, (0, size - n))
    return jax.tree.map(np.asarray, _pullback(term, _padded(side, size), cotangent))


@eqx.filter_jit
def _gram(term: SteinKernel, left: Side, right: Side) -> Float[Array, "n m"]:
    rows, columns = left.points.shape[0], right.points.shape[0]
    strip = _strip(rows, columns)
    if strip == rows:
        return term.block(left, right)
    strips = jax.tree.map(lambda a: a.reshape(rows // strip, strip, *a.shape[1:]), left)
    return jax.lax.map(lambda part: term.block(part, right), strips).reshape(rows, columns)


@eqx.filter_jit
def _pullback(term: SteinKernel, side: Side, cotangent: Float[Array, "n n"]) -> SteinKernel:
    rows = side.points.shape[0]
    strip = _strip(rows, rows)
    parameters, static = eqx.partition(term, eqx.is_inexact_array)

    def pull(part: Side, weights: Array):
        return jax.vjp(lambda p: eqx.combine(p, static).block(part, side), parameters)[1](weights)[0]

    if strip == rows:
        return pull(side, cotangent)
    strips = jax.tree.map(lambda a: a.reshape(rows // strip, strip, *a.shape[1:]), (side, cotangent))
    zero = jax.tree.map(jnp.zeros_like, parameters)
    total, _ = jax.lax.scan(lambda sum_, part: (jax.tree.map(jnp.add, sum_, pull(*part)), None), zero, strips)
    return total


@eqx.filter_jit
def _diagonal(kernel: SteinKernel | SteinSum, side: Side) -> Float[Array, " n"]:
    single = jax.tree.map(lambda a: a[:, None], side)
    return jax.vmap(lambda s: kernel.block(s, s)[0, 0])(single)


def _padded(side: Side, size: int) -> Side:
    n = len(side.task)
    if n == size:
        return side
    pad = ((0, size - n), (0, 0))
    return Side(np.pad(side.points, pad), np.pad(side.scores, pad), np.pad(side.task, pad[0]))


def _is_own(term: SteinKernel) -> bool:
    return isinstance(term.kernel, Own)


def _scalar(term: SteinKernel) -> SteinKernel:
    """The scalar kernel of a task of its own: one compilation serves all tasks."""
    return eqx.tree_at(lambda s: s.kernel, term, term.kernel.kernel)


def _rows_of(term: SteinKernel, side: Side) -> np.ndarray:
    return np.flatnonzero(np.asarray(side.task) == term.kernel.task)


def _take(side: Side, rows: np.ndarray) -> Side:
    return Side(*(np.asarray(a)[rows] for a in side))


def _window(rows: np.ndarray, columns: np.ndarray):
    """A view where rows are contiguous (the long form keeps tasks together), an index grid elsewhere."""
    if rows[-1] - rows[0] + 1 == rows.size and columns[-1] - columns[0] + 1 == columns.size:
        return slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
    return np.ix_(rows, columns)
