"""What every selection does: `select(problem)` gives a Fit (paper, section 4 and appendices A and D)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import jax

from .problem import Problem
from .result import Fit

Seed = int | jax.Array


class Selection(ABC):
    """A way to choose one control variate of a parametric space."""

    @abstractmethod
    def select(self, problem: Problem, seed: Seed = 0) -> Fit:
        """The control variate chosen for one problem."""

    def select_all(self, problems: Sequence[Problem], seeds: Sequence[Seed]) -> list[Fit]:
        """One control variate for each problem."""
        return [self.select(problem, seed) for problem, seed in zip(problems, seeds, strict=True)]
