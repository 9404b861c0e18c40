"""Finding a good model from nothing: lengthscales, axes, coordinates and family.

All dimensions alike first, from two starts; then each with a weight and a lengthscale of its own, or as much of that as
there are values to choose it by; then rougher families, from there. Within a model the restricted likelihood chooses
the parameters; between models, whose likelihoods do not compare (other columns, other numbers of parameters), the merit
decides: promised error of the means and left-out residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import LinAlgError

from ..data import CoordinateSystem
from ..kernels import Kernel
from ..linear_system.design import Design
from ..linear_system.mean_errors import Errors
from ..linear_system.model import Criterion, Model, criterion_and_gradient, solve
from .parameters import Parameters
from .starts import CANDIDATES, change_family, without_noise
from .tune import Tuned, tune

#: Ties of the levels: all dimensions alike, each with its own weight, each with its own weight and lengthscale.
LEVELS: tuple[frozenset[str], ...] = (
    frozenset({"log_lengthscale", "log_axes"}),
    frozenset({"log_lengthscale"}),
    frozenset(),
)

#: Starting lengthscales, in units of the typical distance sqrt(d) of two standardised points, each with its noise:
#: a smooth function without, a wiggly one with. (From hardly any noise no gradient leads to a noisy optimum.)
STARTS = ((1.0, 1e-6), (0.3, 1e-2))

#: Evaluations of the objective for a new model, for one that starts from a tuned neighbour, and for a first look.
FROM_NOTHING, FROM_NEIGHBOUR, FIRST_LOOK = 80, 30, 30

#: A coordinate system whose likelihood is this much behind another's at the same level is left.
CLEARLY_BEHIND = 3.0

R = TypeVar("R")

Start = Callable[[str | Kernel, Design, float, float], Model]


@dataclass(frozen=True)
class Found:
    """A tuned model, where it was found, how its parameters are tied, and its merit (less is better).

    `credit` is what a model may lag behind by in the merit of each task and still be preferred, for reasons that
    values left out cannot tell.
    """

    tuned: Tuned
    merit: float
    system: CoordinateSystem
    family: str | Kernel
    level: int
    credit: float = 0.0

    @property
    def model(self) -> Model:
        """The model itself."""
        return self.tuned.model


def search(
    designs: Mapping[Any, Design],
    start: Start,
    families: Sequence[str | Kernel] = CANDIDATES,
    criterion: Criterion = "reml",
) -> list[Found]:
    """One model for each family, at the best coordinate system and level of the first, smoothest first.

    A family whose covariance cannot be factorised is left out; only if none can, that is an error.
    """
    found = [min(_levels(designs, start, families[0], criterion), key=_merit)]
    for family in families[1:]:
        last = found[-1]
        # What a smooth family takes for noise may be the shape of a rough one: it starts without.
        start_model = without_noise(change_family(last.model, family))
        found += those_that_work(
            [partial(refit, last, designs[last.system], start_model, criterion, family=family)], required=False
        )
    return found


def those_that_work(attempts: Iterable[Callable[[], R]], required: bool = True) -> list[R]:
    """What the attempts give, those left out that fail numerically; if all do and one is required, the last failure.

    >>> those_that_work([lambda: 1, lambda: np.linalg.cholesky(-np.eye(1))])
    [1]
    """
    results: list[R] = []
    failure: LinAlgError | None = None
    for attempt in attempts:
        try:
            results.append(attempt())
        except LinAlgError as error:
            failure = error
    if required and failure is not None and not results:
        raise failure
    return results


def refit(
    found: Found,
    design: Design,
    start: Model,
    criterion: Criterion = "reml",
    max_evaluations: int = FROM_NEIGHBOUR,
    family: str | Kernel | None = None,
) -> Found:
    """Tune `start` on a design, tied as another model was."""
    objective, tied, floor = _objective(design, criterion), LEVELS[found.level], noise_floor(design)
    try:
        tuned = tune(objective, start, tied, max_evaluations, floor)
    except LinAlgError:  # a neighbour's noise may be too little here
        tuned = tune(objective, without_noise(start), tied, max_evaluations, floor)
    return Found(tuned, merit(tuned, design), found.system, family or found.family, found.level, found.credit)


def merit(tuned: Tuned, design: Design) -> float:
    """Sum over tasks of the merits of the answers: relative gains count alike on every task."""
    try:
        total = float(np.sum(Errors.of(solve(tuned.model, design), design, tuned.free).merit))
    except LinAlgError:
        return np.inf
    return total if np.isfinite(total) else np.inf


def noise_floor(design: Design) -> float:
    """The smallest relative noise with which a Cholesky factorisation of N rows is safe in float64."""
    return max(1e-13, 10 * design.size * np.finfo(float).eps)


def _levels(designs: Mapping[Any, Design], start: Start, family: str | Kernel, criterion: Criterion) -> list[Found]:
    """The best model with all dimensions alike, and the best with as much of its own for each as the values allow.

    At the same level, likelihoods in two coordinate systems compare (the same values, columns and parameters), and a
    system that is clearly behind is left; the merit decides between the others.
    """
    alike = _not_behind(
        those_that_work(partial(_alike, system, design, start, family, criterion) for system, design in designs.items())
    )
    best = min(alike, key=_merit)
    level = _richest_level(best.model, designs[best.system])
    if best.model.kernel.log_axes.size == 1 or level == 0:
        return [best]
    rich = those_that_work((partial(_richer, designs[f.system], f, level, criterion) for f in alike), required=False)
    return [best, *_not_behind(rich)]


def _richer(design: Design, first: Found, level: int, criterion: Criterion) -> Found:
    """A model with more of its own for each dimension, from one with less."""
    tuned = tune(_objective(design, criterion), first.model, LEVELS[level], FROM_NOTHING, noise_floor(design))
    return Found(tuned, merit(tuned, design), first.system, first.family, level)


def _not_behind(found: list[Found]) -> list[Found]:
    best = min((f.tuned.value for f in found), default=np.inf)
    return [f for f in found if f.tuned.value <= best + CLEARLY_BEHIND]


def _alike(system: CoordinateSystem, design: Design, start: Start, family: str | Kernel, criterion: Criterion) -> Found:
    """All dimensions alike, from the better of two starts."""
    d = design.side.points.shape[1]

    def look(factor: float, noise: float) -> Found:
        model = start(family, design, factor * np.sqrt(d), noise)
        tuned = tune(_objective(design, criterion), model, LEVELS[0], FIRST_LOOK, noise_floor(design))
        return Found(tuned, merit(tuned, design), system, family, 0)

    return min(those_that_work(partial(look, *begin) for begin in STARTS), key=_merit)


def _richest_level(model: Model, design: Design) -> int:
    """The last level with at least four values for every three parameters."""
    counts = [Parameters(model, tied).count for tied in LEVELS]
    return max((level for level, count in enumerate(counts) if 4 * count <= 3 * design.values.size), default=0)


def _objective(design: Design, criterion: Criterion):
    return lambda model: criterion_and_gradient(model, design, criterion)


def _merit(found: Found) -> float:
    return found.merit
