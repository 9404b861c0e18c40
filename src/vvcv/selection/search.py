"""Finding a good model from nothing: lengthscales, axes, coordinates and family.

All dimensions alike first, from two starts; then each with a weight and a lengthscale of its own, or as much of that as
there are values to choose it by; then rougher families, from there, while they help. Within a model the restricted
likelihood chooses the parameters; between models, whose likelihoods do not compare (other columns, other numbers
of parameters), the promised error of the means decides, corrected by exact leave-one-out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import LinAlgError

from ..data import CoordinateSystem
from ..kernels import Kernel
from .dense import DenseSystem
from .design import Design
from .families import CANDIDATES, change_family
from .model import Criterion, Model, criterion_and_gradient, solve
from .parameters import Parameters
from .tune import Tuned, tune

#: Ties of the levels: all dimensions alike, each with its own weight, each with its own weight and lengthscale.
LEVELS: tuple[frozenset[str], ...] = (
    frozenset({"log_lengthscale", "log_axes"}),
    frozenset({"log_lengthscale"}),
    frozenset(),
)

#: Starting lengthscales, in units of the typical distance sqrt(d) of two standardised points.
START_LENGTHSCALES = (1.0, 0.3)

#: Evaluations of the objective for a new model, for one that starts from a tuned neighbour, and for a first look.
FROM_NOTHING, FROM_NEIGHBOUR, FIRST_LOOK = 80, 40, 50

Start = Callable[[str | Kernel, Design, float], Model]


@dataclass(frozen=True)
class Found:
    """A tuned model, where it was found, how its parameters are tied, and its score (less is better)."""

    tuned: Tuned
    score: float
    system: CoordinateSystem
    family: str | Kernel
    level: int

    @property
    def model(self) -> Model:
        """The model itself."""
        return self.tuned.model


def search(
    designs: Mapping[Any, Design],
    start: Start,
    families: Sequence[str | Kernel] = CANDIDATES,
    criterion: Criterion = "reml",
    max_evaluations: int = FROM_NOTHING,
) -> Found:
    """The model with the best score over coordinate systems, levels and families."""
    candidates = [
        found
        for system, design in designs.items()
        for found in _levels(system, design, start, families[0], criterion, max_evaluations)
    ]
    best = min(candidates, key=_score)
    for family in families[1:]:  # from smooth to rough, for as long as roughness helps
        rougher = refit(best, designs[best.system], change_family(best.model, family), criterion, family=family)
        if rougher.score >= best.score:
            break
        best = rougher
    return best


def refit(
    found: Found,
    design: Design,
    start: Model,
    criterion: Criterion = "reml",
    max_evaluations: int = FROM_NEIGHBOUR,
    family: str | Kernel | None = None,
) -> Found:
    """Tune `start` on a design, tied as another model was."""
    tuned = tune(_objective(design, criterion), start, LEVELS[found.level], max_evaluations, noise_floor(design))
    return Found(tuned, score(tuned, design), found.system, family or found.family, found.level)


def promised_errors(system: DenseSystem, design: Design, count: int) -> Float[np.ndarray, " T"]:
    """Standard errors of the means (in standard units): the model's, corrected by its left-out residuals.

    sqrt(cov beta_t) times the root mean square of residual / deviation over the values of task t, each predicted from
    all others: a model that is too sure of itself pays for it. The residuals do not know that `count` parameters were
    tuned on the same N values, which costs exp(count / N) on this scale (Akaike).
    """
    tuning = np.exp(count / design.values.size)
    residual, variance = system.leave_one_out()
    squared = residual**2 / variance
    if squared.ndim == 2:
        return tuning * np.sqrt(system.covariance[0, 0] * squared.mean(axis=0))
    calibration = np.array([squared[design.rows(task)].mean() for task in range(design.tasks)])
    return tuning * np.sqrt(np.diag(system.covariance)[: design.tasks] * calibration)


def score(tuned: Tuned, design: Design) -> float:
    """Sum over tasks of the logarithm of the promised error: relative gains count alike on every task."""
    try:
        total = float(np.sum(np.log(promised_errors(solve(tuned.model, design), design, tuned.free) + 1e-300)))
    except LinAlgError:
        return np.inf
    return total if np.isfinite(total) else np.inf


def noise_floor(design: Design) -> float:
    """The smallest relative noise with which a Cholesky factorisation of N rows is safe in float64."""
    return max(1e-13, 10 * design.size * np.finfo(float).eps)


def _levels(
    system: CoordinateSystem,
    design: Design,
    start: Start,
    family: str | Kernel,
    criterion: Criterion,
    max_evaluations: int,
) -> list[Found]:
    objective, floor = _objective(design, criterion), noise_floor(design)
    d = design.side.points.shape[1]
    starts = [start(family, design, factor * np.sqrt(d)) for factor in START_LENGTHSCALES]
    alike = min((tune(objective, model, LEVELS[0], FIRST_LOOK, floor) for model in starts), key=lambda t: t.value)
    found = [Found(alike, score(alike, design), system, family, 0)]
    level = _richest_level(alike.model, design)
    if d > 1 and level > 0:
        rich = tune(objective, alike.model, LEVELS[level], max_evaluations, floor)
        found.append(Found(rich, score(rich, design), system, family, level))
    return found


def _richest_level(model: Model, design: Design) -> int:
    """The last level with fewer parameters than there are values to choose them by."""
    counts = [Parameters(model, tied).count for tied in LEVELS]
    return max((level for level, count in enumerate(counts) if count < design.values.size), default=0)


def _objective(design: Design, criterion: Criterion):
    return lambda model: criterion_and_gradient(model, design, criterion)


def _score(found: Found) -> float:
    return found.score
