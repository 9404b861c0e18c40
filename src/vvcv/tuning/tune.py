"""Choosing the parameters of a model by restricted likelihood or leave-one-out, with exact gradients."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import jax
import numpy as np
from scipy.linalg import LinAlgError

from ..linear_system.evaluation import Criterion, Evaluation
from ..linear_system.model import Model
from ..runtime.progress import tick
from . import compiled
from .descent import Memory, minimise, minimise_carefully
from .interrupt import stop_requested
from .parameters import Parameters

#: What the objective reports where the covariance cannot be factorised: the line search steps back from it.
INFEASIBLE = 1e15

#: The smallest gain of a step, relative to the objective, after which another is taken. (At 1e-7 many searches go on
#: long after their model is what it will be; at .003 in the objective itself, models of few values end too early.)
GAIN = 3e-6

#: Rows that evaluations are counted for, and how many times the number stated a search takes at least and at most: on
#: fewer rows they cost less. (At most twice as many makes errors of the borehole at 10 to 20 runs 10 to 50 % larger.)
COUNTED_ROWS, SHORTEST, LONGEST = 100, 0.6, 3.0

#: The least where one search serves several integrands on the same points: their errors share what it takes. (At 1 a
#: mild funnel of 1,000 draws is followed better, but covered in 84 instead of 89 %: 12 samples, by `minimise`.)
SHORTEST_OF_SEVERAL = 0.8

Objective = Callable[[Model], tuple[float, Model]]
OfLeaves = Callable[[list[np.ndarray]], tuple[float, Callable[[], list[np.ndarray]], float]]


class Tuned(NamedTuple):
    """A model at the optimum of its criterion, the criterion there, how many numbers were free, and the curvature."""

    model: Model
    value: float
    free: int
    memory: Memory | None = None


def tune(
    objective: Objective,
    start: Model,
    tied: Collection[str] = (),
    max_evaluations: int = 150,
    noise_floor: float = 1e-13,
) -> Tuned:
    """Minimise `objective(model) -> (value, gradient)` over the free parameters of `start`."""
    structure = jax.tree.structure(start)

    def of_leaves(leaves: list[np.ndarray]) -> tuple[float, Callable[[], list[np.ndarray]], float]:
        value, gradient = objective(jax.tree.unflatten(structure, leaves))
        return value, partial(jax.tree.leaves, gradient), 1.0

    return tune_leaves(of_leaves, start, tied, max_evaluations, noise_floor)


def tune_leaves(
    objective: OfLeaves,
    start: Model,
    tied: Collection[str] = (),
    max_evaluations: int = 150,
    noise_floor: float = 1e-13,
    memory: Memory | None = None,
    carefully: bool = False,
) -> Tuned:
    """The same for an objective of a model's leaves, such as `Evaluation`, which spares making models of them.

    It gives the gradient when asked for it, before the next evaluation, and says by what the model is to be multiplied.
    The memory of a search that ended at the start helps this one, which adds to it.
    """
    parameters, best = Parameters(start, tied, noise_floor), _Best()
    function = objective.compiled if isinstance(objective, Evaluation) and compiled.available() else None
    if function is not None and not carefully:
        most = 1 if stop_requested() else max_evaluations
        rest = (parameters.free(start), parameters.box, most, GAIN, INFEASIBLE, memory)
        found = compiled.search(function, parameters.index, *rest)
        tick(found.evaluations)
        best.offer(found.value, found.free, found.factor)
    else:
        with suppress(_StoppedError):
            descend = minimise_carefully if carefully else partial(minimise, memory=memory)
            at = partial(_value_and_slope, objective, parameters, best)
            descend(at, parameters.free(start), parameters.box, max_evaluations, GAIN)
    if best.free is None:
        raise LinAlgError("The covariance could not be factorised anywhere near the starting values.")
    return Tuned(parameters.multiplied(best.free, best.factor), best.value, parameters.count, memory)


def affordable(evaluations: int, rows: int, several: bool = False) -> int:
    """About as many evaluations on these rows as cost what so many would on COUNTED_ROWS.

    >>> affordable(10, rows=50), affordable(10, rows=100), affordable(10, rows=1000)
    (20, 10, 6)
    """
    least = SHORTEST_OF_SEVERAL if several else SHORTEST
    return round(evaluations * min(max(COUNTED_ROWS / rows, least), LONGEST))


def _value_and_slope(
    objective: OfLeaves, parameters: Parameters, best: _Best, free: np.ndarray
) -> tuple[float, Callable[[], np.ndarray]]:
    """The objective of free numbers, and its gradient in them; the best is kept."""
    if stop_requested() and best.free is not None:
        raise _StoppedError
    tick()
    try:
        value, gradient, factor = objective(parameters.leaves(free))
    except LinAlgError:
        value = np.nan
    if not np.isfinite(value):
        return INFEASIBLE, partial(np.zeros_like, free)
    best.offer(value, free, factor)
    return value, lambda: _finite(parameters.slope(gradient()))


def _finite(slope: np.ndarray) -> np.ndarray:
    """A slope that is no number leads nowhere: a search ends there."""
    return slope if np.isfinite(slope).all() else np.zeros_like(slope)


class _StoppedError(Exception):
    """The user has asked to stop: the best point so far will do."""


class _Best:
    """The best point seen, kept because a line search may end elsewhere."""

    def __init__(self) -> None:
        self.value = np.inf
        self.free: np.ndarray | None = None
        self.factor = 1.0

    def offer(self, value: float, free: np.ndarray, factor: float) -> None:
        if value < self.value:
            self.value, self.free, self.factor = value, free.copy(), factor


__all__ = ["Criterion", "Objective", "Tuned", "affordable", "tune", "tune_leaves"]
