"""The rows of tasks on the same points, as blocks that can be read one at a time.

A block is a rectangle of (chain, draw). Its place in the sample is known before it is read, so that nothing below
depends on where one block ends and the next begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ..data import Task, require
from ..data.lazy import LazyArray
from ..data.validation import LARGEST
from .runs import run_lengths

#: Rows that are read at a time from arrays that have no chunks of their own: a few megabytes for each ten columns,
#: enough to keep disk and processor busy.
BLOCK = 65_536

#: Rows of a block at least, where chunks are smaller: to plan and start the work on one takes a hundredth of a second,
#: as long as the sums over so many rows.
LEAST_BLOCK = 4096


#: What libraries raise where a file is closed, gone or damaged.
UNREADABLE = (OSError, ValueError, RuntimeError, LookupError)


class Place(NamedTuple):
    """Where a block lies: its number, its chains and its draws."""

    number: int
    chains: slice
    draws: slice

    @property
    def shape(self) -> tuple[int, int]:
        """Chains and draws of the block."""
        return self.chains.stop - self.chains.start, self.draws.stop - self.draws.start


class Block(NamedTuple):
    """Rows in memory, chain by chain, each with its chain, its draw and the length of the run of copies it lies in."""

    points: Float[np.ndarray, "k d"]
    scores: Float[np.ndarray, "k d"]
    values: Float[np.ndarray, "k T"]
    chain: Int[np.ndarray, " k"]
    draw: Int[np.ndarray, " k"]
    copies: Int[np.ndarray, " k"]

    def strip(self, rows: slice) -> Block:
        """Some of the rows."""
        return Block(*(array[rows] for array in self))


@dataclass(frozen=True, eq=False)
class Rows:
    """Points, scores and one column of values for each of several tasks."""

    points: LazyArray
    scores: LazyArray
    values: tuple[LazyArray, ...]
    names: tuple[str, ...]
    independent: bool

    @classmethod
    def of(cls, tasks: Sequence[Task], names: Sequence[str]) -> Rows:
        """The rows of tasks on the same points, in memory or not."""
        first = tasks[0]
        arrays = (_lazy(first.points, first), _lazy(first.scores, first))
        return cls(*arrays, tuple(_lazy(t.values, t) for t in tasks), tuple(names), first.chains is None)

    @property
    def chains(self) -> tuple[int, int]:
        """Number of chains and of draws in each."""
        return self.points.chains

    @property
    def count(self) -> int:
        """Number of rows."""
        return self.points.shape[0]

    @property
    def dimension(self) -> int:
        """Dimension of the points."""
        return self.points.tail[0]

    @property
    def arrays(self) -> tuple[LazyArray, ...]:
        """Points, scores, and the values of each task."""
        return (self.points, self.scores, *self.values)

    @property
    def guide(self) -> LazyArray | None:
        """The Dask array whose chunks all others follow, if there is any."""
        return next((array for array in self.arrays if array.is_dask), None)

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...] | None:
        """Its chunks along the leading axes, small ones together; those of no rows, as filters leave them, left out."""
        if self.guide is None:
            return None
        *chains, draws = self.guide.source.chunks[: len(self.guide.leading)]
        along = _together(draws, -(-LEAST_BLOCK // max([1, *chains[0]] if chains else [1])))
        return (*(_together(axis, -(-LEAST_BLOCK // max(along))) for axis in chains), along)

    @cached_property
    def places(self) -> list[Place]:
        """Blocks that cover all rows, by the chunks of the points where they have any."""
        chains, draws = self.chains
        across: Sequence[int]
        along: Sequence[int]
        if self.chunks is not None:
            across, along = self.chunks if len(self.chunks) == 2 else ((1,), self.chunks[0])
        else:
            with _open("points"):
                step = min(_step(self.points), draws)
            across = _pieces(chains, max(1, BLOCK // draws) if step == draws else 1)
            along = _pieces(draws, step)
        corners = [(c, d) for c in _slices(across) for d in _slices(along)]
        return [Place(number, *corner) for number, corner in enumerate(corners)]

    def read(self, place: Place) -> Block:
        """One block, each array read once."""
        seen: dict[int, np.ndarray] = {}
        for array, what in zip(self.arrays, self.labels, strict=True):
            if id(array.source) not in seen:
                index = (place.chains, place.draws) if len(array.leading) == 2 else place.draws
                with _open(f"{what} in {self.where(place)}"):
                    seen[id(array.source)] = np.asanyarray(array.source[index])
        return self.block(place, [seen[id(array.source)] for array in self.arrays])

    def first(self, count: int) -> list[Task]:
        """The first rows of the first chain, as tasks in memory."""
        block = self.read(Place(0, slice(0, 1), slice(0, min(count, self.chains[1]))))
        return [Task(block.points, block.scores, block.values[:, t], name) for t, name in enumerate(self.names)]

    def block(self, place: Place, pieces: Sequence[np.ndarray]) -> Block:
        """A block of what was read of points, scores and each task's values, or an error that says where it is bad."""
        checked = []
        for array, piece, what in zip(self.arrays, pieces, self.labels, strict=True):
            width = array.source.shape[len(array.leading) :]
            expected = (*(place.shape if len(array.leading) == 2 else place.shape[1:]), *width)
            require(
                np.shape(piece) == expected,
                f"All chunks of an array must have its columns, but {what} in {self.where(place)} have shape "
                f"{np.shape(piece)} where {expected} was declared. Write that chunk again.",
            )
            checked.append(array.of_block(piece, place.shape))
            self._require_finite(checked[-1], place, what)
        points, scores, *values = (array.reshape(-1, *array.shape[2:]) for array in checked)
        chain, draw = np.divmod(np.arange(len(points)), place.shape[1])
        where = chain + place.chains.start, draw + place.draws.start
        return Block(points, scores, np.column_stack(values), *where, run_lengths(points, chain))

    def where(self, place: Place) -> str:
        """A block in words."""
        draws = f"rows {place.draws.start} to {place.draws.stop - 1}"
        chains = "" if self.independent else f" of chains {place.chains.start} to {place.chains.stop - 1}"
        return f"chunk {place.number} ({draws}{chains})"

    @property
    def labels(self) -> list[str]:
        """What the arrays are, in words."""
        return ["points", "scores", *(f"values of task {name!r}" for name in self.names)]

    def _require_finite(self, array: np.ndarray, place: Place, what: str) -> None:
        bad = ~(np.abs(array) <= LARGEST)
        if bad.any():
            first = np.argwhere(bad)[0]
            row = place.draws.start + int(first[1])
            chain = "" if self.independent else f" of chain {place.chains.start + int(first[0])}"
            require(
                False,
                f"{what} must be finite, not masked and below {LARGEST:g}, but in {self.where(place)} {int(bad.sum())} "
                f"entries are not; the first is {array[bad][0]} at row {row}{chain}. Remove those rows (from points, "
                "scores and values alike).",
            )


