"""All kernel fits over one data set, each made once, when first asked for, later ones starting from earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ..data import Prepared
from ..runtime.memory import largest_system
from ..runtime.once import cached_property
from ..runtime.threads import SMALL_SYSTEM, side_by_side, worth_a_thread
from ..tuning.attempts import those_that_work
from .alike import all_alike
from .columns import semi_exact, semi_exact_degrees
from .each import Fits, beside, of_each
from .few_axes import on_few_axes
from .fits import KernelFit
from .kernel import Options, best_of, independent, own_parameters
from .one_function import OneFunctionFit, as_one_function
from .several import from_own, joint

#: Fewest distinct points with which the parameters of a kernel can be chosen: a variance, a lengthscale and a noise are
#: three.
FEWEST_POINTS = 4

#: Fewest values for each dimension, beside those of a flat piece, with which kernels are fitted: fewer do not tell a
#: function that rises in a tail from one that is flat there as well, whose mean is known at once. Of 75 events and
#: payoffs (seeds 20500 to 20539) seven have errors above 1.05 times the plain average's without such a rule, none with
#: it; at 3 errors are 1.03 times as large as at 2.
FEWEST_OTHERS = 2

#: Lag in the merit of each task alone with which columns of a degree are not tried for all together. (At .7, one
#: synthetic pair of sixteen is off ten times as far; at 1.4 none, and the borehole takes as long.)
HOPELESS = 1.4

#: Part of its spread that is left of a task's values, each left out, from which on a task on the same points as others
#: is fitted along directions of its own: chances of a logistic regression, of which one kernel for all leaves .03 to
#: .1, then have errors 13 to 86 times smaller; squares and products, of which it leaves .004 or less, gain nothing.
BADLY_FOLLOWED = 0.01

#: Values (rows times such tasks) up to which they are, those first that are followed worst: about ten seconds more on
#: two cores (ten chances, 1,000 points, ten dimensions).
MOST_OWN_VALUES = 10_000

#: Part of its spread that is left of a task's values, each left out, on the few axes they hang on, up to which nothing
#: else is looked for: exp(x_2 / 2) + sin(x_1) of 300 points in ten dimensions takes .5 s instead of 1.2 s. (At .01
#: errors of kinks and logistic functions are up to ten times as large.)
HARDLY_ANYTHING = 0.001

#: The same, beyond which a model of one task is no place for another to start from: it would stay there. Beside a wave
#: that is not followed, smooth functions of two of 20 axes have errors of .04 instead of .2 times the plain average's,
#: noisy ones of .12 instead of .57 (150 and 80 points; six samples).
HARDLY_FOLLOWED = 0.5

AnyFits = Mapping[int, Sequence[KernelFit | OneFunctionFit]]


class KernelFits:
    """Fits of the four kernel rungs to all tasks, or some; a task that a rung cannot serve has none."""

    def __init__(self, prepared: Prepared, options: Options, tasks: Sequence[int] | None = None) -> None:
        self.prepared = prepared
        self.options = options
        self._served = range(len(prepared.tasks)) if tasks is None else tasks

    def of(self, rung: str) -> AnyFits:
        """What a rung offers for each task."""
        offered: dict[str, Callable[[], AnyFits]] = {
            "cf": lambda: beside(self.scalar, self._on_few_axes),
            "secf": lambda: beside(self._scalar_semi_exact, self._few_semi_exact),
            "vv": lambda: self._together_or_alone,
            "vv-secf": lambda: dict.fromkeys(self.eligible, self._joint_semi_exact),
        }
        return offered[rung]()

    @cached_property
    def eligible(self) -> tuple[int, ...]:
        """Tasks whose values vary on enough points, in an order that does not depend on how they were given."""
        most = largest_system()
        enough = [FEWEST_POINTS <= len(rows.values) <= most for rows in self.prepared.distinct]
        served = (t for t in self.prepared.canonical if t in self._served)
        return tuple(t for t in served if enough[t] and not self.hardly_varies(t))

    def hardly_varies(self, task: int) -> bool:
        """Whether all values of a task, or all but too few to fit a kernel to, are the same."""
        few = max(FEWEST_POINTS, FEWEST_OTHERS * self.prepared.tasks.dimension)
        flat = self.prepared.has_flat_piece(task) and self.prepared.others(task) < few
        return flat or self.prepared.constant(task)

    def rows(self, rung: str, task: int) -> int:
        """Rows of the system that a rung factorises for a task."""
        together = rung.startswith("vv") and not self.prepared.tasks.share_points
        return sum(len(self.prepared.distinct[t].values) for t in (self.eligible if together else (task,)))

    @property
    def pooled(self) -> bool:
        """Whether one covariance serves several tasks on the same points."""
        return self.prepared.tasks.share_points and len(self.eligible) > 1

    @property
    def _worth_a_thread(self) -> bool:
        """Whether every task by itself is."""
        return all(worth_a_thread(self.rows("cf", task)) for task in self.eligible)

    def _of_each(self, attempts: Mapping[int, Callable[[], list[KernelFit]]]) -> Fits:
        return of_each(attempts, self._worth_a_thread, self.options.named)

    def work_ahead(self, rungs: Sequence[str]) -> None:
        """Make at once what these rungs need beside the kernels of each task, where tasks have many points together.

        What takes longest comes first: the others' cores are then free to help.
        """
        together = len(self.eligible) > 1 and not self.pooled
        if not together or not worth_a_thread(self.rows("vv", self.eligible[0])):
            return
        if "secf" in rungs and not self._worth_a_thread:  # much Python, for whose lock the others would wait
            _ = self._scalar_semi_exact
        needed = {"joint": "vv", "_joint_from_own": "vv-secf", "_one_function": "vv"}
        calls = [partial(getattr, self, name) for name, rung in needed.items() if rung in rungs]
        for outcome in side_by_side(calls):
            outcome.result()

    @cached_property
    def scalar(self) -> Fits:
        """Kernels of each task's own; on shared points they start from those of all."""
        if self.pooled:
            return beside(self._own_parameters(self.joint), self._along_own_directions)
        return self._alone([t for t in self.eligible if not self._followed_on_few_axes(t)])

    def _followed_on_few_axes(self, task: int) -> bool:
        """Whether hardly anything of the only task's values is left on few axes: then nothing else is looked for."""
        return len(self.eligible) == 1 and _left_of(self._on_few_axes.get(task, [])) <= HARDLY_ANYTHING

    def followed(self) -> list[int]:
        """Tasks that are followed so well alone that nothing else is looked for."""
        return [task for task in self.eligible if _left_of(self.scalar.get(task, [])) <= HARDLY_ANYTHING]

    def _alone(self, tasks: Sequence[int], fits: Callable[..., list[KernelFit]] = independent) -> Fits:
        """Kernels of each of some tasks by itself; the others start from what was found for that of most points."""
        if not tasks:
            return {}
        first = max(tasks, key=lambda t: len(self.prepared.distinct[t].values))
        found = self._of_each({first: partial(fits, self.prepared, first, self.options)})
        near = found[first] if _left_of(found[first]) <= HARDLY_FOLLOWED else []
        like_it = partial(fits, self.prepared, options=self.options, neighbours=near)
        others = self._of_each({t: partial(like_it, t) for t in tasks if t != first})
        return {t: (found | others)[t] for t in tasks}

    @cached_property
    def _along_own_directions(self) -> Fits:
        """Kernels of badly followed tasks that change along directions, and not along few axes."""
        others = (t for t in self._badly_followed if t not in self._on_few_axes)
        return self._alone([t for t in others if self.prepared.led((t,)) is not None])

    @cached_property
    def _badly_followed(self) -> list[int]:
        """Tasks on shared points that one kernel for all follows badly, not too many."""
        if not self.joint or self.rows("cf", self.eligible[0]) > SMALL_SYSTEM:  # each would take the whole machine
            return []
        best = best_of(self.joint)
        left = dict(zip(best.members, best.left_out_error / self.prepared.scale[list(best.members)], strict=True))
        badly = sorted((t for t in self.eligible if left[t] > BADLY_FOLLOWED), key=lambda t: -left[t])
        return badly[: MOST_OWN_VALUES // best.design.size]

    @cached_property
    def _on_few_axes(self) -> Fits:
        """Kernels of the only task, or of badly followed ones, that see only the few axes their values hang on."""
        if self.prepared.apart or self.options.own_kernel:
            return {}
        tasks = self._badly_followed if self.pooled else self.eligible
        return self._alone([t for t in tasks if self.prepared.on_few_axes(t) is not None], on_few_axes)

    @cached_property
    def _few_semi_exact(self) -> Fits:
        attempts = {task: partial(self._with_polynomials, fits) for task, fits in self._on_few_axes.items()}
        return self._of_each(attempts)

    @cached_property
    def joint(self) -> list[KernelFit]:
        """Kernels of all tasks together."""
        if not self.eligible or self.rows("vv", self.eligible[0]) > largest_system():
            return []
        if len(self.eligible) == 1:
            return self.scalar.get(self.eligible[0], [])
        own = {} if self.pooled else {task: best_of(_kernels_alone(fits)) for task, fits in self.scalar.items() if fits}
        members, options = (self.eligible, self.options) if self.pooled else (tuple(own), self._options_that_kept_up)
        fits = _none_if_failed(partial(joint, self.prepared, members, own, options)) if members else []
        if self.pooled or not fits:
            return fits
        return [*fits, *_none_if_failed(partial(all_alike, best_of(fits), options))]

    @property
    def _options_that_kept_up(self) -> Options:
        """Without rough families that kept up for no task alone."""
        smoothest, *rougher = self.options.families
        kept = [fit.found.family for fits in self.scalar.values() for fit in fits]
        return replace(self.options, families=(smoothest, *(family for family in rougher if family in kept)))

    @cached_property
    def _scalar_semi_exact(self) -> Fits:
        alone = self._along_own_directions if self.pooled else self.scalar
        attempts = {task: partial(self._with_polynomials, fits) for task, fits in alone.items()}
        found = self._of_each(attempts)
        if not self.pooled:
            return found
        return beside(self._own_parameters(self._joint_semi_exact), found)

    @cached_property
    def _joint_semi_exact(self) -> list[KernelFit]:
        if self.pooled or len(self.eligible) < 2 or not self.joint or not self._joint_from_own:
            return self._with_polynomials(self.joint)
        return [fit for degree in self._joint_from_own for fit in self._joint_with_columns(degree)]

    @cached_property
    def _joint_from_own(self) -> Fits:
        """Kernels of all tasks with columns of each degree: of the lowest from each task's own, the next from those."""
        members = tuple(task for task, fits in self.scalar.items() if fits)
        own = {
            degree: {t: [fit for fit in fits if fit.degree == degree] for t, fits in self._scalar_semi_exact.items()}
            for degree in (semi_exact_degrees(self.prepared, members, self.prepared.tasks.dimension) if members else ())
        }
        merits = {
            degree: sum(best_of(fits).found.merit for fits in each.values())
            for degree, each in own.items()
            if all(each.values())
        }
        most = min(merits.values(), default=np.inf) + HOPELESS * len(members)
        found: Fits = {}
        for degree, each in own.items():
            if merits.get(degree, most) <= most:
                near = [fit for fits in found.values() for fit in fits]
                attempt = partial(semi_exact, near, [degree]) if near else partial(from_own, self.prepared, each)
                found |= of_each({degree: partial(attempt, options=self.options)}, False, self.options.named)
        return found

    def _joint_with_columns(self, degree: int) -> list[KernelFit]:
        """From each task's own, and in other families from the joint ones: these are farther away."""
        near = self._joint_from_own[degree]
        known = [fit.found.family for fit in near]
        others = [fit for fit in self.joint if fit.found.family not in known]
        families = tuple(family for family in self.options.families if family not in known)
        return [*near, *(semi_exact(others, [degree], replace(self.options, families=families)) if others else [])]

    @cached_property
    def _one_function(self) -> list[OneFunctionFit]:
        return as_one_function(self.prepared, self.scalar, self.options)

    @property
    def _together_or_alone(self) -> AnyFits:
        """The joint fits and, where tasks have points, directions or axes of their own, each task's: none must share.

        They are the shared + own model with nothing shared, in coordinates and of a family that suit the one task.
        Tasks that are seen to be one function are fitted as one as well.
        """
        if self.pooled:
            own = beside(self._along_own_directions, self._on_few_axes)
            return beside(dict.fromkeys(self.eligible, self.joint), own)
        if len(self.eligible) == 1 or not self.joint:
            return beside(dict.fromkeys(self.eligible, self.joint), self._on_few_axes)
        offered: dict[int, list[KernelFit | OneFunctionFit]] = {
            t: [*self.joint, *fits] for t, fits in self.scalar.items()
        }
        for fit in self._one_function:
            for task in fit.members:
                offered[task].append(fit)
        return offered

    def _own_parameters(self, together: Sequence[KernelFit]) -> Fits:
        return self._of_each({t: partial(own_parameters, together, t, self.options) for t in self.eligible})

    def _with_polynomials(self, fits: list[KernelFit]) -> list[KernelFit]:
        if not fits:
            return []
        best = fits[0]
        dimension = best.design.side.points.shape[1]
        return semi_exact(fits, semi_exact_degrees(self.prepared, best.members, dimension, best.pooled), self.options)


def _left_of(fits: Sequence[KernelFit]) -> float:
    """The least part of their spread that is left of values, each left out, on the rows that were searched on."""
    return min((fit.found.left_out for fit in fits), default=np.inf)


def _kernels_alone(fits: list[KernelFit]) -> list[KernelFit]:
    """Those without parts, which models of several tasks on points of their own do not have."""
    return [fit for fit in fits if not fit.found.model.log_parts.size] or fits


def _none_if_failed(attempt: Callable[[], list[KernelFit]]) -> list[KernelFit]:
    return [fit for fits in those_that_work([attempt], required=False) for fit in fits]
