"""Finding a good model from nothing: lengthscales, axes, coordinates and family.

One lengthscale for all dimensions first, from two starts; then one lengthscale and one weight for each axis;
then rougher families, from there, while they help. Within a model the restricted likelihood chooses the parameters; between models,
whose likelihoods do not compare (different columns, different numbers of parameters), exact leave-one-out decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError

from .design import Design
from .families import CANDIDATES, change_family
from .model import Criterion, Model, criterion_and_gradient, solve
from .tune import Tuned, tune

#: Ties of the two levels: all dimensions alike, or each its own.
LEVELS: tuple[frozenset[str], ...] = (frozenset({"log_lengthscale", "log_axes"}), frozenset())

#: Starting lengthscales, in units of the typical distance sqrt(d) of two standardised points.
START_LENGTHSCALES = (1.0, 0.3)

#: Evaluations of the objective for a new model, for one that starts from a tuned neighbour, and for a first look.
FROM_NOTHING, FROM_NEIGHBOUR, FIRST_LOOK = 80, 40, 25

Start = Callable[[str, Design, float], Model]


@dataclass(frozen=True)
class Found:
    """A tuned model, where it was found, how its parameters are tied, and its leave-one-out score (less is better)."""

    tuned: Tuned
    score: float
    system: str
    family: str
    level: int

    @property
    def model(self) -> Model:
        """The model itself."""
        return self.tuned.model


def search(
    designs: Mapping[str, Design],
    start: Start,
    families: Sequence[str] = CANDIDATES,
    criterion: Criterion = "reml",
    max_evaluations: int = FROM_NOTHING,
) -> Found:
    """The model with the best leave-one-out score over coordinate systems, levels and families."""
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
    family: str | None = None,
) -> Found:
    """Tune `start` on a design, tied as another model was."""
    tuned = tune(_objective(design, criterion), start, LEVELS[found.level], max_evaluations, noise_floor(design))
    return Found(tuned, leave_one_out_score(tuned.model, design), found.system, family or found.family, found.level)


def leave_one_out_score(model: Model, design: Design) -> float:
    """Sum over tasks of log mean squared leave-one-out residual: relative gains count alike on every task."""
    try:
        residual, _ = solve(model, design).leave_one_out()
    except LinAlgError:
        return np.inf
    squared = residual.reshape(design.size, -1) ** 2
    by_task = [np.log(squared[design.rows(task)].mean(axis=0) + 1e-300).sum() for task in range(design.tasks)]
    return float(np.sum(by_task))


def noise_floor(design: Design) -> float:
    """The smallest relative noise with which a Cholesky factorisation of N rows is safe in float64."""
    return max(1e-13, 10 * design.size * np.finfo(float).eps)


def _levels(
    system: str, design: Design, start: Start, family: str, criterion: Criterion, max_evaluations: int
) -> list[Found]:
    objective, floor = _objective(design, criterion), noise_floor(design)
    d = design.side.points.shape[1]
    starts = [start(family, design, factor * np.sqrt(d)) for factor in START_LENGTHSCALES]
    alike = min((tune(objective, model, LEVELS[0], FIRST_LOOK, floor) for model in starts), key=lambda t: t.value)
    tuned = [alike]
    if d > 1:
        tuned.append(tune(objective, alike.model, LEVELS[1], max_evaluations, floor))
    return [Found(t, leave_one_out_score(t.model, design), system, family, level) for level, t in enumerate(tuned)]


def _objective(design: Design, criterion: Criterion):
    return lambda model: criterion_and_gradient(model, design, criterion)


def _score(found: Found) -> float:
    return found.score
