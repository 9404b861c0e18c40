"""Gram matrices of radial kernels in plain NumPy, strip by strip of rows: nothing to compile, little to call.

A strip reaches from its diagonal to the right: of a symmetric matrix only what lies on and above the diagonal is
formed. What happens within a strip, forward and back, is in `host_strips`; here strips become a sum of kernels, each of
all tasks alike, of one task alone, or times an entry of B for every pair of tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jaxtyping import Bool, Float

from ..kernels import Coregionalization, Matern, Side, SquaredExponential
from ..runtime.precision import float64
from . import compiled_gram
from .host_pairs import Rows, on_diagonal
from .host_strips import Exponential, Rough
from .kernel import SteinKernel, SteinSum

#: Rows up to which compiling takes longer than it saves.
MOST_ROWS = 2048

#: How the strips of each family are formed (a subclass may be another kernel), and the rows up to which what they were
#: formed of is kept for the gradient: two arrays of half the matrix's size for the first, eight for the second.
FORMS: dict[type, tuple[Any, int]] = {SquaredExponential: (Exponential, 2048), Matern: (Rough, 512)}

#: Rows of a triangle that is cleared at a time.
TRIANGLE = 128

Leaves = Sequence[np.ndarray]
Pull = Callable[[np.ndarray], list[np.ndarray]]


def serves(kernel: SteinKernel | SteinSum, rows: int) -> bool:
    """Whether a Stein kernel on so many rows is evaluated here."""
    return rows <= MOST_ROWS and all(t.order == 1 and type(t.kernel.scalar) in FORMS for t in kernel.terms)


class HostMatrix:
    """The Gram matrix of one kernel's form for any of its parameters, in memory that is used again every time.

    >>> x = np.linspace(-1, 1, 4)[:, None]
    >>> kernel = SteinKernel(SquaredExponential())
    >>> HostMatrix(kernel, Side(x, -x, np.zeros(4, int)), {0: slice(0, 4)}).at(jax.tree.leaves(kernel)).shape
    (4, 4)
    """

    def __init__(
        self,
        kernel: SteinKernel | SteinSum,
        side: Side,
        tasks: Mapping[int, slice],
        rows: Callable[[slice], Rows] | None = None,
        gradient: bool = True,
    ) -> None:
        n = len(side.task)
        rows = rows or (lambda window: Rows(Side(*(a[window] for a in side))))
        self._matrix, self._terms, self._leaves = np.zeros((n, n)), [], []
        first = 0
        for term in kernel.terms:
            only = term.kernel.only_task
            window = slice(0, n) if only is None else tasks.get(only, slice(0, 0))
            self._terms.append(_Term(term, rows(window), window, tasks, gradient))
            self._leaves.append(slice(first, first := first + len(jax.tree.leaves(term))))

    def at(self, leaves: Leaves) -> Float[np.ndarray, "N N"]:
        """The matrix on and above its diagonal (row-major, writable) until this is called again."""
        whole = self._terms[0].covers(self._matrix)
        if not whole:
            self._matrix[:] = 0.0
        for k, (term, own) in enumerate(zip(self._terms, self._leaves, strict=True)):
            term.write(self._matrix, leaves[own], add=k > 0 or not whole)
        return self._matrix

    def pull(self, weights: Float[np.ndarray, "N N"]) -> list[np.ndarray]:
        """The gradient's leaves at the parameters last given, of a sum of weights times entries (`twice_above`)."""
        return [leaf for term in self._terms for leaf in term.pull(weights)]


class _Term:
    """A scalar kernel on some of the rows, perhaps times B."""

    def __init__(
        self, term: SteinKernel, rows: Rows, window: slice, tasks: Mapping[int, slice], gradient: bool
    ) -> None:
        form, most_kept = FORMS[type(term.kernel.scalar)]
        n, d = rows.points.shape
        self._ones = np.ones(d)
        self._rows, self._window, self._kept = rows, window, gradient and n <= most_kept
        self._formed = form(term.kernel.scalar, rows, self._kept)
        b = term.kernel.task_form
        self._shared = None if b is None else _Shared(b, rows, tasks)

    def covers(self, matrix: Float[np.ndarray, "N N"]) -> bool:
        """Whether the kernel is one of all rows."""
        return self._window == slice(0, len(matrix))

    def write(self, matrix: Float[np.ndarray, "N N"], leaves: Leaves, add: bool) -> None:
        """Put the matrix of the kernel with these parameters into one of all rows, or add it."""
        if self._shared is not None:
            leaves = self._shared.at(leaves)
        self._of_leaves = leaves
        log_lengthscale, *log_axes = leaves
        axes = np.exp(log_axes[0]) * self._ones if log_axes else self._ones
        self._formed.at(axes, np.exp(-2 * log_lengthscale) * self._ones)
        target = matrix[self._window, self._window]
        for k, (start, stop) in enumerate(self._rows.strips):
            block = self._formed.form(k)
            if self._shared is not None:
                block = self._shared.times(k, block)
            if add:
                target[start:stop, start:] += block
            else:
                target[start:stop, start:] = block

    def pull(self, weights: Float[np.ndarray, "N N"]) -> list[np.ndarray]:
        """The gradient's leaves."""
        formed, shared, own = self._formed, self._shared, weights[self._window, self._window]
        for k, (start, stop) in enumerate(self._rows.strips):
            strip = own[start:stop, start:]
            block = None if self._kept else formed.form(k)
            if shared is not None:
                shared.add(k, strip, formed.block(k) if block is None else block)
                strip = shared.times(k, strip)
            formed.pull(k, strip)
        by_lam, by_axes = formed.gradient()
        gradient = [_like(self._of_leaves[0], -2 * formed.lam * by_lam)]
        if len(self._of_leaves) > 1:
            gradient.append(_like(self._of_leaves[1], formed.axes * by_axes))
        return gradient if shared is None else [*shared.gradient(), *gradient]


