"""The second pass: sums over all rows from which every fit follows, and their solution.

    G = sum_i a_i a_i' + ridge = C C',   v = C^-1 sum_i a_i y_i,   g = C^-1 r,   beta = g . v

where a_i are the columns of `features` at row i times R^-1 and r is the first row of R^-1, which gives the constant.
As C is lower triangular, the fit with the first k columns alone has the first k entries of g and v: one factorisation
serves all fits, and u_i = C^-1 a_i gives each one's prediction u_i . v, its leverage u_i . u_i and the weight of value
i in its mean, u_i . g.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf

from .devices import gram_and_cross, times_triangle
from .features import Features
from .passes import OfEach, end_if_stopped, sum_over, tree_sum
from .rows import Block, Rows

#: Rows whose columns are formed at a time: some megabytes, beside which the block that is read is small.
STRIP = 4096


@dataclass(frozen=True, eq=False)
class NormalSums:
    """A' A and A' Y."""

    gram: Float[np.ndarray, "q q"]
    cross: Float[np.ndarray, "q T"]

    def __add__(self, other: NormalSums) -> NormalSums:
        return NormalSums(self.gram + other.gram, self.cross + other.cross)


@dataclass(frozen=True, eq=False)
class Summing:
    """What is done with one block for each model: columns and standardised values of a strip of rows at a time."""

    features: Sequence[Features]
    shift: Float[np.ndarray, " T"]
    scale: Float[np.ndarray, " T"]

    def __call__(self, block: Block) -> OfEach[NormalSums]:
        """The part of the sums that one block gives."""
        return tree_sum(OfEach([self._sums(features, strip) for features in self.features]) for strip in strips(block))

    def _sums(self, features: Features, strip: Block) -> NormalSums:
        raw = features.raw(strip.points, strip.scores)
        values = np.zeros((len(raw), strip.values.shape[1]))
        values[: len(strip.values)] = (strip.values - self.shift) / self.scale
        return NormalSums(*gram_and_cross(raw, features.inverse, values))


@dataclass(frozen=True, eq=False)
class Solution:
    """All fits of one model: `columns` are R^-1 C^-T, so that u = A columns."""

    features: Features
    columns: Float[np.ndarray, "q q"]
    coefficients: Float[np.ndarray, "q T"]
    constant: Float[np.ndarray, " q"]

    def mean(self, count: int) -> Float[np.ndarray, " T"]:
        """beta of the fit with the first `count` columns, for standardised values."""
        return self.constant[:count] @ self.coefficients[:count]

    def rotated(self, points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n q"]:
        """u_i of some rows."""
        return times_triangle(self.features.raw(points, scores), self.columns)[: len(points)]

    def variate(self, points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"], count: int, task: int):
        """The fit without its constant: every column but the first has mean zero under the target."""
        coefficients = (self.columns[:, :count] @ self.coefficients[:count, task])[1:]
        result = np.empty(len(points))
        for start in range(0, len(points), STRIP):
            part = slice(start, start + STRIP)
            raw = self.features.raw(points[part], scores[part])
            result[part] = (raw[:, 1:] @ coefficients)[: len(result[part])]
        return result


def solve_normal_equations(
    rows: Rows, features: Sequence[Features], shift: np.ndarray, scale: np.ndarray
) -> list[Solution]:
    """One pass over all rows for all models, and one factorisation for each of those that can be factorised."""
    spread = np.where(scale > 0, scale, 1.0)
    sums = sum_over(rows, Summing(features, shift, spread), "summing over all rows")
    return solved_from(features, sums.parts)


def solved_from(features: Sequence[Features], parts: Sequence[NormalSums]) -> list[Solution]:
    """The fits of those models whose sums can be factorised."""
    solutions = [_solved(*pair) for pair in zip(features, parts, strict=True)]
    return [solution for solution in solutions if solution is not None]


def _solved(features: Features, sums: NormalSums) -> Solution | None:
    """The fits with those first columns that the sums tell apart: all, but where few rows outweigh the others."""
    matrix = sums.gram + features.penalty
    factor, failed = dpotrf(matrix, lower=1)
    leading = slice(0, failed - 1 if failed else len(matrix))
    left = np.diag(factor)[leading] ** 2 > len(matrix) * np.finfo(float).eps * np.diag(matrix)[leading]
    kept = features.first(len(left) if left.all() else int(np.argmin(left)))
    if not kept.stages:
        return None
    count = len(kept.inverse)
    factor = factor[:count, :count]
    right = np.column_stack([sums.cross[:count], kept.inverse[0]])
    solved = solve_triangular(factor, right, lower=True)
    columns = solve_triangular(factor, kept.inverse.T, lower=True).T
    return Solution(kept, columns, solved[:, :-1], solved[:, -1])


def strips(block: Block) -> Iterator[Block]:
    """A block, a few rows at a time, as its columns would take many times its memory; until the fit is to end."""
    for start in range(0, len(block.points), STRIP):
        end_if_stopped()
        yield block.strip(slice(start, start + STRIP))
