"""The coordinates in which kernels see the data: as they are, with a heavy tail drawn in, straightened, along few axes.

What follows a tail far out may follow it better where it is drawn in, or not; what is fitted both ways is weighed. So
is what is straightened (funnels, bananas, centred groups), and what is seen along few axes by several tasks on points
of their own. (Those of tasks on the same points, and of one alone, are few for each: `KernelFits` sees to them.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import hypot
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..candidates.fits import KernelFit
from ..candidates.kernel import Options
from ..candidates.one_function import OneFunctionFit
from ..candidates.rungs import KernelFits
from ..data import Prepared
from ..data.bends import bends_of
from ..data.known import Known
from ..data.seen import OnFewAxes, Seen, seen_as
from ..data.tails import LIGHT, tail_of
from .describe import describe
from .weights import Variate

#: What is said of fits in coordinates in which a tail is drawn in or bends are taken out, or which see few axes.
DRAWN_IN, STRAIGHTENED, ON_FEW_AXES = ", tails drawn in", ", straightened", ", few of all axes"


#: What means in straightened coordinates may be off by beyond the last values, in units of how far all of these have
#: moved them, beside what any mean may be. Where a funnel widens, integrands grow, and what means have moved by they
#: mostly have still to go, half of it and more: of 43 problems (seeds 21670 to 21677 and 21600 to 21603, components of
#: error bars put together again) intervals covered 90.6 % without, 94.5 % at .6, 94.6 % at .7 and 95.4 % at .8, with
#: interval scores that differ by less than 1 %.
STILL_MOVING_THERE = 0.7


class Look(NamedTuple):
    """Other coordinates, what is said of them, whether the data need not be seen as they are, how much of what moved a
    mean there it may be off by, and the law of the target there, if that is known."""

    seen: Seen
    words: str
    instead: bool
    still_moving: float = 0.0
    known: Known | None = None


class View(NamedTuple):
    """Kernel fits in some coordinates; `seen` leads there."""

    fits: KernelFits
    seen: Seen | None = None
    words: str = ""
    still_moving: float = 0.0

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

    def variate(self, fit: KernelFit | OneFunctionFit, member: int) -> Variate:
        """What a fit says of one of its tasks, as a function of points and scores in the user's coordinates."""
        return partial(_variate, fit, self.seen, member)  # no closure: processes send results to each other


def other_looks(prepared: Prepared) -> list[Look]:
    """The coordinates, beside the given ones, in which the target is closer to a Gaussian."""
    tail, bends = tail_of(prepared), bends_of(prepared)
    looks = [] if tail is None else [Look(tail.drawn_in, DRAWN_IN, tail.at_most < LIGHT)]
    if bends is not None:
        looks.append(Look(bends.straightened, STRAIGHTENED, bends.surely, STILL_MOVING_THERE, bends.known))
    return looks


def views_of(prepared: Prepared, options: Options, looks: Sequence[Look] = ()) -> list[View]:
    """The data as they are, unless they need not be seen so, and along few axes; and as others look at them."""
    views = []
    if not any(look.instead for look in looks):
        fits = KernelFits(prepared, options)
        views = [View(fits), *_on_few_axes(fits)]
    for look in looks:
        there = KernelFits(seen_as(prepared, look.seen), options)
        views.append(View(there, look.seen, look.words, look.still_moving))
    return views


def worth_fitting(views: list[View]) -> list[View]:
    """All, or those along few axes if they leave hardly anything of any task."""
    tasks = views[0].fits.eligible
    enough = [v for v in views if v.words == ON_FEW_AXES and v.fits.leaves_hardly_anything(tasks)]
    return enough or views


def _on_few_axes(fits: KernelFits) -> list[View]:
    """Several tasks on points of their own along the few axes that their values hang on, if they do."""
    prepared, options = fits.prepared, fits.options
    few = OnFewAxes.of(prepared, fits.eligible) if prepared.apart and not options.own_kernel else None
    if few is None:
        return []
    seen = seen_as(replace(prepared, axes=None), few.seen).with_axes_sorted()
    return [View(KernelFits(seen, options, few.tasks), few.seen, ON_FEW_AXES)]


def _variate(
    fit: KernelFit | OneFunctionFit, seen: Seen | None, member: int, points: np.ndarray, scores: np.ndarray
) -> Float[np.ndarray, " k"]:
    return fit.variate(*((points, scores) if seen is None else seen(points, scores)), member)
