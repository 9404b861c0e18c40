"""Selection by stochastic optimisation: Algorithm 2 (B known) and Algorithm 1 (B learned) of the paper.

    (theta, beta) <- Update(theta, beta; mini-batch of L_vv),    B = L L' <- Update(B; mini-batch of Lbar_vv)

One compiled loop over epochs and batches serves all replications at once, all learning rates and all variates; theta
starts at 0, beta at the plain averages (A.2), and the path of beta, B and the objective is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from .descent import Descended, descend
from .error_bars import descent_covariance
from .problem import Problem
from .result import Fit
from .selection import Seed, Selection
from .settings import DescentSettings, Rate, check_rate
from .splits import hold_out


@dataclass(frozen=True, eq=False)
class StochasticOptimisation(DescentSettings, Selection):
    """Algorithm 2 of the paper: B stays as the variate has it.

    `batch_size` counts rows over all tasks, or those of each. `learning_rate` is a number (times `decay` after each
    epoch) or a function of the epoch; `optimizer` any optax optimiser, with a learning rate of its own. `held_out` sets
    a fraction of every task aside, and the fit stops when J_vv there has not improved for `patience` epochs. A fit
    whose objective ends above `diverged` times its value without a control variate is refused. `interruptible` makes
    Ctrl-C return the best state so far. theta starts at 0 and beta at the plain averages, or at `start_theta` and
    `start_beta`.

    >>> StochasticOptimisation(learning_rate=0.1, decay=0.5).rates(3)
    array([0.1  , 0.05 , 0.025])
    """

    def select(self, problem: Problem, seed: Seed = 0) -> Fit:
        """The end of the descent, or its best state on held-out data."""
        return self.select_all([problem], [seed])[0]

    def select_all(self, problems: Sequence[Problem], seeds: Sequence[Seed]) -> list[Fit]:
        """All problems in one compiled loop; they must have equal shapes."""
        held = None
        if self.held_out > 0:
            parts = [hold_out(p.tasks, self.held_out, seed) for p, seed in zip(problems, seeds, strict=True)]
            problems = [p.on(kept) for p, (kept, _) in zip(problems, parts, strict=True)]
            held = [aside for _, aside in parts]
        ends = descend(problems, self, seeds, held)
        return [self._fit(problem, end) for problem, end in zip(problems, ends, strict=True)]

    def _fit(self, problem: Problem, end: Descended) -> Fit:
        objective = float(end.path.objective[-1]) if len(end.path.objective) else float("nan")

        def spread() -> np.ndarray:
            return descent_covariance(problem, end.theta, end.beta, end.b, self)

        return Fit.of(problem, end.theta, end.beta, end.b, objective, spread, end.path)


@dataclass(frozen=True, eq=False)
class BlockCoordinateDescent(StochasticOptimisation):
    """Algorithm 1 of the paper: B = L L', exp on the diagonal of L, is learned from the variate's B with (theta, beta).

    `shared_state` keeps one state of the optimiser for both blocks: while one is updated the other's gradient counts as
    zero, and its momentum moves it on. `b_first` updates B before (theta, beta).
    """

    learning_rate_b: Rate | None = None
    shared_state: bool = False  # type: ignore[misc]
    b_first: bool = False  # type: ignore[misc]

    learn_b = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learning_rate_b is not None:
            check_rate(self.learning_rate_b, "The learning rate of B")

    def rates_of_b(self, epochs: int) -> Float[np.ndarray, " epochs"]:
        """The learning rate of B in every epoch: its own, or that of theta and beta."""
        return self.rates(epochs, self.learning_rate_b)

    @classmethod
    def as_published(cls, **settings: Any) -> BlockCoordinateDescent:
        """The settings of the authors' program: rate times 0.99 per epoch, one Adam state, B first, float32."""
        published = {"decay": 0.99, "shared_state": True, "b_first": True, "precision": "float32"}
        return cls(**{**published, **settings})