def _lazy(array: LazyArray | np.ndarray, task: Task) -> LazyArray:
    if isinstance(array, LazyArray):
        return array
    leading = task.chains or (task.size,)
    return LazyArray(array.reshape(*leading, *array.shape[1:]), leading, array.shape[1:])


@contextmanager
def _open(what: str) -> Iterator[None]:
    """A block that reads from a file, which may be closed, gone or damaged: each library has its own words for that."""
    try:
        yield
    except UNREADABLE as error:
        raise unreadable(what, error) from error


def unreadable(what: str, error: BaseException) -> ValueError:
    """The error for rows that could not be read."""
    return ValueError(
        f"The rows are read while `estimate` runs, but {what} could not be: {error}. Keep the file open, and as it "
        "is, until the answer is there."
    )


def _step(points: LazyArray) -> int:
    """Draws of a block: whole chunks of a stored array, so that none is unpacked twice."""
    chunks = getattr(points.source, "chunks", None)
    chunk = int(chunks[len(points.leading) - 1]) if chunks else 1
    return max(chunk, BLOCK // chunk * chunk)


def _together(sizes: Sequence[int], least: int) -> tuple[int, ...]:
    """Sizes of neighbours put together until each has at least so many, but for the last."""
    together: list[int] = []
    for size in sizes:
        if together and together[-1] < least:
            together[-1] += size
        elif size:
            together.append(size)
    return tuple(together)


def _pieces(total: int, step: int) -> list[int]:
    whole, rest = divmod(total, step)
    return [step] * whole + [rest] * (rest > 0)


def _slices(sizes: Sequence[int]) -> list[slice]:
    stops = np.cumsum(sizes).tolist()
    return [slice(stop - size, stop) for stop, size in zip(stops, sizes, strict=True)]
