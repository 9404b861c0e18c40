"""The coordinates in which kernels see the data: as they are, with a heavy tail drawn in, straightened, along few axes,
or times a weight that grows as a task's values do.

What follows a tail far out may follow it better where it is drawn in, or not; what is fitted both ways is weighed. So
is what is straightened (funnels, bananas, centred groups), what grows, and what is seen along few axes by several tasks
on points of their own. (Those of tasks on the same points, and of one alone, are few for each: `KernelFits` sees to
them.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import hypot
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..candidates.fits import KernelFit
from ..candidates.kernel import Options
from ..candidates.one_function import OneFunctionFit
from ..candidates.rungs import MOST_OWN_VALUES, KernelFits
from ..checks.visited import in_doubt
from ..data import Prepared
from ..data.bends import bends_of
from ..data.duplicates import Distinct
from ..data.growth import Weight
from ..data.known import Known
from ..data.part import Part
from ..data.seen import OnFewAxes, Seen, Thinned, growing, seen_as
from ..data.tails import LIGHT, StudentTail, TailWeight, tail_of
from ..runtime.clock import time_for
from ..runtime.threads import SMALL_SYSTEM, side_by_side
from .describe import describe
from .weights import Answer, Variate

#: What is said of fits in coordinates in which a tail is drawn in or bends are taken out, or which see few axes, of
#: those with a weight, and of those to inputs whose bounds are taken away in another way than by Gaussian quantiles.
DRAWN_IN, STRAIGHTENED, ON_FEW_AXES = ", tails drawn in", ", straightened", ", few of all axes"
BY_PART, GROWING, HEAVY = ", by the law of few axes", ", times an exponential", ", times a tail's weight"
BY_LOGARITHMS = ", logarithms and logits of inputs"

#: What means in straightened coordinates may be off by beyond the last values, in units of how far all of these have
#: moved them, beside what any mean may be. Where a funnel widens, integrands grow, and what means have moved by they
#: mostly have still to go, half of it and more: of 43 problems (seeds 21670 to 21677 and 21600 to 21603, components of
#: error bars put together again) intervals covered 90.6 % without, 94.5 % at .6, 94.6 % at .7 and 95.4 % at .8, with
#: interval scores that differ by less than 1 %. (So it is under the law of few axes: of exponentials and waves of three
#: models, seeds 24500 to 24505, intervals cover 94 instead of 89 %, with the same scores.)
STILL_MOVING_THERE = 0.7

#: What fits under the weight of a tail pay in their merit: they have to be 3 times as sure as others, which those of
#: squares and products are, and more.
CLEARLY_BETTER = 1.1

#: Seconds that a function of few axes of a known law takes on two cores, with some to spare: 25 take 18 to 36 s.
SECONDS_EACH = 1.5

#: Rows that each function of few axes of a known law is fitted to, at least and at most, and those of all together: of
#: 25 waves, each of one of 25 coordinates (4,000 draws), error bars are 4e-4 of plain averages' with 400 rows each, in
#: 27 s on two cores, and 7e-5 with all rows, in 121 s; those of 25 chances .31, in 31 s, and .04, in 143 s.
ROWS, MOST_VALUES = (300, 1000), 10_000


class Look(NamedTuple):
    """Other coordinates, what is said of them, whether the data need not be seen as they are, how much of what moved a
    mean there it may be off by, the law of the target there, if that is known, and by what values are divided there."""

    seen: Seen
    words: str
    instead: bool
    still_moving: float = 0.0
    known: Known | None = None
    weight: Weight | None = None


class View(NamedTuple):
    """Kernel fits in some coordinates, perhaps to some of the rows; `seen` leads there. Some means are in doubt, since
    no draw has been far; and all merits may have a price."""

    fits: KernelFits
    seen: Seen | None = None
    words: str = ""
    still_moving: float = 0.0
    in_doubt: Mapping[int, float] = {}
    thinned: Thinned | None = None
    price: float = 0.0

    def has(self, fit: KernelFit | OneFunctionFit) -> bool:
        """Whether a fit is one of these."""
        return fit.prepared is self.fits.prepared

    def describe(self, fit: KernelFit | OneFunctionFit) -> str:
        """The fit in words."""
        return describe(fit) + self.words

    def std_error(self, fit: KernelFit | OneFunctionFit, member: int) -> float:
        """The error bar of a fit's mean of one of its tasks."""
        drift = fit.hidden * float(np.sum(fit.move(member)))
        return hypot(float(fit.std_error[member]), self.still_moving * drift)

    def in_full(self, full: Prepared, task: int, answer: Answer) -> Answer:
        """An answer at its price, with moves of the rows that were fitted to among those of all rows given."""
        answer = replace(answer, merit=answer.merit + self.price) if self.price else answer
        if self.thinned is None or answer.moves is None:
            return answer
        return replace(answer, moves=self.thinned.in_full(full, task, answer.moves))

    def variate(self, fit: KernelFit | OneFunctionFit, member: int) -> Variate:
        """What a fit says of one of its tasks, as a function of points and scores in the user's coordinates."""
        return partial(_variate, fit, self.seen, member)  # no closure: processes send results to each other


