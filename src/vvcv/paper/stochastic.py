"""Selection by stochastic optimisation: Algorithm 2 (B known) and Algorithm 1 (B learned) of the paper.

    (theta, beta) <- Update(theta, beta; mini-batch of L_vv),    B = L L' <- Update(B; mini-batch of Lbar_vv)

One compiled loop over epochs and batches serves all replications at once, all learning rates and all variates; theta
starts at 0, beta at the plain averages (A.2), and the path of beta, B and the objective is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import numpy as np
import optax
from jaxtyping import Float

from .objective import Variance

Rate = float | Callable[[int], float]


class Path(NamedTuple):
    """What happened epoch by epoch: means, mini-batch objective, B, and J_vv on held-out data."""

    mean: Float[np.ndarray, "epochs T"]
    objective: Float[np.ndarray, " epochs"]
    coregionalization: Float[np.ndarray, "epochs T T"]
    held_out: Float[np.ndarray, " epochs"] | None


@dataclass(frozen=True, eq=False)
class StochasticOptimisation:
    """Algorithm 2 of the paper: B stays as the variate has it.

    `batch_size` counts rows over all tasks. `learning_rate` is a number (times `decay` after each epoch) or a function
    of the epoch; `optimizer` any optax optimiser, with a learning rate of its own. `held_out` sets a fraction of every
    task aside, and the fit stops when J_vv there has not improved for `patience` epochs. A fit whose objective
    ends above `diverged` times its value without a control variate is refused. `interruptible` makes Ctrl-C return the
    best state so far.

    >>> StochasticOptimisation(learning_rate=0.1, decay=0.5).rates(3)
    array([0.1  , 0.05 , 0.025])
    """

    epochs: int = 400
    batch_size: int | None = 10
    learning_rate: Rate = 1e-2
    decay: float = 1.0
    regularization: float = 1e-5
    penalty: Literal["euclidean", "rkhs"] = "euclidean"
    objective: Variance = Variance()
    optimizer: optax.GradientTransformation | None = None
    held_out: float = 0.0
    patience: int = 20
    precision: Literal["float64", "float32"] = "float64"
    diverged: float = 2.0
    progress: bool = False
    interruptible: bool = False

    learn_b = False

    def __post_init__(self) -> None:
        _check(self)

    def rates(self, epochs: int, rate: Rate | None = None) -> Float[np.ndarray, " epochs"]:
        """The learning rate of every epoch."""
        rate = self.learning_rate if rate is None else rate
        if callable(rate):
            return np.array([float(rate(epoch)) for epoch in range(epochs)])
        return rate * self.decay ** np.arange(epochs)


@dataclass(frozen=True, eq=False)
class BlockCoordinateDescent(StochasticOptimisation):
    """Algorithm 1 of the paper: B = L L', exp on the diagonal of L, is learned from the variate's B with (theta, beta).

    `shared_state` keeps one state of the optimiser for both blocks: while one is updated the other's gradient counts as
    zero, and its momentum moves it on. `b_first` updates B before (theta, beta).
    """

    learning_rate_b: Rate | None = None
    shared_state: bool = False
    b_first: bool = False

    learn_b = True

    @classmethod
    def as_published(cls, **settings: Any) -> BlockCoordinateDescent:
        """The settings of the authors' program: rate times 0.99 per epoch, one Adam state, B first, float32."""
        published = {"decay": 0.99, "shared_state": True, "b_first": True, "precision": "float32"}
        return cls(**{**published, **settings})


def _check(settings: StochasticOptimisation) -> None:
    if int(settings.epochs) != settings.epochs or settings.epochs < 0:
        raise ValueError(f"The number of epochs must be an integer of at least 0, but is {settings.epochs!r}.")
    if not callable(settings.learning_rate) and not (0 < settings.learning_rate < np.inf):
        raise ValueError(f"The learning rate must be positive and finite, but is {settings.learning_rate!r}.")
    if not 0 <= settings.held_out < 1:
        raise ValueError(f"held_out is a fraction of the data, from 0 to below 1, but is {settings.held_out!r}.")
    if not (np.isfinite(settings.regularization) and settings.regularization >= 0):
        raise ValueError(f"The penalty lambda must be finite and not negative, but is {settings.regularization!r}.")
    if not isinstance(settings.objective, Variance):
        raise ValueError(
            "Mini-batches of shuffled rows have no autocovariance, but the MCMC objective has a closed form. Use Exact."
        )


def as_generator(seed: int | jax.Array) -> np.random.Generator:
    """A generator from an integer or from a JAX key.

    Rows are shuffled on the host: a sort and a generator inside the loop would only take time to compile.
    """
    entropy = seed if isinstance(seed, int | np.integer) else np.asarray(jax.random.key_data(seed)).ravel()
    return np.random.default_rng(entropy)
