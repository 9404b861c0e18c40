"""Gram matrices of matrix-valued Stein kernels and their pullbacks.

A matrix-valued kernel is assembled from scalar ones, block by block of tasks: B_tt' times the scalar kernel, or one
task's block alone. So only scalar kernels are compiled (`compiled_gram`), nearly equal shapes share one compilation,
and small matrices of the usual kernels need none (`host_gram`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from ..kernels import Coregionalization, Side
from ..runtime.once import cached_property
from ..runtime.precision import float64, without_warnings
from . import compiled_gram, host_gram
from .host_gram import HostMatrix, once_above, twice_above
from .host_pairs import Rows
from .kernel import SteinKernel, SteinSum, with_kernel

Pull = Callable[[np.ndarray], list[np.ndarray]]


def gram(kernel: SteinKernel | SteinSum, left: Side, right: Side | None = None) -> Float[np.ndarray, "n m"]:
    """The matrix K_0(x_i, x_j)_(t_i t_j) between two sides, or of one side with itself (Theorem 3.1).

    >>> from vvcv.kernels import SquaredExponential
    >>> x = np.linspace(-1, 1, 4)[:, None]
    >>> gram(SteinKernel(SquaredExponential()), Side(x, -x, np.zeros(4, int))).shape
    (4, 4)
    """
    if right is not None:
        return _between(kernel, left, right)
    order = np.argsort(left.task, kind="stable")
    upper = Gram(Side(*(np.asarray(a)[order] for a in left))).upper(kernel)
    upper = np.triu(upper) + np.triu(upper, 1).T
    back = np.argsort(order, kind="stable")
    return upper[np.ix_(back, back)]


def pullback(kernel, side: Side, cotangent: Float[np.ndarray, "N N"]):
    """dL/d(parameters), in the shape of the kernel, given a symmetric dL/dK over the Gram matrix of one side."""
    order = np.argsort(side.task, kind="stable")
    _, pull = Gram(Side(*(np.asarray(a)[order] for a in side))).with_pullback(kernel)
    return pull(np.asarray(cotangent, dtype=float)[np.ix_(order, order)])


@float64
def diagonal(kernel: SteinKernel | SteinSum, side: Side) -> Float[np.ndarray, " n"]:
    """The diagonal K_0(x_i, x_i)_(t_i t_i)."""
    return np.asarray(compiled_gram.diagonal(kernel, compiled_gram.padded(side)))[: len(side.task)]


def task_matrix(coregionalization: Coregionalization) -> Float[np.ndarray, "T T"]:
    """B of any form as an array on the host.

    >>> from vvcv.kernels import Diagonal
    >>> task_matrix(Diagonal([4.0, 9.0]))
    array([[4., 0.],
           [0., 9.]])
    """
    return host_gram.task_matrix_and_pull(coregionalization)[0]


class Gram:
    """The Gram matrix of one side with itself, rows sorted by task, for any kernel: padding is done once."""

    def __init__(self, side: Side) -> None:
        self.side = Side(*(np.asarray(a) for a in side))
        self.size = len(self.side.task)
        if (np.diff(self.side.task) < 0).any():
            raise ValueError("Rows of a Gram matrix must be sorted by task.")

    def upper(self, kernel: SteinKernel | SteinSum) -> Float[np.ndarray, "N N"]:
        """The matrix on and above its diagonal (row-major, writable); what lies below is not meaningful."""
        with without_warnings():
            return self.form(kernel, gradient=False).at(jax.tree.leaves(kernel))

    def diagonal(self, kernel: SteinKernel | SteinSum) -> Float[np.ndarray, " N"]:
        """The diagonal alone: of a small matrix by forming it, where that is quicker than compiling."""
        if self.size <= host_gram.MOST_ROWS:
            return np.diagonal(self.upper(kernel))
        check_tasks(kernel, self.side)
        return diagonal(kernel, self.side)

    def with_pullback(self, kernel):
        """The upper matrix and the map from a symmetric cotangent (upper triangle read) to the kernel's gradient."""
        form, (leaves, structure) = self.form(kernel), jax.tree.flatten(kernel)

        @without_warnings()
        def pull(cotangent: Float[np.ndarray, "N N"]):
            return jax.tree.unflatten(structure, form.pull(twice_above(np.array(cotangent, order="C"))))

        with without_warnings():
            return form.at(leaves), pull

    def form(self, kernel: SteinKernel | SteinSum, gradient: bool = True) -> HostMatrix | CompiledMatrix:
        """The matrix for any parameters of this kernel, and its gradient."""
        check_tasks(kernel, self.side)
        if host_gram.serves(kernel, self.size):
            return HostMatrix(kernel, self.side, self.tasks, partial(self.rows, form=Rows), gradient)
        return CompiledMatrix(kernel, self)

    @cached_property
    def tasks(self) -> dict[int, slice]:
        """The rows of each task that has any."""
        tasks, starts, counts = np.unique(self.side.task, return_index=True, return_counts=True)
        return {int(t): slice(int(i), int(i + n)) for t, i, n in zip(tasks, starts, counts, strict=True)}

    @cached_property
    def _parts(self) -> dict[tuple, Any]:
        return {}

    def rows(self, window: slice, form: Callable[[Side], Any]) -> Any:
        """Some of the rows as a way to evaluate kernels wants them, made once."""
        key = (window.start, window.stop, form)
        if key not in self._parts:
            self._parts[key] = form(Side(*(a[window] for a in self.side)))
        return self._parts[key]