def other_looks(prepared: Prepared) -> list[Look]:
    """Coordinates beside the given ones: in which the target is closer to a Gaussian, or that are known to help."""
    tail, bends = tail_of(prepared), bends_of(prepared)
    looks = [] if tail is None else [Look(tail.drawn_in, DRAWN_IN, tail.at_most < LIGHT)]
    if isinstance(tail, StudentTail):
        weight = TailWeight(tail)
        looks.append(Look(weight.drawn, HEAVY, False, weight=weight))
    if bends is not None:
        looks.append(Look(bends.straightened, STRAIGHTENED, bends.surely, STILL_MOVING_THERE, bends.known))
    elsewhere = prepared.tasks[0].elsewhere
    if elsewhere is not None and all(task.elsewhere == elsewhere for task in prepared.tasks):
        looks.append(Look(elsewhere, BY_LOGARITHMS, False))
    return looks


def views_of(
    prepared: Prepared, options: Options, looks: Sequence[Look], tasks: Sequence[int], told: Sequence[int] = ()
) -> list[View]:
    """Some tasks' data as they are, unless they need not be seen so, and along few axes; and as others look at them.

    Of what the law of few axes tells all but hardly anything, nothing else is looked for, unless a rung was asked for;
    and nobody looks there for what is `told` without a fit.
    """
    fits = KernelFits(prepared, options, [task for task in tasks if task not in told])
    parts = [view for look in looks if look.known is not None for view in _by_parts(look.known, fits)]
    searches = [view.fits.followed for view in parts if not options.named]
    followed = {task for search in side_by_side(searches) for task in search.result()}
    others = KernelFits(prepared, options, [task for task in tasks if task not in followed])
    return [*(_usual(others, looks) if others.eligible or not parts else []), *parts]


def _usual(fits: KernelFits, looks: Sequence[Look]) -> list[View]:
    prepared, options, tasks = fits.prepared, fits.options, fits.eligible
    views = [] if any(look.instead for look in looks) else [View(fits), *_on_few_axes(fits), *_growing(fits)]
    for look in looks:
        there = replace(seen_as(prepared, look.seen), growth=look.weight)
        one_by_one = look.weight is not None and prepared.apart  # one function's fits know of no weight
        for members in [(task,) for task in tasks] if one_by_one else [tasks]:
            price = 0.0 if look.weight is None else CLEARLY_BETTER
            fits = KernelFits(there, options, members)
            views.append(View(fits, look.seen, look.words, look.still_moving, price=price))
    return views


def worth_fitting(views: list[View]) -> list[View]:
    """All, or those along few axes if they leave hardly anything of any task."""
    tasks = set(views[0].fits.eligible)
    return [view for view in views if view.words == ON_FEW_AXES and tasks.issubset(view.fits.followed())] or views


def _on_few_axes(fits: KernelFits) -> list[View]:
    """Several tasks on points of their own along the few axes that their values hang on, if they do."""
    prepared, options = fits.prepared, fits.options
    few = OnFewAxes.of(prepared, fits.eligible) if prepared.apart and not options.own_kernel else None
    if few is None:
        return []
    seen = seen_as(replace(prepared, axes=None), few.seen).with_axes_sorted()
    return [View(KernelFits(seen, options, few.tasks), few.seen, ON_FEW_AXES)]


def _growing(fits: KernelFits) -> list[View]:
    """Tasks whose values grow, one by one, each times a weight that grows half as much, as far as there is time."""
    prepared, options, left = fits.prepared, fits.options, MOST_OWN_VALUES
    views: list[View] = []
    for task in () if options.own_kernel else fits.eligible:
        rows = len(prepared.distinct[task].values)
        there = growing(prepared, task) if rows <= min(SMALL_SYSTEM, left) else None
        if there is None or there.growth is None or not time_for(SECONDS_EACH * (len(views) + 1)):
            continue
        left -= rows
        views.append(View(KernelFits(there, options, (task,)), there.growth.drawn, GROWING))
    return views


def _by_parts(known: Known, fits: KernelFits) -> list[View]:
    """Tasks one by one along the few axes that their values hang on, whose law is known."""
    prepared, parts = fits.prepared, dict[tuple[int, ...], list[int]]()
    for task in fits.eligible if time_for(SECONDS_EACH * len(fits.eligible)) else ():
        few = prepared.few_axes(task)
        if few is not None:
            parts.setdefault(Part.of(known, few).axes, []).append(task)
    rows = np.clip(MOST_VALUES // max(sum(map(len, parts.values())), 1), *ROWS)
    some = Thinned.of(prepared, int(rows)) if parts else None
    return [view for axes, tasks in parts.items() for view in _of_part(Part(known, axes), tasks, fits, some)]


def _of_part(part: Part, tasks: Sequence[int], fits: KernelFits, some: Thinned | None) -> list[View]:
    """Those tasks that hang on the same axes; none where a draw is so deep in a neck that effects are all the same."""
    doubts = {task: _doubt(part, fits.prepared.distinct[task]) for task in tasks}
    looked_at = replace(fits.prepared, axes=None) if some is None else some.prepared
    try:
        there = seen_as(looked_at, part.seen)
    except np.linalg.LinAlgError:
        return []
    each = (KernelFits(there, fits.options, (task,)) for task in tasks)
    return [View(own, part.seen, BY_PART, STILL_MOVING_THERE, doubts, some) for own in each]


def _doubt(part: Part, rows: Distinct) -> float:
    return in_doubt(part.known.along(rows.points), rows.values) if part.has_scales else 0.0


def _variate(
    fit: KernelFit | OneFunctionFit, seen: Seen | None, member: int, points: np.ndarray, scores: np.ndarray
) -> Float[np.ndarray, " k"]:
    return fit.variate(*((points, scores) if seen is None else seen(points, scores)), member)
