"""Finding a good model from nothing: lengthscales, axes, coordinates and family, by restricted likelihood.

One lengthscale for all dimensions first, from two starts; then one lengthscale and one weight for each axis, from there;
then the other families, from there. Models with more parameters must earn them (Akaike).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .design import Design
from .families import FAMILIES, change_family
from .model import Criterion, Model, criterion_and_gradient
from .tune import Tuned, tune

#: Ties of the two levels: all dimensions alike, or each its own.
LEVELS: tuple[frozenset[str], ...] = (frozenset({"log_lengthscale", "log_axes"}), frozenset())

#: Starting lengthscales, in units of the typical distance sqrt(d) of two standardised points.
START_LENGTHSCALES = (1.0, 0.3)

Start = Callable[[str, Design, float], Model]


@dataclass(frozen=True)
class Found:
    """The best model of a search, where it was found, and how its parameters are tied."""

    tuned: Tuned
    system: str
    family: str
    level: int


def search(
    designs: Mapping[str, Design],
    start: Start,
    families: Sequence[str] = tuple(FAMILIES),
    criterion: Criterion = "reml",
    max_evaluations: int = 150,
) -> Found:
    """The model with the best penalised criterion over coordinate systems, levels and families."""
    found = [_levels(system, design, start, families[0], criterion, max_evaluations) for system, design in designs.items()]
    best = min((candidate for level in found for candidate in level), key=_rank)
    others = [
        refit(best, designs[best.system], change_family(best.tuned.model, family), criterion, family, max_evaluations // 2)
        for family in families[1:]
    ]
    return min([best, *others], key=_rank)


def refit(
    found: Found, design: Design, start: Model, criterion: Criterion = "reml", family: str | None = None,
    max_evaluations: int = 75,
) -> Found:
    """Tune `start` on a design, tied as another model was."""
    tied = LEVELS[found.level]
    tuned = tune(_objective(design, criterion), start, tied, max_evaluations, noise_floor(design))
    return Found(tuned, found.system, family or found.family, found.level)


def noise_floor(design: Design) -> float:
    """The smallest relative noise with which a Cholesky factorisation of N rows is safe in float64."""
    return max(1e-13, 10 * design.size * np.finfo(float).eps)


def _levels(
    system: str, design: Design, start: Start, family: str, criterion: Criterion, max_evaluations: int
) -> list[Found]:
    objective, floor = _objective(design, criterion), noise_floor(design)
    d = design.side.points.shape[1]
    starts = [start(family, design, factor * np.sqrt(d)) for factor in START_LENGTHSCALES]
    alike = min((tune(objective, model, LEVELS[0], 40, floor) for model in starts), key=lambda t: t.value)
    found = [Found(alike, system, family, 0)]
    if d > 1:
        found.append(Found(tune(objective, alike.model, LEVELS[1], max_evaluations, floor), system, family, 1))
    return found


def _objective(design: Design, criterion: Criterion):
    return lambda model: criterion_and_gradient(model, design, criterion)


def _rank(found: Found) -> float:
    return found.tuned.penalized