class CompiledMatrix:
    """The Gram matrix of one kernel's form for any of its parameters, by compiled code."""

    def __init__(self, kernel: SteinKernel | SteinSum, gram: Gram) -> None:
        self._structure, self._gram, self.size, self._tasks = jax.tree.structure(kernel), gram, gram.size, gram.tasks

    @float64
    def at(self, leaves: Sequence[np.ndarray]) -> Float[np.ndarray, "N N"]:
        """The matrix on and above its diagonal (row-major, writable)."""
        result: Any = None
        self._pulls: list[Pull] = []
        for term in jax.tree.unflatten(self._structure, leaves).terms:
            add = self._add_scalar if term.kernel.task_form is None else self._add_separable
            result, pull = add(result, term)
            self._pulls.append(pull)
        return result

    @float64
    def pull(self, weights: Float[np.ndarray, "N N"]) -> list[np.ndarray]:
        """The gradient's leaves at the parameters last given, of a sum of weights times entries, which are used up."""
        cotangent = once_above(weights)
        return [leaf for pull in self._pulls for leaf in pull(cotangent)]

    def _add_scalar(self, result: np.ndarray | None, term: SteinKernel) -> tuple[np.ndarray, Pull]:
        """Add a kernel that is the same for every task, or one task's own, which only its rows have."""
        scalar, only = with_kernel(term, term.kernel.scalar), term.kernel.only_task
        window = slice(0, self.size) if only is None else self._tasks.get(only, slice(0, 0))
        rows = window.stop - window.start
        block, pull_scalar = self._scalar_block(scalar, window)
        if result is None and block.shape == (1, self.size, self.size) and block.flags.writeable:
            return block[0], pull_scalar  # the first, and of all rows: nothing to add it to
        result = compiled_gram.aligned_zeros(self.size) if result is None else result
        _add_tiles(result[window, window], block, _pieces({0: slice(0, rows)}, _windows(block, rows)))
        return result, lambda cotangent: pull_scalar(cotangent[window, window])

    def _add_separable(self, result: np.ndarray | None, term: SteinKernel) -> tuple[np.ndarray, Pull]:
        """Add B_tt' k_0, piece by piece."""
        block, pull_scalar = self._scalar_block(with_kernel(term, term.kernel.scalar), slice(0, self.size))
        b, pull_b = host_gram.task_matrix_and_pull(term.kernel.task_form)
        result = compiled_gram.aligned_zeros(self.size) if result is None else result
        pieces = _pieces(self._tasks, _windows(block, self.size))
        _add_tiles(result, block, pieces, b)

        def pull(cotangent: np.ndarray) -> list[np.ndarray]:
            weighted = compiled_gram.aligned_zeros(compiled_gram.bucket(self.size))
            for piece in pieces:
                np.multiply(cotangent[piece.outside], b[piece.tasks], out=weighted[piece.outside])
            return [*pull_b(_task_sums(cotangent, block, pieces, b)), *pull_scalar(weighted)]

        return result, pull

    def _scalar_block(self, scalar: SteinKernel, window: slice) -> tuple[np.ndarray, Pull]:
        """Tiles of a scalar kernel on some of the rows, and the map from a cotangent to its gradient's leaves."""
        part = self._gram.rows(window, compiled_gram.padded)
        return compiled_gram.upper(scalar, part), lambda cotangent: compiled_gram.pull(scalar, part, cotangent)


