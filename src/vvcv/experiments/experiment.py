"""What an experiment is: cells (columns of its table), methods (rows), data from a seed, exact answers, an error.

Every replication of a cell has a seed of its own, a function of (experiment, cell, seed, replication) alone, so that
any one of them can be rerun by itself; all methods see the same data.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float

#: A method's answer for one replication: the means of all tasks, or whatever vector the experiment measures.
Vector = Float[np.ndarray, " k"]


@dataclass(frozen=True)
class Cell:
    """One setting of an experiment, such as a sample size; `values` are its columns in the CSV."""

    values: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, **values: Any) -> Cell:
        """A cell from keywords.

        >>> str(Cell.of(m=10))
        'm=10'
        """
        return cls(tuple(values.items()))

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.values)

    def __getitem__(self, name: str) -> Any:
        return dict(self.values)[name]


class Published(NamedTuple):
    """A number of the paper and its standard error, if it has one."""

    value: float
    std_error: float | None = None


@dataclass(frozen=True, eq=False)
class Method:
    """A row of the table: `run(cell, data sets, seeds)` gives one vector for each data set.

    Stochastic optimisation runs `block` replications in one compiled loop, always the same ones together, so that a
    number never depends on where a run was interrupted.
    """

    label: str
    run: Callable[[Cell, Sequence[Any], Sequence[int]], list[Vector]]
    block: int = 1
    ours: bool = False


class Experiment(ABC):
    """One table or figure of the paper."""

    name: ClassVar[str]
    title: ClassVar[str]
    metric: ClassVar[str]
    notes: tuple[str, ...] = ()
    replications: ClassVar[int] = 100
    quick_replications: ClassVar[int] = 10

    @abstractmethod
    def cells(self, quick: bool) -> tuple[Cell, ...]:
        """The columns of the table."""

    @abstractmethod
    def methods(self, quick: bool) -> dict[str, Method]:
        """The rows of the table by name."""

    @abstractmethod
    def data(self, cell: Cell, seed: int) -> Any:
        """The data set of one replication."""

    @abstractmethod
    def columns(self, cell: Cell) -> tuple[str, ...]:
        """Names of the entries of an answer."""

    @abstractmethod
    def error(self, cell: Cell, answer: Vector) -> float:
        """The error of one answer, in the metric of the paper."""

    def published(self, cell: Cell, method: str) -> Published | None:
        """The paper's number for a cell and a method."""
        return None

    @abstractmethod
    def figure(self, results: Any) -> Any:
        """The paper's figure of some `Results`, a matplotlib Figure."""

    @abstractmethod
    def table(self, results: Any) -> str:
        """The table of some `Results` with the published numbers, in Markdown."""


def replication_seed(experiment: str, cell: Cell, seed: int, replication: int, purpose: str = "data") -> int:
    """The seed of one replication, for its data or for the random choices of a method.

    >>> replication_seed("step", Cell.of(m=40), 0, 3) == replication_seed("step", Cell.of(m=40), 0, 3)
    True
    """
    words = [zlib.crc32(text.encode()) for text in (experiment, str(cell), purpose)]
    return int(np.random.SeedSequence([*words, seed, replication]).generate_state(1)[0])


@lru_cache(maxsize=64)
def data_set(experiment: Experiment, cell: Cell, seed: int, replication: int) -> Any:
    """The data of one replication, kept while the methods of its block use it."""
    return experiment.data(cell, replication_seed(experiment.name, cell, seed, replication))


def answer(
    experiment: Experiment, method: str, cell: Cell, seed: int, replications: Sequence[int], quick: bool = False
) -> list[Vector]:
    """The answers of one method to the given replications of a cell: all that a run does, without a file."""
    data = [data_set(experiment, cell, seed, r) for r in replications]
    seeds = [replication_seed(experiment.name, cell, seed, r, method) for r in replications]
    answers = experiment.methods(quick)[method].run(cell, data, seeds)
    return [np.asarray(vector, dtype=float) for vector in answers]
