"""Rows that repeat the one before them, as rejected proposals do: of a run of equal points all are left out together.

A copy that stays behind knows the value that was left out. Runs are looked for within chains; one that goes on in the
next block is put together from its parts, so that nothing depends on where blocks begin. Equal points that do not
follow each other are not looked for, which would take all rows in memory: `checks/order.py` sees them among rows drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


def run_lengths(points: Float[np.ndarray, "k d"], chain: Int[np.ndarray, " k"]) -> Int[np.ndarray, " k"]:
    """How many rows the run has that each row lies in.

    >>> run_lengths(np.array([[1.0], [1.0], [0.0], [0.0]]), np.array([0, 0, 0, 1]))
    array([2, 2, 1, 1])
    """
    new = np.ones(len(points), dtype=bool)
    new[1:] = (points[1:] != points[:-1]).any(axis=1) | (chain[1:] != chain[:-1])
    run = np.cumsum(new) - 1
    return np.bincount(run)[run]


@dataclass(frozen=True, eq=False)
class Edges:
    """The first and the last run of each chain in some blocks: from which row of the sample to which, and its point."""

    draws: int
    start: Int[np.ndarray, " e"]
    stop: Int[np.ndarray, " e"]
    point: Float[np.ndarray, "e d"]

    @classmethod
    def of(cls, draws: int, points: np.ndarray, index: np.ndarray, lengths: np.ndarray) -> Edges:
        """Those of a block whose rows have these numbers in the sample, chains of so many draws one after the other."""
        ends = np.flatnonzero(np.diff(index // draws, append=-1))
        firsts = np.append(0, ends[:-1] + 1)
        start = np.append(index[firsts], index[ends] + 1 - lengths[ends])
        stop = np.append(index[firsts] + lengths[firsts], index[ends] + 1)
        return cls(draws, start, stop, points[np.append(firsts, ends)])

    def __add__(self, other: Edges) -> Edges:
        pairs = ((self.start, other.start), (self.stop, other.stop), (self.point, other.point))
        return Edges(self.draws, *(np.concatenate(pair) for pair in pairs))

    @property
    def end_in_zeros(self) -> bool:
        """Whether a chain ends in rows that are zero in every coordinate, as where nothing was written to a file."""
        at_end = (self.stop % self.draws == 0) & (self.stop - self.start > 1)
        return bool((at_end & (self.point == 0).all(axis=1)).any())

    def across(self) -> Across:
        """The runs that lie in several blocks."""
        start, order = np.unique(self.start, return_index=True)
        stop, point = self.stop[order], self.point[order]
        goes_on = (start[1:] == stop[:-1]) & (point[1:] == point[:-1]).all(axis=1) & (start[1:] % self.draws > 0)
        first, last = np.append(True, ~goes_on), np.append(~goes_on, True)
        several = ~(first & last)
        return Across(start[first & several], stop[last & several])


@dataclass(frozen=True, eq=False)
class Across:
    """Runs that lie in several blocks: from which row of the sample to which, in order."""

    start: Int[np.ndarray, " r"]
    stop: Int[np.ndarray, " r"]

    def whole(self, index: Int[np.ndarray, " k"], lengths: Int[np.ndarray, " k"]) -> Int[np.ndarray, " k"]:
        """Lengths of the runs of some rows, other blocks counted, from those within their block."""
        run = np.searchsorted(self.start, index, side="right") - 1
        inside = np.flatnonzero((run >= 0) & (index < np.append(self.stop, 0)[run]))
        result = lengths.copy()
        result[inside] = (self.stop - self.start)[run[inside]]
        return result
