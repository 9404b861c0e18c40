"""Finding a good model from nothing: lengthscales, axes, coordinates, parts and family.

Coarse to fine: short looks at every start on few rows; the best of them race with a weight and a lengthscale for each
axis, or as much of that as there are values to choose it by, along the axes or along directions that values have led;
then rougher families, and parts beside the best; and a few last steps on more rows. In a race all take the
first steps, and the best goes on. Within a model the restricted likelihood chooses the parameters; between models their
merit decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from types import MappingProxyType
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..linear_system.design import Design
from ..linear_system.evaluation import Criterion
from ..linear_system.model import Model
from ..runtime.threads import cores, one_thread, whenever_idle, worth_a_thread
from .attempts import those_that_work
from .chance import Led, surer, with_turns
from .descent import Memory
from .followed import worth_following
from .found import Found
from .interrupt import stop_requested
from .levels import richest_level, rows_for_each_axis
from .refit import judged, refit, tuned
from .starts import CANDIDATES, change_family, with_axes, with_parts, without_noise

#: Starting lengthscales, in units of the typical distance sqrt(d) of two points, each with its noise: a smooth function
#: without, a wiggly one with. (From hardly any noise no gradient leads to a noisy optimum.)
STARTS = ((1.0, 1e-6), (0.3, 1e-2))

#: Starting noise of models whose parts are as large as the kernel: without and with, as above.
PARTS_STARTS = (1e-6, 1e-2)

#: Rows of first looks, those on which models are tuned, and those of the last steps but one: an evaluation costs their
#: cube, and so many tell families and coordinates apart (seconds: `benchmarks/time_to_answer.py`).
LOOK_ROWS, COARSE_ROWS, MORE_ROWS = 128, 256, 512

#: Evaluations of the objective for a first look: enough to rank starts, most of which are dropped. (Most end sooner,
#: where nothing is gained any more: `tuning.tune`.)
FIRST_LOOK = 20

#: Evaluations of all who race and, after them, of the best; for each axis's weight and lengthscale, another family,
#: parts, more rows: on `benchmarks/trust` twice as many take twice the time for errors 3 to 7 % smaller.
RACE, FAMILY_RACE, PARTS_RACE, ROWS_RACE = (40, 40), (15, 20), (20, 30), (14, 7)

#: Lag in the merit of each task with which a model is dropped: it would have 3 % of the best one's weight, exp(-3.5).
FAR_BEHIND = 0.7

_merit = attrgetter("merit")
Start = Callable[[str | Kernel, Design, float, float], Model]
#: First looks at some designs, not yet taken.
Looks = Callable[[Mapping[Any, Design]], Iterator[Callable[[], "Found"]]]


def search(
    designs: Mapping[Any, Design],
    start: Start,
    families: Sequence[str | Kernel] = CANDIDATES,
    criterion: Criterion = "reml",
    neighbours: Sequence[Found] = (),
    led: Led = MappingProxyType({}),
) -> list[Found]:
    """A model of each family that keeps up, in the best system and at the best level of the first, and one with parts.

    Where there are more rows than are searched on, the best without parts and the one with them, tuned on more. What
    cannot be factorised is left out; only if nothing can, that is an error. Neighbours are what was found for another
    task: where they suit this one as well, they are tuned to it, and nothing else is looked for. Systems that values
    have `led` have axes of different weight from the start: with all alike no first look could tell them from others.
    """
    rows = max(COARSE_ROWS, *(rows_for_each_axis(design, MORE_ROWS) for design in designs.values()))
    coarse = {system: design.thinned(rows) for system, design in designs.items()}
    with one_thread():
        looks = partial(_looks, start=start, family=families[0], criterion=criterion)
        nearby = _from_neighbours(coarse, neighbours, looks, criterion)
        alone, with_polynomials = nearby or _on_coarse_rows(coarse, looks, families, criterion, led)
        alone, with_polynomials = ([with_turns(f, coarse, led) for f in each] for each in (alone, with_polynomials))
        best = min(alone, key=_merit)
        if designs[best.system].size == coarse[best.system].size:
            return [*alone, *with_polynomials]
        return _on_more_rows([best, *with_polynomials], designs, criterion)


def _on_more_rows(found: list[Found], designs: Mapping[Any, Design], criterion: Criterion) -> list[Found]:
    """The same after a few more steps on more rows and fewer on all, those left out that fall far behind."""
    design = designs[found[0].system]
    rows_of_steps = (MORE_ROWS, design.size) if design.size > MORE_ROWS else (design.size,)
    steps = zip(rows_of_steps, ROWS_RACE[1:] if few_rows(design) is design else ROWS_RACE, strict=False)
    for rows, evaluations in () if stop_requested() else steps:
        attempts = (partial(_further, f, designs[f.system].thinned(rows), criterion, evaluations) for f in found)
        found = _not_far_behind(those_that_work(attempts, at_once=worth_a_thread(rows)), designs)
    return found


def _further(found: Found, design: Design, criterion: Criterion, evaluations: int) -> Found:
    return replace(refit(found, design, found.model, criterion, evaluations), merit_at_first=found.merit_of_search)


def _from_neighbours(
    coarse: Mapping[Any, Design], neighbours: Sequence[Found], looks: Looks, criterion: Criterion
) -> tuple[list[Found], list[Found]] | None:
    """Models found for another task, tuned to this one, without parts and with, and a look if it is better.

    None where they serve this task clearly worse than a look does or, there being more in several dimensions than a
    look can see, clearly worse than the other task.
    """
    attempts = [
        partial(refit, near, design, near.model, criterion, level=min(near.level, richest_level(near.model, design)))
        for near in neighbours
        if (design := coarse.get(near.system)) is not None
    ]
    if not attempts or stop_requested():
        return None
    near_and_look = (partial(those_that_work, of, False, _at_once(coarse)) for of in (attempts, [next(looks(coarse))]))
    found, look, *_ = [*those_that_work(near_and_look, at_once=_at_once(coarse)), []]
    alone = [f for f in found if not f.model.log_parts.size]
    if not alone:
        return None
    best, several_axes = min(found, key=_merit), found[0].model.kernel.log_axes.size > 1
    rivals = [f.merit for f in look] + [near.merit_of_search for near in neighbours if several_axes]
    if best.merit > min(rivals, default=best.merit) + FAR_BEHIND:
        return None
    kept = _not_far_behind([*found, *look], coarse)
    alone += [f for f in look if f.merit < best.merit]
    with_polynomials = [f for f in found if f not in alone and f in kept]
    return [f for f in alone if f in kept] or [min(alone, key=_merit)], with_polynomials


def _on_coarse_rows(
    coarse: Mapping[Any, Design], all_looks: Looks, families: Sequence[str | Kernel], criterion: Criterion, led: Led
) -> tuple[list[Found], list[Found]]:
    """A model of each family that can keep up, and the best with parts."""
    few = {system: design.thinned(LOOK_ROWS) for system, design in coarse.items() if system not in led}
    looks = sorted(those_that_work(all_looks(few), at_once=_at_once(few)), key=_merit)
    without_parts = [look for look in looks if not look.model.log_parts.size] or looks
    first = _richer(coarse, without_parts, criterion, led)
    rougher = partial(_rougher, coarse=coarse, families=families[1:], criterion=criterion)
    parts = partial(_with_parts, coarse, looks, criterion=criterion)
    if _at_once(coarse) and cores() > 1:  # hardly ever another than the first is the best, which parts are put beside
        with whenever_idle(partial(rougher, first)) as found:  # parts race, and take longer
            beside_first = parts(first)
        alone = found()
    else:
        alone, beside_first = rougher(first), None
    best = min(alone, key=_merit)
    beside_best = beside_first if best is first and beside_first is not None else parts(best)
    alike = surer(min([*alone, *beside_best], key=_merit), without_parts[0], coarse, criterion, led)
    if alike is not None:
        return _not_far_behind(rougher(alike), coarse), parts(alike)
    return _not_far_behind(alone, coarse), beside_best


def _rougher(
    first: Found, coarse: Mapping[Any, Design], families: Sequence[str | Kernel], criterion: Criterion
) -> list[Found]:
    """The first, and one of each rougher family from the one before, up to one that falls far behind."""
    found = [first]
    for family in () if stop_requested() else families:
        last = found[-1]
        # What a smooth family takes for noise may be the shape of a rough one: it starts without.
        start_model = without_noise(change_family(last.model, family))
        attempt = partial(refit, last, coarse[last.system], start_model, criterion, family=family)
        rougher = race([attempt], FAMILY_RACE, coarse, criterion, required=False, rivals=found)
        found += rougher
        if rougher and rougher[0] not in _not_far_behind(found, coarse):
            break  # still rougher ones will not do better
    return found


def _not_far_behind(found: list[Found], designs: Mapping[Any, Design]) -> list[Found]:
    """Those that can still matter."""
    limit = min(f.merit for f in found) + FAR_BEHIND * designs[found[0].system].means
    return [f for f in found if f.merit <= limit]


def refit_from_few_rows(
    found: Found, design: Design, start: Model, criterion: Criterion, max_evaluations: int
) -> Found:
    """The same, most evaluations on few rows and the last on all, where they are clearly more."""
    few = few_rows(design)
    first = refit(found, few, start, criterion, max_evaluations)
    return first if few is design else refit(first, design, first.model, criterion, ROWS_RACE[1])


def few_rows(design: Design) -> Design:
    """The rows of most evaluations: all, or few where all are clearly more."""
    return design.thinned(COARSE_ROWS) if 2 * design.size > 3 * COARSE_ROWS else design


def race(
    attempts: Sequence[Callable[..., Found]],
    evaluations: tuple[int, int],
    designs: Mapping[Any, Design],
    criterion: Criterion,
    required: bool = True,
    rivals: Sequence[Found] = (),
) -> list[Found]:
    """The best after the first evaluations, after some more of its own, unless it then lags far behind its rivals.

    None where none works and none is required.
    """
    first, more = evaluations
    starts = [partial(a, max_evaluations=first, memory=Memory()) for a in attempts]
    found = those_that_work(starts, required, _at_once(designs))
    if not found:
        return []
    best = min(found, key=_merit)
    if stop_requested() or best not in _not_far_behind([best, *rivals], designs):
        return [best]
    further = partial(refit, best, designs[best.system], best.model, criterion, more, memory=best.tuned.memory)
    return [min([best, *those_that_work([further], required=False)], key=_merit)]


def _richer(designs: Mapping[Any, Design], looks: list[Found], criterion: Criterion, led: Led) -> Found:
    """The best of the looks, or of the first ones and those led by values, with as much for each axis as they allow."""
    first = looks[0]
    level = richest_level(first.model, designs[first.system])
    if first.model.kernel.log_axes.size == 1 or level == 0:
        return refit(first, designs[first.system], first.model, criterion)
    followed = worth_following(looks, designs)
    attempts = [partial(refit, f, designs[f.system], f.model, criterion, level=level) for f in followed]
    for system, weights in led.items():
        start = with_axes(first.model, designs[system], weights)
        attempts.append(partial(refit, replace(first, system=system), designs[system], start, criterion, level=level))
    return race(attempts, RACE, designs, criterion)[0]


def _with_parts(designs: Mapping[Any, Design], looks: list[Found], best: Found, criterion: Criterion) -> list[Found]:
    """Parts: beside the best kernel, small at first; and as large as the kernel from the start."""
    design = designs[best.system]
    if design.ridge is None or stop_requested():
        return []
    beside = partial(refit, best, design, with_parts(best.model, design, small=True), criterion)
    large = next((look for look in looks if look.model.log_parts.size), None)
    longer = [partial(refit, large, designs[large.system], large.model, criterion)] if large else []
    return race([beside, *longer], PARTS_RACE, designs, criterion, required=False)


def _looks(designs: Mapping[Any, Design], start: Start, family: str | Kernel, criterion: Criterion) -> Iterator:
    """First looks with all dimensions alike: without parts in every system, with them in the last one."""
    for system, design in designs.items():
        scale = np.sqrt(design.side.points.shape[1])
        for factor, noise in STARTS:
            yield partial(_look, system, design, start(family, design, factor * scale, noise), family, criterion)
    if design.ridge is not None:
        for noise in PARTS_STARTS:
            model = with_parts(start(family, design, scale, noise), design)
            yield partial(_look, system, design, model, family, criterion)


def _look(system: Any, design: Design, model: Model, family: str | Kernel, criterion: Criterion) -> Found:
    return judged(Found(tuned(design, model, criterion, 0, FIRST_LOOK), np.inf, system, family, 0), design)


def _at_once(designs: Mapping[Any, Design]) -> bool:
    """Whether searches on these rows go side by side."""
    return worth_a_thread(next(iter(designs.values())).size)
