"""Finding a good model from nothing: lengthscales, axes, coordinates, polynomial parts and family.

Coarse to fine: short looks at every start on a part of the rows, the best of them with a weight and a lengthscale for
each axis, or as much of that as there are values to choose it by; then rougher families, and polynomial parts beside
the best; and a few last steps on more rows. Within a model the restricted likelihood chooses the parameters; between
models their merit decides: promised error of the means and left-out residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import LinAlgError

from ..data import CoordinateSystem
from ..kernels import Kernel
from ..linear_system.design import Design
from ..linear_system.mean_errors import Errors
from ..linear_system.model import Criterion, Model, criterion_and_gradient, solve
from ..runtime.threads import one_thread
from .parameters import Parameters
from .starts import CANDIDATES, change_family, with_parts, without_noise
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

#: Starting noise of models whose polynomial parts are as large as the kernel.
PARTS_STARTS = (1e-6, 1e-2)

#: Evaluations of the objective for a first look, for a model from nothing, from a tuned neighbour, on more rows.
FIRST_LOOK, FROM_NOTHING, FROM_NEIGHBOUR, ON_MORE_ROWS = 20, 80, 25, 12

#: Rows on which models are first looked for.
COARSE_ROWS = 256

#: First looks that are followed.
MOST_FOLLOWED = 2

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
    """One model for each family, at the best coordinate system and level of the first, and one with polynomial parts.

    Where there are more rows than are searched on, the best one without parts and the one with them, tuned on more. A
    family whose covariance cannot be factorised is left out; only if none can, that is an error.
    """
    coarse = {system: design.thinned(COARSE_ROWS) for system, design in designs.items()}
    with one_thread():
        alone, with_polynomials = _on_coarse_rows(coarse, start, families, criterion)
    best = min(alone, key=_merit)
    if designs[best.system].size == coarse[best.system].size:
        return [*alone, *with_polynomials]
    pair = [best, *with_polynomials]
    return those_that_work(partial(refit, f, designs[f.system], f.model, criterion, ON_MORE_ROWS) for f in pair)


def _on_coarse_rows(
    coarse: Mapping[Any, Design], start: Start, families: Sequence[str | Kernel], criterion: Criterion
) -> tuple[list[Found], list[Found]]:
    """A model of each family, and the best with polynomial parts."""
    looks = sorted(those_that_work(_looks(coarse, start, families[0], criterion)), key=_merit)
    alone = [_richer(coarse, [look for look in looks if not look.model.log_parts.size], criterion)]
    for family in families[1:]:
        last = alone[-1]
        # What a smooth family takes for noise may be the shape of a rough one: it starts without.
        start_model = without_noise(change_family(last.model, family))
        attempt = partial(refit, last, coarse[last.system], start_model, criterion, family=family)
        alone += those_that_work([attempt], required=False)
    return alone, _with_parts(coarse, looks, min(alone, key=_merit), criterion)


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
    level: int | None = None,
) -> Found:
    """Tune `start` on a design, tied as another model was or at another level, and judge it."""
    level = found.level if level is None else level
    objective, tied, floor = _objective(design, criterion), LEVELS[level], noise_floor(design)
    try:
        tuned = tune(objective, start, tied, max_evaluations, floor)
    except LinAlgError:  # a neighbour's noise may be too little here
        tuned = tune(objective, without_noise(start), tied, max_evaluations, floor)
    return judged(replace(found, tuned=tuned, family=family or found.family, level=level), design)


def judged(found: Found, design: Design) -> Found:
    """The same with its merit: the sum over tasks of those of the answers, so that relative gains count alike."""
    try:
        total = float(np.sum(Errors.of(solve(found.model, design), design, found.tuned.free).merit))
    except LinAlgError:
        total = np.inf
    return replace(found, merit=total if np.isfinite(total) else np.inf)


def noise_floor(design: Design) -> float:
    """The smallest relative noise with which a Cholesky factorisation of N rows is safe in float64."""
    return max(1e-13, 10 * design.size * np.finfo(float).eps)


def _richer(designs: Mapping[Any, Design], looks: list[Found], criterion: Criterion) -> Found:
    """The best of the looks, or of the first ones with a weight and lengthscale for each axis, as values allow."""
    level = _richest_level(looks[0].model, designs[looks[0].system])
    if looks[0].model.kernel.log_axes.size == 1 or level == 0:
        return looks[0]
    richer = partial(refit, criterion=criterion, max_evaluations=FROM_NOTHING, level=level)
    attempts = (partial(richer, f, designs[f.system], f.model) for f in looks[:MOST_FOLLOWED])
    return min([looks[0], *those_that_work(attempts, required=False)], key=_merit)


def _with_parts(designs: Mapping[Any, Design], looks: list[Found], best: Found, criterion: Criterion) -> list[Found]:
    """Polynomial parts: beside the best kernel, small at first; and as large as the kernel from the start."""
    design = designs[best.system]
    if design.ridge is None:
        return []
    beside = partial(refit, best, design, with_parts(best.model, design, small=True), criterion)
    large = next((look for look in looks if look.model.log_parts.size), None)
    longer = [partial(refit, large, designs[large.system], large.model, criterion)] if large else []
    found = those_that_work([partial(beside, max_evaluations=2 * FROM_NEIGHBOUR), *longer], required=False)
    return [min(found, key=_merit)] if found else []


def _looks(designs: Mapping[Any, Design], start: Start, family: str | Kernel, criterion: Criterion) -> Iterable:
    """First looks with all dimensions alike: without polynomial parts in every system, with them in the last one."""
    for system, design in designs.items():
        scale = np.sqrt(design.side.points.shape[1])
        for factor, noise in STARTS:
            yield partial(_look, system, design, start(family, design, factor * scale, noise), family, criterion)
    if design.ridge is not None:
        for noise in PARTS_STARTS:
            model = with_parts(start(family, design, scale, noise), design)
            yield partial(_look, system, design, model, family, criterion)


def _look(system: Any, design: Design, model: Model, family: str | Kernel, criterion: Criterion) -> Found:
    tuned = tune(_objective(design, criterion), model, LEVELS[0], FIRST_LOOK, noise_floor(design))
    return judged(Found(tuned, np.inf, system, family, 0), design)


def _richest_level(model: Model, design: Design) -> int:
    """The last level with at least four values for every three parameters."""
    counts = [Parameters(model, tied).count for tied in LEVELS]
    return max((level for level, count in enumerate(counts) if 4 * count <= 3 * design.values.size), default=0)


def _objective(design: Design, criterion: Criterion):
    return lambda model: criterion_and_gradient(model, design, criterion)


def _merit(found: Found) -> float:
    return found.merit