@float64
def _between(kernel: SteinKernel | SteinSum, left: Side, right: Side) -> Float[np.ndarray, "n m"]:
    check_tasks(kernel, left)
    check_tasks(kernel, right)
    n, m = len(left.task), len(right.task)
    if host_gram.serves(kernel, n + m):
        return np.sum([_between_on_host(term, left, right) for term in kernel.terms], axis=0)
    return np.array(compiled_gram.rectangle(kernel, compiled_gram.padded(left), compiled_gram.padded(right)))[:n, :m]


@without_warnings()
def _between_on_host(term: SteinKernel, left: Side, right: Side) -> Float[np.ndarray, "n m"]:
    """The corner of the matrix of both sides together."""
    n, scalar = len(left.task), with_kernel(term, term.kernel.scalar)
    both = Side(*(np.concatenate([np.asarray(a), np.asarray(b)]) for a, b in zip(left, right, strict=True)))
    block = HostMatrix(scalar, both, {}, gradient=False).at(jax.tree.leaves(scalar))[:n, n:]
    form, only = term.kernel.task_form, term.kernel.only_task
    if form is not None:
        block = block * task_matrix(form)[np.ix_(left.task, right.task)]
    return block if only is None else block * np.outer(left.task == only, right.task == only)


def check_tasks(kernel: SteinKernel | SteinSum, side: Side) -> None:
    """Indexing past the end of B would not fail inside compiled code, only give wrong numbers."""
    last = int(np.max(side.task, initial=0))
    for b in (term.kernel.task_form for term in kernel.terms):
        if b is not None and last >= b.count:
            raise ValueError(
                f"B must have a row for every task, but a row of the data belongs to task {last} and B has "
                f"{b.count} tasks (counted from 0)."
            )


class _Piece(NamedTuple):
    """The part of a tile that belongs to one pair of tasks, and where it lies in the whole matrix."""

    tile: int
    inside: tuple[slice, slice]
    outside: tuple[slice, slice]
    tasks: tuple[int, int]

    @property
    def on_diagonal(self) -> bool:
        """Whether only what lies above its diagonal counts."""
        return self.outside[0] == self.outside[1]


def _windows(block: np.ndarray, rows: int) -> list[tuple[slice, slice]]:
    """Where the tiles of a block lie: one is the whole, several are those of a padded size."""
    return [(slice(0, rows),) * 2] if len(block) == 1 else compiled_gram.windows(compiled_gram.bucket(rows))


def _pieces(tasks: dict[int, slice], windows: list[tuple[slice, slice]]) -> list[_Piece]:
    """All pieces on and above the diagonal, rows sorted by task."""
    pieces = []
    for tile, (rows, columns) in enumerate(windows):
        for t, mine in _overlaps(tasks, rows):
            for u, theirs in _overlaps(tasks, columns):
                if mine.start <= theirs.start:
                    inside = _shifted(mine, rows.start), _shifted(theirs, columns.start)
                    pieces.append(_Piece(tile, inside, (mine, theirs), (t, u)))
    return pieces


def _overlaps(tasks: dict[int, slice], rows: slice) -> list[tuple[int, slice]]:
    common = [(t, slice(max(own.start, rows.start), min(own.stop, rows.stop))) for t, own in tasks.items()]
    return [(t, part) for t, part in common if part.start < part.stop]


def _shifted(rows: slice, start: int) -> slice:
    return slice(rows.start - start, rows.stop - start)


def _add_tiles(result: np.ndarray, block: np.ndarray, pieces: list[_Piece], b: np.ndarray | None = None) -> None:
    """Add tiles, each piece times its entry of B, to the matrix they belong to."""
    for piece in pieces:
        part = block[piece.tile][piece.inside]
        result[piece.outside] += part if b is None else b[piece.tasks] * part


def _task_sums(
    cotangent: np.ndarray, block: np.ndarray, pieces: list[_Piece], b: np.ndarray
) -> Float[np.ndarray, "T T"]:
    """dL/dB_tu: the sum of cotangent times scalar kernel over each pair of tasks, from upper triangles."""
    sums = np.zeros_like(b)
    for piece in pieces:
        weights, part = cotangent[piece.outside], block[piece.tile][piece.inside]
        if piece.on_diagonal:
            product = weights * part
            sums[piece.tasks] += 2 * np.triu(product, 1).sum() + np.trace(product)
        else:
            sums[piece.tasks] += (2 if piece.tasks[0] == piece.tasks[1] else 1) * np.einsum("ij,ij->", weights, part)
    return sums + np.triu(sums, 1).T
