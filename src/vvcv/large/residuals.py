"""The third pass: what every fit leaves of values it has not seen, and so how far off its mean may be.

    left_out_i = (y_i - u_i . v) / (1 - w_i u_i . u_i),   move_i = (u_i . g) left_out_i

with w_i the rows of the run of copies that row i lies in, all left out together, which moves the mean by w_i move_i.
Whatever the columns cannot express, what inducing points leave open included, stays in the residuals and so in the
error bar: sqrt(sum over runs of (w_i move_i)^2), times the root of the moves' inefficiency along chains.
By inducing points the sum of all moves counts, too: a mean that the rows have moved one way may still have to go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from .batches import Batching, BatchSums
from .look import Look
from .normal_equations import Solution, strips
from .passes import sum_over, tree_sum
from .rows import Block, Rows
from .runs import Across


@dataclass(frozen=True, eq=False)
class ResidualSums:
    """Sums for every fit k and task t: over rows, powers of left_out and of moves, residuals, what witnesses average;
    over runs, squares of left_out, and fourth powers and products of what each moves the means by."""

    count: int
    runs: float
    powers: Float[np.ndarray, "3 k T"]
    moves: Float[np.ndarray, "2 k T"]
    residual: Float[np.ndarray, "k T"]
    witness: Float[np.ndarray, "k T"]
    squares: Float[np.ndarray, "k T"]
    fourths: Float[np.ndarray, "k T"]
    products: Float[np.ndarray, "kT kT"]
    batches: BatchSums | None

    def __add__(self, other: ResidualSums) -> ResidualSums:
        batches = None if self.batches is None or other.batches is None else self.batches + other.batches
        return ResidualSums(
            self.count + other.count,
            self.runs + other.runs,
            self.powers + other.powers,
            self.moves + other.moves,
            self.residual + other.residual,
            self.witness + other.witness,
            self.squares + other.squares,
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
    draws: int
    across: Across

    def __call__(self, block: Block) -> ResidualSums:
        """The part of the sums that one block gives."""
        block = block._replace(copies=self.across.whole(block.chain * self.draws + block.draw, block.copies))
        return tree_sum(self._sums(strip) for strip in strips(block))

    def _sums(self, strip: Block) -> ResidualSums:
        values = (strip.values - self.shift) / self.scale
        of_each = [_left_out(solution, strip, values) for solution in self.solutions]
        residual, left_out, move = (np.concatenate(parts, axis=1) for parts in zip(*of_each, strict=True))
        n, copies = len(values), strip.copies[:, None, None].astype(float)
        series = np.hstack([move.reshape(n, -1), left_out.reshape(n, -1)])
        of_run = np.sqrt(copies) * move  # its squares, summed over the rows of a run, are those of the run's move
        flat = of_run.reshape(n, -1)
        return ResidualSums(
            n,
            float(np.sum(1 / copies)),
            np.array([np.sum(left_out**power, axis=0) for power in (1, 2, 3)]),
            np.array([np.sum(move, axis=0), np.sum(move**2, axis=0)]),
            np.sum(residual**2, axis=0),
            np.sum(left_out - copies * move, axis=0),
            np.sum(left_out**2 / copies, axis=0),
            np.sum(copies * (of_run**2) ** 2, axis=0),  # a square is one product, a fourth power a logarithm
            flat.T @ flat,
            None if self.batching is None else self.batching.sums(series, strip.chain, strip.draw),
        )


def sum_residuals(rows: Rows, solutions: Sequence[Solution], look: Look, batching: Batching | None) -> ResidualSums:
    """One pass over all rows for all fits."""
    spread = np.where(look.scale > 0, look.scale, 1.0)
    leaving = LeavingOut(solutions, look.shift, spread, batching, rows.chains[1], look.edges.across())
    return sum_over(rows, leaving, "what the fits leave")


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
        left_out = residual / np.maximum(1 - strip.copies * leverage, 1e-12)[:, None]
        residuals.append(residual)
        left_outs.append(left_out)
        moves.append(weight[:, None] * left_out)
    return np.stack(residuals, axis=1), np.stack(left_outs, axis=1), np.stack(moves, axis=1)
