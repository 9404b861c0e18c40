"""Gram matrices of matrix-valued Stein kernels and their pullbacks.

A matrix-valued kernel is assembled from scalar ones, block by block of tasks: B_tt' times the scalar kernel, or one
task's block alone. So only scalar kernels are compiled (`tiles`), and nearly equal shapes share one compilation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import jax
import numpy as np
from jaxtyping import Float

from ..kernels import Coregionalization, Own, Separable, Side
from ..precision import float64
from . import tiles
from .kernel import SteinKernel, SteinSum, stein_terms

Pull = Callable[[np.ndarray], SteinKernel]


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
    return np.asarray(tiles.diagonal(kernel, tiles.padded(side)))[: len(side.task)]


@float64
def task_matrix(coregionalization: Coregionalization) -> Float[np.ndarray, "T T"]:
    """B of any form as an array on the host."""
    return np.asarray(tiles.matrix(coregionalization))


class Gram:
    """The Gram matrix of one side with itself, rows sorted by task, for any kernel: padding is done once."""

    def __init__(self, side: Side) -> None:
        self.side = Side(*(np.asarray(a) for a in side))
        self.size = len(self.side.task)
        if (np.diff(self.side.task) < 0).any():
            raise ValueError("Rows of a Gram matrix must be sorted by task.")

    def upper(self, kernel: SteinKernel | SteinSum) -> Float[np.ndarray, "N N"]:
        """The matrix on and above its diagonal (row-major, writable); what lies below is not meaningful."""
        return self.with_pullback(kernel)[0]

    @float64
    def with_pullback(self, kernel):
        """The upper matrix and the map from a symmetric cotangent (upper triangle read) to the kernel's gradient."""
        _check_tasks(kernel, self.side)
        result, pulls = None, []
        for term in stein_terms(kernel):
            result, pull = self._add(result, term)
            pulls.append(pull)

        @float64
        def pull_all(cotangent: Float[np.ndarray, "N N"]):
            gradients = tuple(pull(cotangent) for pull in pulls)
            return jax.tree.unflatten(jax.tree.structure(kernel), jax.tree.leaves(gradients))

        return result, pull_all

    def _add(self, result: np.ndarray | None, term: SteinKernel) -> tuple[np.ndarray, Pull]:
        if isinstance(term.kernel, Separable):
            return self._add_separable(result, term)
        if isinstance(term.kernel, Own):
            scalar = term.with_kernel(term.kernel.kernel)
            window = self._windows.get(term.kernel.task, slice(0, 0))
        else:
            scalar, window = term, slice(0, self.size)
        part = self._padded_rows(window)
        block = tiles.upper(scalar, part, window.stop - window.start)
        if result is None:
            result = np.zeros((self.size, self.size)) if isinstance(term.kernel, Own) else np.array(block)
            if isinstance(term.kernel, Own):
                result[window, window] = block
        else:
            whole = result[window, window]
            for rows, columns in _strips(len(block)):
                whole[rows, columns] += block[rows, columns]

        def pull(cotangent: np.ndarray) -> SteinKernel:
            inner = tiles.pull(scalar, part, cotangent[window, window])
            return jax.tree.unflatten(jax.tree.structure(term), jax.tree.leaves(inner))

        return result, pull

    def _add_separable(self, result: np.ndarray | None, term: SteinKernel) -> tuple[np.ndarray, Pull]:
        """K = B_tt' k_0 block by block, for the price of the copy that a writable result costs anyway."""
        scalar, whole = term.with_kernel(term.kernel.kernel), slice(0, self.size)
        part = self._padded_rows(whole)
        block = tiles.upper(scalar, part, self.size)
        b = np.asarray(tiles.matrix(term.kernel.coregionalization))
        if result is None:
            result = self._times(b, block)
        else:
            result += self._times(b, block)

        def pull(cotangent: np.ndarray) -> SteinKernel:
            inner = tiles.pull(scalar, part, self._times(b, cotangent, len(part.task)))
            slope = self._task_sums(cotangent, block, len(b))
            coregionalization = tiles.pull_matrix(term.kernel.coregionalization, slope)
            leaves = [*(np.asarray(leaf) for leaf in jax.tree.leaves(coregionalization)), *jax.tree.leaves(inner)]
            return jax.tree.unflatten(jax.tree.structure(term), leaves)

        return result, pull

    def _times(self, b: np.ndarray, block: np.ndarray, size: int | None = None) -> Float[np.ndarray, "M M"]:
        """B_tt' times each block of tasks above the diagonal, padded with zeros to `size` rows."""
        result = tiles.aligned_zeros(size or self.size)
        for t, rows in self._windows.items():
            for u, columns in self._windows.items():
                if u > t:
                    np.multiply(block[rows, columns], b[t, u], out=result[rows, columns])
            own, target = block[rows, rows], result[rows, rows]
            for strip, beyond in _strips(len(own)):
                np.multiply(own[strip, beyond], b[t, t], out=target[strip, beyond])
        return result

    def _task_sums(self, cotangent: np.ndarray, block: np.ndarray, count: int) -> Float[np.ndarray, "T T"]:
        """dL/dB_tu: the sum of cotangent times scalar kernel over each pair of tasks, from upper triangles."""
        sums = np.zeros((count, count))
        for t, rows in self._windows.items():
            for u, columns in self._windows.items():
                if u > t:
                    sums[t, u] = sums[u, t] = np.einsum("ij,ij->", cotangent[rows, columns], block[rows, columns])
            sums[t, t] = _symmetric_sum(cotangent[rows, rows], block[rows, rows])
        return sums

    @cached_property
    def _windows(self) -> dict[int, slice]:
        tasks, starts, counts = np.unique(self.side.task, return_index=True, return_counts=True)
        return {int(t): slice(int(i), int(i + n)) for t, i, n in zip(tasks, starts, counts, strict=True)}

    @cached_property
    def _parts(self) -> dict[tuple[int, int], Side]:
        return {}

    def _padded_rows(self, window: slice) -> Side:
        key = (window.start, window.stop)
        if key not in self._parts:
            self._parts[key] = tiles.padded(Side(*(a[window] for a in self.side)))
        return self._parts[key]


