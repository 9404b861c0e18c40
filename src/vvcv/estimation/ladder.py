"""The ladder: plain average, polynomial, scalar kernel, semi-exact, vector-valued, vector-valued semi-exact.

Every rung offers candidates for every task: the estimate, its standard error (corrected by how well values are
predicted that were left out), the control variate itself, and what was chosen, in words. One answer is made of them
by weight (`weights`): of one rung's where a rung was asked for, of all candidates of all rungs for `auto`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import hypot
from typing import Any

import numpy as np
from jaxtyping import Float

from ..candidates.cost import seconds_to_solve
from ..candidates.fits import KernelFit
from ..candidates.kernel import Options, best_of
from ..candidates.one_function import OneFunctionFit
from ..candidates.rungs import FEWEST_POINTS, KernelFits
from ..checks.visited import describe_visits
from ..data import Prepared, in_separate_groups
from ..linear_system.merit import merit_of
from ..report.explanation import RUNGS
from ..runtime.clock import limited, time_for, time_left
from ..runtime.memory import largest_system
from ..runtime.once import cached_property
from ..runtime.progress import announce
from ..runtime.threads import side_by_side, worth_a_thread
from ..tuning.attempts import those_that_work
from .beside_plain import with_plain_average, worth_of_points
from .by_polynomials import Answers, by_polynomials, exactly_elsewhere, tells
from .diagnosis import Diagnosis
from .foretold import foretold
from .methods import KERNEL_METHODS, worth_asking
from .refusals import RefusedError, no_factor, too_few_points, too_many_rows
from .streamed import Streamed
from .views import Look, View, views_of, worth_fitting
from .weights import Answer, beside_others, combine, doubt, plain_answer, with_witness
from .witness import LAST_DIGITS, in_order, not_below_rounding, witness_of

#: Why a task keeps its plain average.
SEPARATE_GROUPS = "plain average: the points lie in separate groups, whose weights no control variate can see"


class Ladder:
    """Answers of all rungs over one data set, whose target may be closer to a Gaussian in other coordinates."""

    def __init__(self, prepared: Prepared, options: Options, looks: Sequence[Look] = ()) -> None:
        self.prepared, self.tasks, self._named = prepared, prepared.tasks, options.named
        self._looks, self._look = looks, partial(views_of, prepared, options, looks)
        self._straight = [look.seen for look in looks if look.instead]
        self.known = next((look.known for look in looks if look.known is not None), None)
        self._finished: list[list[list[Answer]]] = []
        self._joined = False
        self._in_doubt: dict[int, float] = {}
        self._streamed = Streamed(prepared.tasks, options)

    @cached_property
    def views(self) -> list[View]:
        """What kernels are fitted to: nobody looks where all is known without a fit, or polynomials leave nothing."""
        told = [t for t, answers in enumerate(self._told) if answers]
        known = [] if self._named else [*told, *self._left_nothing]
        fitted = [t for t in range(len(self.tasks)) if t not in known]
        return self._look(fitted, told)

    @property
    def fits(self) -> KernelFits:
        """Those to the first."""
        return self.views[0].fits

    @cached_property
    def _seen(self) -> list[View]:
        return worth_fitting(self.views)

    def diagnosis(self) -> Diagnosis:
        """What is found in the data before any fit."""
        return Diagnosis.of(self.tasks).with_findings(describe_visits(self.known, self.tasks))

    def candidates(self, method: str) -> list[list[Answer]]:
        """What one rung offers for each task: nothing where it cannot serve it (too few points)."""
        if method == "mc":
            return [[answer] for answer in self.plain]
        if method == "zv":
            return self._polynomials
        if method == "inducing":
            return self._streamed.candidates(method)
        with limited(time_left() - self._seconds_to_solve(method)):
            offered = [view.fits.of(method) for view in self._seen]
        self._in_doubt = {task: doubt for view in self.views for task, doubt in view.in_doubt.items()}
        fits = [[fit for each in offered for fit in each.get(t, [])] for t in range(len(self.tasks))]
        return [self._solved(method, serving, t) for t, serving in enumerate(fits)]

    def automatic(self) -> list[list[Answer]]:
        """All candidates for each task.

        Where points lie in separate groups, the plain average alone is: no other rung can know the groups' weights.
        """
        self._finished, self._joined = [], False
        if not all(self._grouped):
            self._finish("mc")  # the answer to an interrupt while others look at the data
            methods = () if all(self._told) else worth_asking(self.fits)[1:]
            for method in methods:
                if time_for(self._seconds_to_solve(method)):
                    announce(RUNGS[method])
                    if method in ("secf", "vv") and time_left() == np.inf:
                        for view in self._seen:
                            view.fits.work_ahead(methods)
                    calls: list[Callable[[], Any]] = [partial(self._finish, method), *self._beside(method, methods)]
                    for outcome in side_by_side(calls):
                        outcome.result()
        return self.so_far()

    def _finish(self, method: str) -> None:
        self._finished.append(self.candidates(method))
        self._joined |= method == "vv"

    def _beside(self, method: str, methods: Sequence[str]) -> list[Callable[[], Any]]:
        """Beside polynomials, the search for the first kernels, if it is worth a thread and nothing is pressing."""
        if method != "zv" or not self.fits.eligible or time_left() < np.inf:
            return []
        kernels, rows = methods[methods.index("zv") + 1], self.fits.rows("cf", self.fits.eligible[0])
        return [partial(view.fits.of, kernels) for view in self._seen] if worth_a_thread(rows) else []

    def so_far(self) -> list[list[Answer]]:
        """The candidates of those rungs that are finished."""
        offered = zip(self._told, *self._finished, strict=True)
        priced = [told + self._priced(t, sum(rungs, [])) for t, (told, *rungs) in enumerate(offered)]
        grouped = [[replace(plain, description=SEPARATE_GROUPS)] for plain in self.plain]
        return [grouped[t] if apart else priced[t] for t, apart in enumerate(self._grouped)]

    @cached_property
    def _told(self) -> list[list[Answer]]:
        """What is known without a fit; an average of draws that may miss a part of the target is no witness of it."""
        return foretold(self.known, self.prepared)

    @cached_property
    def _grouped(self) -> list[bool]:
        shared = self.tasks.share_points
        looked_at = self.prepared.distinct[:1] if shared else self.prepared.distinct
        apart = [self._in_groups(rows.points, rows.scores) for rows in looked_at]
        return apart * len(self.tasks) if shared else apart

    @cached_property
    def _worth(self) -> list[float]:
        return worth_of_points(self.tasks)

    def _in_groups(self, *sample: Float[np.ndarray, "n d"]) -> bool:
        """Whether points are apart however they are seen: an arm of a banana is none of its own."""
        return in_separate_groups(*sample) and all(in_separate_groups(*seen(*sample)) for seen in self._straight)

    def _seconds_to_solve(self, method: str) -> float:
        """About how long the systems of a rung take to solve once their parameters are known."""
        if method in ("mc", "zv") or time_left() == np.inf:
            return 0.0
        together = self.fits.pooled or method.startswith("vv")
        each = [(view.fits, view.fits.eligible[:1] if together else view.fits.eligible) for view in self.views]
        return sum(seconds_to_solve(fits.rows(method, task)) for fits, tasks in each for task in tasks)

    def _of_flat_piece(self, task: int) -> Answer:
        others, count = self.prepared.others(task), len(self.prepared.distinct[task].values)
        words = f"plain average: all but {others} of {count} values are the same, too few to fit a kernel to"
        return replace(self.plain[task], description=words)

    def required(self, method: str) -> list[Answer]:
        """The answers of one rung for all tasks, or an error that says which task it cannot serve."""
        chosen = []
        for t, offered in enumerate(self.candidates(method)):
            if not offered and self.prepared.constant(t):
                offered = [self.plain[t]]  # nothing to learn: the mean of constant values is known
            elif not offered and method in KERNEL_METHODS and self.fits.hardly_varies(t):
                offered = [self._of_flat_piece(t)]
            if not offered:
                raise RefusedError(self._refusal(method, t))
            chosen.append(combine(self._priced(t, offered)))
        return chosen

    def _priced(self, task: int, answers: Sequence[Answer]) -> list[Answer]:
        """The answers with what they pay for what others know better.

        Where no draw has been, as far as that was looked at, none of them is sure, and their average is no witness.
        """
        heard, unseen = beside_others(answers) if self.prepared.apart else answers, self._in_doubt.get(task, 0.0)
        if unseen > 0:
            return [replace(answer, std_error=hypot(answer.std_error, unseen)) for answer in heard]
        rows = self.prepared.distinct[task]
        return with_plain_average(heard, self.tasks[task], rows.multiplicity, self._worth[task])

    def _refusal(self, method: str, task: int) -> str:
        name, n = self.prepared.tasks.names[task], len(self.prepared.distinct[task].values)
        rows = self.fits.rows(method, task)
        if rows > largest_system():
            return too_many_rows(method, name, rows, largest_system())
        if n >= FEWEST_POINTS and method in ("cf", "vv"):
            return no_factor(method, name, n)
        return too_few_points(method, name, n, self.prepared.tasks.dimension)

    def task_correlation(self, method: str) -> Float[np.ndarray, "T T"]:
        """How alike the vector-valued fit takes the tasks to be; the identity for methods that have none."""
        result = np.eye(len(self.prepared.tasks))
        fits = self._seen[0].fits.joint if method.startswith("vv") or (method == "auto" and self._joined) else []
        if fits and len(fits[0].members) > 1:
            fit = best_of(fits)
            result[np.ix_(fit.members, fit.members)] = fit.task_correlation
        return result

    def error_correlation(self, chosen: Sequence[Answer]) -> None:
        """Of errors on shared points: worked out when asked for, since the rows are in memory."""

    @property
    def std_dev(self) -> Float[np.ndarray, " T"]:
        """Standard deviations of the values."""
        return np.array([np.std(task.values, ddof=1) for task in self.tasks])

    @cached_property
    def plain(self) -> list[Answer]:
        """Plain averages."""
        scales = self.prepared.scale
        return [plain_answer(task, float(scale)) for task, scale in zip(self.prepared.tasks, scales, strict=True)]

    @cached_property
    def _polynomials(self) -> Answers:
        here = by_polynomials(self.prepared)
        return here if self._named else [[*h, *there] for h, there in zip(here, self._exactly, strict=True)]

    @cached_property
    def _exactly(self) -> Answers:
        """What polynomials say in other coordinates of what they follow there."""
        looks = [look for look in self._looks if look.weight is None]
        there = [exactly_elsewhere(self.prepared, look.seen, look.words) for look in looks]
        return [[answer for of_look in there for answer in of_look[t]] for t in range(len(self.tasks))]

    @cached_property
    def _left_nothing(self) -> list[int]:
        """Tasks that polynomials follow to the last digits."""
        return [t for t, answers in enumerate(self._polynomials) if tells(answers, self.prepared, t)]

    def _solved(self, method: str, fits: Sequence[KernelFit | OneFunctionFit], task: int) -> list[Answer]:
        """The answers of those fits that can be solved on the data as they are."""
        serving = sorted((fit for fit in fits if task in fit.members), key=lambda fit: fit.found.merit)
        attempts = (partial(self._answers, method, fit, task) for fit in serving)
        rows = self.fits.rows(method, task)
        # The last one begun in time ends in time.
        with limited(np.inf if time_left() == np.inf else time_left() - seconds_to_solve(rows)):
            solved = those_that_work(attempts, required=False, at_once=worth_a_thread(rows))
        return [answer for answers in solved for answer in answers]

    def _answers(self, method: str, fit: KernelFit | OneFunctionFit, task: int) -> list[Answer]:
        """A fit's answer about one task, and its witness's.

        Where a function is flat around the mode, a kernel that vanishes there takes its value for the mean, and no
        value questions that: those in the tail, which do not fit, have no say. So with a flat piece no fit is taken
        to be surer than its witness, nor its error bar to be narrower than its jackknife.
        """
        member, view = fit.members.index(task), next(view for view in self.views if view.has(fit))
        mean, move, usual = float(fit.mean[member]), fit.move(member), float(fit.left_out_error[member])
        left = witness_of(fit.prepared, task, mean, fit.left_out(member), move, usual, fit.hidden)
        error, promised = view.std_error(fit, member), float(fit.promised[member])
        merit = float(fit.merits[member])
        if self.prepared.has_flat_piece(task):
            surest = max(promised, left.error)
            merit += float(np.diff(merit_of(np.array([promised, surest]), np.ones(2)))[0])
            error, promised = max(error, left.error, fit.hidden * float(np.linalg.norm(move))), surest
        answer = Answer(
            method,
            mean,
            not_below_rounding(self.prepared, task, error),
            merit + doubt(error, promised, self._plain_error(task)),
            float(fit.freedom[member]),
            view.variate(fit, member),
            view.describe(fit),
            float(fit.model_error[member]),
            moves=in_order(fit.prepared.distinct[task], move),
            members=fit.members,
            surprise=fit.surprise,
            chosen=fit.chosen,
            alike=fit.alike(member) if self.prepared.apart else 0.0,
            balance=fit.balance,
        )
        both = with_witness(answer, left, LAST_DIGITS * float(self.prepared.scale[task]))
        return [view.in_full(self.prepared, task, each) for each in both]

    def _plain_error(self, task: int) -> float:
        """About what a plain average of the distinct rows is off by; rows that are given twice say nothing new."""
        return float(self.prepared.scale[task] / np.sqrt(len(self.prepared.distinct[task].values)))