class _Shared:
    """B between the tasks of the rows, which a scalar kernel is multiplied by."""

    def __init__(self, b: Coregionalization, rows: Rows, tasks: Mapping[int, slice]) -> None:
        self._structure, self._count = jax.tree.structure(b), len(jax.tree.leaves(b))
        self._present, self._sizes = list(tasks), [rows.stop - rows.start for rows in tasks.values()]
        self._task = np.repeat(np.arange(len(tasks)), self._sizes)
        starts = np.array([rows.start for rows in tasks.values()])
        # Of each strip, the tasks of its rows and of its columns, and where they begin.
        self._of_rows, self._of_columns = [], []
        for start, stop in rows.strips:
            edges = np.concatenate([[0], np.flatnonzero(np.diff(self._task[start:stop])) + 1])
            self._of_rows.append((self._task[start + edges], edges))
            later = starts[self._task[start] + 1 :] - start
            self._of_columns.append((start, np.concatenate([[0], later])))
        self._product = rows.arrays(1, False)

    def at(self, leaves: Leaves) -> Leaves:
        """Take B's parameters; the others are left."""
        form = jax.tree.unflatten(self._structure, leaves[: self._count])
        self._b, self._pull = task_matrix_and_pull(form)
        between = self._b[np.ix_(self._present, self._present)]
        self._expanded, self._sums = np.repeat(between, self._sizes, axis=1), np.zeros(between.shape)
        return leaves[self._count :]

    def times(self, k: int, strip: Float[np.ndarray, "m k"]) -> Float[np.ndarray, "m k"]:
        """A strip, each entry times that of B."""
        (product,), (start, _), (tasks, edges) = self._product[k], self._of_columns[k], self._of_rows[k]
        for task, first, last in zip(tasks, edges, [*edges[1:], len(strip)], strict=True):
            np.multiply(strip[first:last], self._expanded[task, start:], out=product[first:last])
        return product

    def add(self, k: int, weights: Float[np.ndarray, "m k"], block: Float[np.ndarray, "m k"]) -> None:
        """Add up weights times the scalar kernel for every pair of tasks."""
        (tasks, rows), (_, columns) = self._of_rows[k], self._of_columns[k]
        product = np.multiply(weights, block, out=self._product[k][0])
        sums = np.add.reduceat(np.add.reduceat(product, columns, axis=1), rows, axis=0)
        first, last = tasks[0], tasks[-1] + 1
        self._sums[first:last, first:] += sums

    def gradient(self) -> list[np.ndarray]:
        """The gradient's leaves in B's parameters."""
        slope = np.zeros_like(self._b)
        # Between two tasks a pair above stands for B_tu and for B_ut; within one it stands for two of B_tt.
        slope[np.ix_(self._present, self._present)] = 0.5 * (self._sums + self._sums.T)
        self._sums[:] = 0.0
        return self._pull(slope)


def twice_above(cotangent: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """A symmetric matrix, known on and above its diagonal, in its place for sums of products: those above are two.

    >>> twice_above(np.array([[1.0, 2.0], [7.0, 3.0]]))
    array([[1., 4.],
           [0., 3.]])
    """
    diagonal = cotangent.diagonal().copy()
    cotangent *= 2
    for start in range(0, len(cotangent), TRIANGLE):
        rows = cotangent[start : start + TRIANGLE]
        rows[:, :start] = 0.0
        square = rows[:, start : start + TRIANGLE]
        np.copyto(square, 0.0, where=_below(len(square)))  # whatever was there, even nan
    on_diagonal(cotangent)[:] = diagonal
    return cotangent


def once_above(weights: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """The same back again, in its place, zero below.

    >>> once_above(twice_above(np.array([[1.0, 2.0], [7.0, 3.0]])))
    array([[1., 2.],
           [0., 3.]])
    """
    weights *= 0.5
    on_diagonal(weights)[:] *= 2.0
    return weights


@lru_cache(maxsize=2)
def _triangle(rows: int) -> Bool[np.ndarray, "n n"]:
    return np.tri(rows, k=-1, dtype=bool)


def _below(rows: int) -> Bool[np.ndarray, "n n"]:
    return _triangle(TRIANGLE)[:rows, :rows]


@float64
def task_matrix_and_pull(form: Coregionalization) -> tuple[Float[np.ndarray, "T T"], Pull]:
    """B, and the map from dL/dB to the gradient's leaves, by automatic differentiation where need be."""
    on_host = type(form).on_host(form)  # a method bound to a module takes 50 us to make
    if on_host is not None:
        return on_host

    @float64
    def pull(slope: np.ndarray) -> list[np.ndarray]:
        return [np.asarray(leaf) for leaf in jax.tree.leaves(compiled_gram.pull_matrix(form, slope))]

    return np.asarray(compiled_gram.matrix(form)), pull


def _like(parameter: Any, gradient: Float[np.ndarray, " d"]) -> np.ndarray:
    """The gradient in a parameter that stands for all dimensions, or for each."""
    return np.reshape(gradient if np.size(parameter) == gradient.size else gradient.sum(), np.shape(parameter))
