"""Exact kernel control variates of several tasks together, in the user's units.

On different points by B k_0, from what tasks know alone, from nothing or from a B that takes all for one function, and
by the shared + own model B k_0 + diag(k_t); on shared points by one covariance for all, where every B gives the same
estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ..data import Coordinates, Prepared, rounded
from ..linear_system.model import Model
from ..tuning.attempts import those_that_work
from ..tuning.found import Found
from ..tuning.levels import LEVELS, enough_alone
from ..tuning.refit import judged, refit
from ..tuning.search import COARSE_ROWS, FAR_BEHIND, RACE, ROWS_RACE, STARTS, few_rows, race, refit_from_few_rows
from ..tuning.starts import (
    change_family,
    in_other_units,
    on_tasks,
    one_function,
    separable_model,
    shared_and_own,
    with_axes,
    with_task_matrix,
    without_noise,
)
from .designs import tuning_design
from .fits import KernelFit
from .kernel import Options, best_of, searched, smoothest
from .linear_parts import axis_weights, start_covariance

#: Tasks whose merits are on average this many times smaller when fitted together clearly inform each other: from then
#: on the start that is almost all own is a search for nothing.
CLEARLY_ALIKE = 2.0

#: How much of a shared + own model is shared at first: this, or one minus this. From the middle a search may end on
#: either side; from one or zero no gradient leads back.
MOSTLY = 0.99

#: What a model of all tasks as one function may lag behind by in the merit. A value left out is predicted from its
#: neighbours, and says nothing about places where its own task has no points and another has.
ONE_FUNCTION_CREDIT = 0.25

#: Evaluations for one task's own kernel in the frame of another: its start is the optimum of a neighbour.
IN_FRAME = 12

#: Evaluations of each start of a model put together from one for all tasks and one for each, and of the better one:
#: which one that is shows soon, and with what it has learnt it ends as high as with all of them in one go.
SHARED_AND_OWN_RACE = (20, 25)

#: Evaluations for one kernel of all tasks from that of one of them: its shape and each task's noise are known, B is
#: new. With 50 points for each of two tasks most searches end by themselves within 45. (At 80 errors of the borehole
#: with 150 runs, of eight tasks of 60 points and of twenty of 20 are no smaller.)
FROM_OWN = 60

#: Evaluations of each start of a model that takes all tasks for one function, and of the best if it keeps up: such a
#: start either leads somewhere soon or nowhere. (At 12 of each the borehole with 10 or 20 runs is off ten times as far
#: in one data set of twenty.)
ONE_FUNCTION_RACE = (20, 40)


def joint(prepared: Prepared, members: tuple[int, ...], own: dict[int, KernelFit], options: Options) -> list[KernelFit]:
    """Vector-valued control variates of several tasks; `own` holds their best independent fits, as starts."""
    if prepared.tasks.share_points:
        return searched(prepared, members, options, pooled=True)
    covariance = start_covariance(prepared, members)
    separable = _separable(prepared, members, own, covariance, options)
    best = best_of(separable)
    alike = _one_function(best, covariance, options)
    own_part = _shared_and_own(best_of([best, *alike]), own, covariance, options)
    return [*separable, *map(_credited, alike), *own_part]


def from_own(prepared: Prepared, own: Mapping[int, Sequence[KernelFit]], options: Options) -> list[KernelFit]:
    """B k of all tasks from what each knows alone, of one degree: none where tasks together could know more."""
    if not all(own.values()):
        return []
    alone = {task: best_of(smoothest(fits, options)) for task, fits in own.items()}
    if not all(map(_knows_its_shape, alone.values())):
        return []
    members, found = tuple(own), _on_all(alone, start_covariance(prepared, tuple(own)), options)
    coordinates, degree = prepared.coordinates(members, found.system), alone[members[0]].degree
    design = tuning_design(prepared, members, coordinates, degree, False)
    attempt = partial(refit_from_few_rows, found, design, found.model, options.criterion, FROM_OWN)
    tuned = those_that_work([attempt], required=False)
    return [KernelFit(prepared, members, coordinates, f, degree, False) for f in tuned]


def _knows_its_shape(fit: KernelFit) -> bool:
    """Whether the kernel of one task has all the freedom there is: with the values of others it would have no more."""
    return fit.found.level == len(LEVELS) - 1 or fit.found.model.kernel.log_axes.size == 1


def _on_all(own: Mapping[int, KernelFit], covariance: np.ndarray, options: Options) -> Found:
    """B k with the best kernel of the smoothest family that any task has, and the noise of each; not yet tuned.

    The search of one task ends at its optimum, and one for all that starts there soon ends at theirs. From nothing it
    is cut off on its way, at a place that hangs on the last bit.
    """
    best = best_of(smoothest(list(own.values()), options)).found
    model = on_tasks(best.model, covariance, [fit.found.model for fit in own.values()])
    return replace(best, tuned=best.tuned._replace(model=model), merit=sum(fit.found.merit for fit in own.values()))


def _credited(fit: KernelFit) -> KernelFit:
    return replace(fit, found=replace(fit.found, credit=ONE_FUNCTION_CREDIT))


def _separable(
    prepared: Prepared, members: tuple[int, ...], own: dict[int, KernelFit], covariance: np.ndarray, options: Options
) -> list[KernelFit]:
    """B k from what the tasks know alone, if that is all there is to know and serves all as well; or from nothing."""

    def start(family, design, lengthscale, noise):
        return separable_model(family, design, lengthscale, covariance, noise, options.order)

    known = len(own) == len(members) and all(map(_knows_its_shape, own.values()))
    near = [_on_all(own, covariance, options)] if known else []
    found = searched(prepared, members, options, False, near, start)
    return found if known else [*found, *_along_slopes(best_of(found), covariance, options)]


def _along_slopes(best: KernelFit, covariance: np.ndarray, options: Options) -> list[KernelFit]:
    """B k again, from axes that count as much as in a linear function; for few rows and several axes.

    From all axes alike a search now and then ends where the wrong ones count, and no left-out value tells: of six data
    sets of the borehole with 10 runs that were off by most, four are off by a tenth to a third with this start.
    """
    prepared, members, family = best.prepared, best.members, options.families[0]
    coordinates = {s: prepared.coordinates(members, s) for s in prepared.systems(members)}
    designs = {s: tuning_design(prepared, members, c, 0, False) for s, c in coordinates.items()}
    if best.found.level == 0 or designs["scaled"].size > COARSE_ROWS:  # as many rows as in every system
        return []
    attempts = []
    for system, design in designs.items():
        scale = np.sqrt(design.side.points.shape[1])
        alike = separable_model(family, design, scale, covariance, order=options.order)
        start = with_axes(alike, design, axis_weights(prepared, members, coordinates[system], covariance))
        frame = replace(best.found, system=system, turned=0)
        attempts.append(partial(refit, frame, design, start, options.criterion, family=family))
    found = race(attempts, RACE, designs, options.criterion, required=False, rivals=[best.found])
    return [KernelFit(prepared, members, coordinates[f.system], f, 0, False) for f in found]


def _one_function(best: KernelFit, covariance: np.ndarray, options: Options) -> list[KernelFit]:
    """B k again, from a B that takes all tasks for one function, with the best lengthscales so far and with others."""
    whole = tuning_design(best.prepared, best.members, best.coordinates, 0, False)
    design = whole.thinned(COARSE_ROWS)
    matrix, family = one_function(covariance), best.found.family
    scale = np.sqrt(design.side.points.shape[1])
    starts = [without_noise(with_task_matrix(best.found.model, matrix))]
    starts += [
        separable_model(family, design, factor * scale, matrix, noise, options.order) for factor, noise in STARTS
    ]
    attempts = [partial(refit, best.found, design, start, options.criterion) for start in starts]
    designs, rival = {best.found.system: design}, judged(best.found, design)
    found = race(attempts, ONE_FUNCTION_RACE, designs, options.criterion, required=False, rivals=[rival])
    most = rival.merit + (FAR_BEHIND + ONE_FUNCTION_CREDIT) * len(best.members)
    found = [f for f in found if f.merit <= most]  # others would have no weight
    if whole.size > design.size:
        more = (partial(refit, f, whole, f.model, options.criterion, ROWS_RACE[1]) for f in found)
        found = those_that_work(more, required=False)
    return [replace(best, found=f) for f in found]


def _shared_and_own(
    separable: KernelFit, own: dict[int, KernelFit], covariance: np.ndarray, options: Options
) -> list[KernelFit]:
    """The shared + own model from almost all shared and from almost all own, or from that which clearly does better.

    A task has a kernel of its own where its values are enough to choose one.
    """
    prepared, members = separable.prepared, separable.members
    lag = separable.found.merit - sum(own[task].found.merit for task in members)
    clearly = len(members) * np.log(CLEARLY_ALIKE)
    starts = [(separable.found, separable.found.model, MOSTLY)] if lag < clearly else []
    if lag > -clearly:
        # Coordinates, family and the shape of what is shared are those of the task that is known best.
        best = best_of([own[task] for task in members]).found
        shared = on_tasks(best.model, covariance, [own[task].found.model for task in members])
        starts.append((best, shared, 1 - MOSTLY))
    coordinates = {frame.system: prepared.coordinates(members, frame.system) for frame, _, _ in starts}
    designs = {system: tuning_design(prepared, members, c, 0, False) for system, c in coordinates.items()}
    few, attempts = {system: few_rows(design) for system, design in designs.items()}, []
    for frame, shared, part in starts:
        sizes = np.bincount(designs[frame.system].side.task)
        alone = {
            k: _own_start(own[task], coordinates[frame.system], frame, options)
            for k, task in enumerate(members)
            if enough_alone(own[task].found.model, frame.level, sizes[k])
        }
        if alone:
            model = shared_and_own(shared, alone, part)
            attempts.append(partial(refit, frame, few[frame.system], model, options.criterion))
    if not attempts:
        return []
    found = race(attempts, SHARED_AND_OWN_RACE, few, options.criterion, required=False)
    if any(few[f.system] is not designs[f.system] for f in found):
        more = [partial(refit, f, designs[f.system], f.model, options.criterion, ROWS_RACE[1]) for f in found]
        found = those_that_work(more, required=False)
    return [replace(separable, coordinates=coordinates[f.system], found=f) for f in found]


def _own_start(own: KernelFit, coordinates: Coordinates, frame: Found, options: Options) -> Model:
    """One task's own kernel in the family and coordinates of another fit."""
    mine = own.coordinates
    named = isinstance(frame.family, str) and own.found.family == frame.family
    if named and mine.system == coordinates.system == "scaled":
        unit = np.diag(mine.factor) / np.diag(coordinates.factor)
        return in_other_units(own.found.model, np.exp(rounded(np.log(unit))))
    design = tuning_design(own.prepared, own.members, coordinates, 0, False)
    start = change_family(own.found.model, frame.family)
    return refit(own.found, design, start, options.criterion, IN_FRAME).model