@float64
def _between(kernel: SteinKernel | SteinSum, left: Side, right: Side) -> Float[np.ndarray, "n m"]:
    _check_tasks(kernel, left)
    _check_tasks(kernel, right)
    n, m = len(left.task), len(right.task)
    return np.array(tiles.rectangle(kernel, tiles.padded(left), tiles.padded(right)))[:n, :m]


def _check_tasks(kernel: SteinKernel | SteinSum, side: Side) -> None:
    """Indexing past the end of B would not fail inside compiled code, only give wrong numbers."""
    last = int(np.max(side.task, initial=0))
    for term in stein_terms(kernel):
        if isinstance(term.kernel, Separable) and last >= term.kernel.coregionalization.count:
            raise ValueError(
                f"B must have a row for every task, but a row of the data belongs to task {last} and B has "
                f"{term.kernel.coregionalization.count} tasks (counted from 0)."
            )


def _strips(size: int) -> list[tuple[slice, slice]]:
    """Rows and columns of the strips that make up the upper triangle (and little more): half the memory to visit."""
    starts = range(0, size, tiles.TILE)
    return [(slice(start, min(start + tiles.TILE, size)), slice(start, size)) for start in starts]


def _symmetric_sum(cotangent: np.ndarray, block: np.ndarray) -> float:
    """Sum of the elementwise product of two symmetric matrices of which only the upper triangles are meaningful."""
    total = 0.0
    for start in range(0, len(block), tiles.SMALL):
        stop = min(start + tiles.SMALL, len(block))
        total += 2 * np.einsum("ij,ij->", cotangent[start:stop, stop:], block[start:stop, stop:])
        product = cotangent[start:stop, start:stop] * block[start:stop, start:stop]
        total += 2 * np.triu(product, 1).sum() + np.trace(product)
    return float(total)
