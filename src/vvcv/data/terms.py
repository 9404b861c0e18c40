"""Terms of the logarithm of a density of several coordinates v: lines, squares, exponentials and turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from jaxtyping import Float
from scipy.special import expit

Numbers = Float[np.ndarray, " n"]
Places = Float[np.ndarray, "n a"]


class Term(Protocol):
    """A function of v."""

    def height(self, v: Places) -> Numbers:
        """Its values."""

    def slope(self, v: Places) -> Places:
        """Its derivatives along all axes."""


@dataclass(frozen=True)
class Line:
    """One coordinate of `size`."""

    axis: int
    size: int

    def height(self, v: Places) -> Numbers:
        return v[:, self.axis]

    def slope(self, v: Places) -> Places:
        return np.ones_like(v) * _unit(self)


@dataclass(frozen=True)
class Square:
    """Half of the square of a coordinate."""

    axis: int
    size: int

    def height(self, v: Places) -> Numbers:
        return v[:, self.axis] ** 2 / 2

    def slope(self, v: Places) -> Places:
        return v * _unit(self)


@dataclass(frozen=True)
class Grown:
    """exp(rates . v)."""

    rates: tuple[float, ...]

    @classmethod
    def along(cls, axis: int, rate: float, size: int) -> Grown:
        """That of one coordinate of `size`.

        >>> Grown.along(1, 0.5, 2)
        Grown(rates=(0.0, 0.5))
        """
        return cls(tuple(rate if k == axis else 0.0 for k in range(size)))

    def height(self, v: Places) -> Numbers:
        return np.exp(v @ np.array(self.rates))

    def slope(self, v: Places) -> Places:
        return np.outer(self.height(v), self.rates)


@dataclass(frozen=True)
class Turn:
    """A line of one coordinate of `size` from a place on, level before, as sharp as it is steep."""

    axis: int
    size: int
    steep: float
    place: float

    def height(self, v: Places) -> Numbers:
        return np.logaddexp(0.0, self.steep * (v[:, self.axis] - self.place)) / self.steep

    def slope(self, v: Places) -> Places:
        return expit(self.steep * (v - self.place)) * _unit(self)


def _unit(term: Line | Square | Turn) -> Float[np.ndarray, " a"]:
    return np.eye(term.size)[term.axis]
