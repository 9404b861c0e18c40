"""One model tuned to a design, and judged there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import LinAlgError

from ..kernels import Kernel
from ..linear_system.design import Design
from ..linear_system.evaluation import Criterion, Evaluation
from ..linear_system.mean_errors import Judgement
from ..linear_system.model import Model
from ..linear_system.solution import solve
from .descent import Memory
from .found import Found
from .levels import LEVELS
from .parameters import noise_floor
from .starts import without_noise
from .tune import Tuned, affordable, tune_leaves

#: Evaluations of the objective from a tuned neighbour: enough to settle where the optimum is near. (Most end sooner,
#: where nothing is gained any more: `tuning.tune`.)
FROM_NEIGHBOUR = 25


def refit(
    found: Found,
    design: Design,
    start: Model,
    criterion: Criterion = "reml",
    max_evaluations: int = FROM_NEIGHBOUR,
    family: str | Kernel | None = None,
    level: int | None = None,
    memory: Memory | None = None,
) -> Found:
    """Tune `start` on a design, tied as another model was or at another level, and judge it.

    A search that goes on where another ended, for the same values, has its memory of their curvature. (That of other
    values, fewer or of another task, leads astray.)
    """
    level = found.level if level is None else level
    try:
        better = tuned(design, start, criterion, level, max_evaluations, memory)
    except LinAlgError:  # a neighbour's noise may be too little here
        better = tuned(design, without_noise(start), criterion, level, max_evaluations, memory)
    return judged(replace(found, tuned=better, family=family or found.family, level=level), design)


def judged(found: Found, design: Design) -> Found:
    """The same with its merit: the sum over tasks of those of the answers, so that relative gains count alike."""
    try:
        judgement = Judgement.of(found.model, solve(found.model, design), design, found.chosen)
    except LinAlgError:
        return replace(found, merit=np.inf, merit_at_first=None)
    total = float(np.sum(judgement.errors.merit))
    merit = total if np.isfinite(total) else np.inf
    return replace(found, merit=merit, judgement=(found.model, judgement), merit_at_first=None)


def tuned(
    design: Design, start: Model, criterion: Criterion, level: int, max_evaluations: int, memory: Memory | None = None
) -> Tuned:
    """A model's parameters tuned on a design, tied as a level says, by at most so many evaluations of its criterion."""
    evaluation, several = Evaluation(start, design, criterion, scaled=True), design.values.ndim == 2
    most = affordable(max_evaluations, design.size, several)
    return tune_leaves(evaluation, start, LEVELS[level], most, noise_floor(design.size), memory, carefully=several)
