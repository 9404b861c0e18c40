"""What a stochastic descent is told: epochs, batches, rates, penalty, early stopping (paper, section 4 and A.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
from jaxtyping import Float

from ..data import is_number, one_of, whole_number
from .objective import Objective, Variance, check_objective, check_penalty
from .variates.space import Penalty

if TYPE_CHECKING:
    from optax import GradientTransformation
else:  # takes as long to import as everything else
    GradientTransformation = Any

Rate = float | Callable[[int], float]


@dataclass(frozen=True, eq=False)
class DescentSettings:
    """The settings that Algorithms 1 and 2 share; `StochasticOptimisation` explains them."""

    epochs: int = 400
    batch_size: int | Sequence[int] | None = 10
    learning_rate: Rate = 1e-2
    decay: float = 1.0
    regularization: float = 1e-5
    penalty: Penalty = "euclidean"
    objective: Objective = Variance()
    optimizer: GradientTransformation | None = None
    held_out: float = 0.0
    patience: int = 20
    precision: Literal["float64", "float32"] = "float64"
    diverged: float = 2.0
    progress: bool | None = None
    interruptible: bool = False
    start_theta: Any = None
    start_beta: Any = None

    learn_b: ClassVar[bool] = False
    shared_state: ClassVar[bool] = False
    b_first: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check(self)

    def rates(self, epochs: int, rate: Rate | None = None) -> Float[np.ndarray, " epochs"]:
        """The learning rate of every epoch."""
        rate = self.learning_rate if rate is None else rate
        if callable(rate):
            return np.array([float(rate(epoch)) for epoch in range(epochs)])
        return rate * self.decay ** np.arange(epochs)

    def scales(self, epochs: int) -> Float[np.ndarray, "epochs 2"]:
        """Factors of the updates of (theta, beta) and of B; an optimiser of the user's has its own sign and rate."""
        if self.optimizer is not None:
            return np.ones((epochs, 2))
        rates = self.rates(epochs)
        return -np.stack([rates, self.rates_of_b(epochs)], axis=1)

    def rates_of_b(self, epochs: int) -> Float[np.ndarray, " epochs"]:
        """The learning rate of B in every epoch."""
        return self.rates(epochs)


def check_rate(rate: Rate, what: str) -> None:
    """Refuse a rate that is neither a positive number nor a function of the epoch."""
    if not callable(rate) and not (is_number(rate) and 0 < rate < np.inf):
        raise ValueError(f"{what} must be positive and finite, but is {rate!r}.")


def check_tolerance(tolerance: float) -> None:
    """Refuse what is no distance at which steps are small enough."""
    if not (is_number(tolerance) and 0 <= tolerance < np.inf):
        raise ValueError(f"The tolerance must be a number of at least zero, but is {tolerance!r}.")


def _check(settings: DescentSettings) -> None:
    object.__setattr__(settings, "epochs", whole_number(settings.epochs, 0, "The number of epochs"))
    one_of(settings.penalty, get_args(Penalty), "The penalty")
    check_rate(settings.learning_rate, "The learning rate")
    if not (
        settings.optimizer is None or (hasattr(settings.optimizer, "init") and hasattr(settings.optimizer, "update"))
    ):
        raise ValueError(
            f"The optimizer must be one of optax's, such as optax.adam(1e-2), but is {settings.optimizer!r}."
        )
    if not (is_number(settings.held_out) and 0 <= settings.held_out < 1):
        raise ValueError(f"held_out is a fraction of the data, from 0 to below 1, but is {settings.held_out!r}.")
    if not (is_number(settings.decay) and 0 < settings.decay < np.inf):
        raise ValueError(
            f"decay multiplies the learning rate, and must be positive and finite, not {settings.decay!r}."
        )
    whole_number(settings.patience, 1, "The patience, in epochs,")
    one_of(settings.precision, ("float64", "float32"), "The precision")
    if not (is_number(settings.diverged) and settings.diverged > 0):
        raise ValueError(f"diverged is a positive multiple of the first objective, but is {settings.diverged!r}.")
    check_penalty(settings.regularization)
    check_objective(settings.objective)
    settings.objective.check_batches(settings.batch_size)
