"""The first pass: are all rows good, how do the values spread, and some rows: drawn from all, and the outermost.

Models are tuned on those that were drawn. The outermost, along each axis, are where a fit to few rows ends too early.

The mean and squares of blocks go together by Chan, Golub and LeVeque (1983), so that a large mean costs no digits:

    M = M_1 + M_2 + (m_2 - m_1)^2 n_1 n_2 / n
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ..data import Coordinates, Task, Tasks
from ..data.validation import written
from .batches import Batching, BatchSums
from .passes import sum_over
from .rows import Block, Rows
from .runs import Edges

#: Rows on which models are tuned and inducing points chosen: twice the most inducing points, and a system that any
#: machine solves in a second or two.
PILOT_ROWS = 4096

#: Drawn rows for each of the outermost. Errors of smooth integrands in d = 2 from 120 rows drawn: 6.2e-6 at sixteen,
#: 4.8e-6 at eight, 2.1e-6 at four (root mean square of 8 samples); in d = 4 half the error bars of none (N = 20,000).
DRAWN_PER_OUTER = 4

#: Drawn rows of half a chain that r_hat is told by: of two, chains that have mixed raise one alarm in a hundred (752
#: halves, 3,000 samples), of four none in a thousand.
FEWEST_OF_HALF = 4


@dataclass(frozen=True, eq=False)
class Moments:
    """Number, mean and centred squares of some columns, and the largest in magnitude."""

    count: int
    mean: Float[np.ndarray, " k"]
    squares: Float[np.ndarray, " k"]
    largest: Float[np.ndarray, " k"]

    @classmethod
    def of(cls, columns: Float[np.ndarray, "n k"]) -> Moments:
        """Those of a block."""
        mean = columns.mean(axis=0)
        return cls(len(columns), mean, np.sum((columns - mean) ** 2, axis=0), np.abs(columns).max(axis=0))

    def __add__(self, other: Moments) -> Moments:
        count = self.count + other.count
        step = other.mean - self.mean
        return Moments(
            count,
            self.mean + step * (other.count / count),
            self.squares + other.squares + step**2 * (self.count * (other.count / count)),
            np.maximum(self.largest, other.largest),
        )


@dataclass(frozen=True, eq=False)
class Outer:
    """Rows with the smallest and the largest `each` entries of any of their points' axes."""

    each: int
    index: Int[np.ndarray, " p"]
    points: Float[np.ndarray, "p d"]
    scores: Float[np.ndarray, "p d"]

    def __add__(self, other: Outer) -> Outer:
        pairs = ((self.index, other.index), (self.points, other.points), (self.scores, other.scores))
        return Outer(self.each, *(np.concatenate(pair) for pair in pairs)).reduced()

    def reduced(self) -> Outer:
        """The outermost of these, in the order of the sample."""
        if len(self.index) <= 2 * self.each:
            return self
        order = np.argpartition(self.points, (self.each - 1, -self.each), axis=0)
        kept = np.unique(np.concatenate([order[: self.each], order[-self.each :]]))
        kept = kept[np.argsort(self.index[kept])]
        return Outer(self.each, self.index[kept], self.points[kept], self.scores[kept])

    def without(self, drawn: Int[np.ndarray, " k"]) -> Outer:
        """Those that were not drawn."""
        new = ~np.isin(self.index, drawn)
        return Outer(self.each, self.index[new], self.points[new], self.scores[new])


@dataclass(frozen=True, eq=False)
class Look:
    """What the first pass has seen: moments of values and points, rows drawn, the outermost, and where blocks end."""

    moments: Moments
    places: Moments
    batches: BatchSums | None
    index: Int[np.ndarray, " p"]
    rows: Float[np.ndarray, "p 2d+T"]
    outer: Outer
    edges: Edges

    def __add__(self, other: Look) -> Look:
        batches = None if self.batches is None or other.batches is None else self.batches + other.batches
        index = np.concatenate([self.index, other.index])
        rows = np.concatenate([self.rows, other.rows])
        places, outer, edges = self.places + other.places, self.outer + other.outer, self.edges + other.edges
        return Look(self.moments + other.moments, places, batches, index, rows, outer, edges)

    def pilot(self, rows: Rows) -> Tasks:
        """The rows that were drawn, in the order of the sample, as tasks in memory."""
        drawn, d = self.rows[np.argsort(self.index)], rows.dimension
        points, scores, values = drawn[:, :d], drawn[:, d : 2 * d], drawn[:, 2 * d :]
        return Tasks([Task(points, scores, values[:, t], name) for t, name in enumerate(rows.names)])

    def halves(self, rows: Rows) -> Int[np.ndarray, "half k"]:
        """Places in the pilot of as many rows of each half of every chain, those of too few rows left out."""
        chain, draw = np.divmod(np.sort(self.index), rows.chains[1])
        count = np.bincount(2 * chain + (2 * draw >= rows.chains[1]), minlength=2 * rows.chains[0])
        each = max(FEWEST_OF_HALF, int(count.min()))
        return (np.cumsum(count) - count)[count >= each, None] + np.arange(each)

    def far_beyond(self, rows: Rows) -> float:
        """How many times as far out as any row drawn the farthest of all lies, along the axis where that is most."""
        drawn, outer = self.rows[:, : rows.dimension], self.outer.points
        centre = np.median(drawn, axis=0)
        reach = np.abs(drawn - centre).max(axis=0)
        return float(np.max(np.abs(outer - centre).max(axis=0) / np.where(reach > 0, reach, np.inf)))

    @property
    def scaled(self) -> Coordinates:
        """Coordinates in which every axis has the spread of all points."""
        return Coordinates.by_axis(self.places.mean, self.places.squares / self.places.count, self.places.largest)

    @property
    def shift(self) -> Float[np.ndarray, " T"]:
        """Means of the values."""
        return self.moments.mean

    @property
    def scale(self) -> Float[np.ndarray, " T"]:
        """Spreads of the values, zero where they do not vary."""
        spread = np.sqrt(self.moments.squares / self.moments.count)
        return np.where(spread <= 1e-13 * self.moments.largest, 0.0, spread)


@dataclass(frozen=True, eq=False)
class Looking:
    """What is done with one block."""

    drawn: Int[np.ndarray, " p"]
    each: int
    draws: int
    batching: Batching | None

    def __call__(self, block: Block) -> Look:
        """The part of the look that one block gives."""
        values = block.values
        index = block.chain * self.draws + block.draw
        chosen = np.flatnonzero(np.isin(index, self.drawn))
        rows = np.hstack([block.points[chosen], block.scores[chosen], values[chosen]])
        batches = None if self.batching is None else self.batching.sums(values, block.chain, block.draw)
        places, outer = Moments.of(block.points), Outer(self.each, index, block.points, block.scores).reduced()
        edges = Edges.of(self.draws, block.points, index, block.copies)
        return Look(Moments.of(values), places, batches, index[chosen], rows, outer, edges)


def look_at(rows: Rows, batching: Batching | None) -> Look:
    """Read all rows once; a bad one is an error that says where it is."""
    size = min(rows.count, PILOT_ROWS)
    drawn = np.sort(np.random.default_rng(0).choice(rows.count, size, replace=False, shuffle=False))
    each = max(1, PILOT_ROWS // (2 * DRAWN_PER_OUTER * rows.dimension))
    look = sum_over(rows, Looking(drawn, each, rows.chains[1], batching), "looking at all rows", required=True)
    written(rows.points.in_memory or not look.edges.end_in_zeros, "points")
    return look
