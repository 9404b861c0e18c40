"""The third pass: what every fit leaves of values it has not seen, and so how far off its mean may be.

    left_out_i = (y_i - u_i . v) / (1 - u_i . u_i),   move_i = (u_i . g) left_out_i

Whatever the columns cannot express, what inducing points leave open included, stays in the residuals and so in the
error bar: sqrt(sum_i move_i^2), times the root of the moves' inefficiency along chains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from .batches import Batching, BatchSums
from .normal_equations import Solution, strips
from .passes import sum_over, tree_sum
from .rows import Block, Rows


@dataclass(frozen=True, eq=False)
class ResidualSums:
    """Sums over rows for every fit k and task t: powers of left_out, moves, their fourth powers and their products."""

    count: int
    powers: Float[np.ndarray, "3 k T"]
    residual: Float[np.ndarray, "k T"]
    move: Float[np.ndarray, "k T"]
    fourths: Float[np.ndarray, "k T"]
    products: Float[np.ndarray, "kT kT"]
    batches: BatchSums | None

    def __add__(self, other: ResidualSums) -> ResidualSums:
        batches = None if self.batches is None or other.batches is None else self.batches + other.batches
        return ResidualSums(
            self.count + other.count,
            self.powers + other.powers,
            self.residual + other.residual,
            self.move + other.move,
            self.fourths + other.fourths,
            self.products + other.products,
            batches,
        )


@dataclass(frozen=True, eq=False)
class LeavingOut:
    """What is done with one block: the fits of all models, one after the other."""

    solutions: Sequence[Solution]
    shift: Float[np.ndarray, " T"]
    scale: Float[np.ndarray, " T"]
    batching: Batching | None

    def __call__(self, block: Block) -> ResidualSums:
        """The part of the sums that one block gives."""
        return tree_sum(self._sums(strip) for strip in strips(block))

    def _sums(self, strip: Block) -> ResidualSums:
        values = (strip.values - self.shift) / self.scale
        of_each = [_left_out(solution, strip, values) for solution in self.solutions]
        residual, left_out, move = (np.concatenate(parts, axis=1) for parts in zip(*of_each, strict=True))
        n = len(values)
        flat = move.reshape(n, -1)
        series = np.hstack([flat, left_out.reshape(n, -1)])
        return ResidualSums(
            n,
            np.array([np.sum(left_out**power, axis=0) for power in (1, 2, 3)]),
            np.sum(residual**2, axis=0),
            np.sum(move, axis=0),
            np.sum((move**2) ** 2, axis=0),  # a square is one product, a fourth power a logarithm
            flat.T @ flat,
            None if self.batching is None else self.batching.sums(series, strip.chain, strip.draw),
        )


def sum_residuals(
    rows: Rows, solutions: Sequence[Solution], shift: np.ndarray, scale: np.ndarray, batching: Batching | None
) -> ResidualSums:
    """One pass over all rows for all fits."""
    spread = np.where(scale > 0, scale, 1.0)
    return sum_over(rows, LeavingOut(solutions, shift, spread, batching), "what the fits leave")


def _left_out(solution: Solution, strip: Block, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Residuals, left-out residuals and moves `(n, k, T)` of the fits with the first columns, each from the last."""
    rotated = solution.rotated(strip.points, strip.scores)
    residual, leverage, weight = values, np.zeros(len(values)), np.zeros(len(values))
    residuals, left_outs, moves, start = [], [], [], 0
    for stage in solution.features.stages:
        part = slice(start, stage.columns)
        new, start = rotated[:, part], stage.columns
        residual = residual - new @ solution.coefficients[part]
        leverage = leverage + np.sum(new**2, axis=1)
        weight = weight + new @ solution.constant[part]
        left_out = residual / np.maximum(1 - leverage, 1e-12)[:, None]
        residuals.append(residual)
        left_outs.append(left_out)
        moves.append(weight[:, None] * left_out)
    return np.stack(residuals, axis=1), np.stack(left_outs, axis=1), np.stack(moves, axis=1)
