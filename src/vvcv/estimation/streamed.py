"""Answers for samples of any size: plain average, polynomials and inducing points, from sums over blocks of rows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import hypot

import numpy as np
from jaxtyping import Float

from ..candidates.kernel import Options
from ..candidates.rungs import FEWEST_POINTS
from ..checks.mixing import Mixing, fewest_of, largest_by_chance, r_hat_of_parts
from ..data import Task, Tasks
from ..data.chains import SHORTEST
from ..large.features import Stage
from ..large.fits import LargeFit, LargeFits
from ..large.rows import Rows
from ..linear_system.merit import merit_of
from ..runtime.clock import time_left
from ..runtime.once import cached_property
from ..tuning.attempts import TooLateError
from .describe import describe
from .weights import ROUNDING, Answer, Witness, no_variate, with_witness

#: The rungs that need no more memory for more rows.
STREAMED = ("mc", "zv", "inducing")

#: Why a task has the plain average, though another method was asked for by name.
NO_TIME = "plain average: the time was too short for two more passes over all rows"


class Streamed:
    """Answers for all tasks; those on the same points are read together."""

    def __init__(self, tasks: Tasks, options: Options) -> None:
        self.tasks = tasks
        members = [tuple(range(len(tasks)))] if tasks.share_points else [(t,) for t in range(len(tasks))]
        self._groups = [
            (group, LargeFits(Rows.of([tasks[t] for t in group], [tasks.names[t] for t in group]), options))
            for group in members
        ]
        self._asked: dict[tuple[int, str], tuple[tuple[str, ...], Stage]] = {}

    def candidates(self, method: str) -> list[list[Answer]]:
        """What one rung offers for each task: nothing where it cannot serve it, plain averages if time is short."""
        if method == "mc":
            return [[answer] for answer in self.plain]
        return [
            [replace(plain, description=NO_TIME)] if offered is None else offered
            for plain, offered in zip(self.plain, self._offered((method,)), strict=True)
        ]

    def automatic(self) -> list[list[Answer]]:
        """All rungs' answers for each task, of one pass over the rows for all of them.

        Where time is limited, polynomials come first: inducing points cost ten times as much.
        """
        everything = ("zv", "inducing")
        attempts = (everything,) if time_left() == np.inf else (("zv",), everything)
        offered: list[list[Answer]] = [[] for _ in self.tasks]
        for methods in attempts:
            offered = [old if new is None else new for old, new in zip(offered, self._offered(methods), strict=True)]
        return [[plain, *rest] for plain, rest in zip(self.plain, offered, strict=True)]

    @property
    def looked(self) -> bool:
        """Whether plain averages are known without another look at the rows."""
        return all(fits.looked for _, fits in self._groups)

    @cached_property
    def plain(self) -> list[Answer]:
        """Plain averages."""
        answers: dict[int, Answer] = {}
        for group, fits in self._groups:
            for i, task in enumerate(group):
                mean, error = float(fits.look.shift[i]), float(fits.plain_error[i])
                count = fits.look.moments.count
                merit = float(merit_of(np.array(error), fits.look.scale[i] * count / max(count - 1, 1)))
                freedom = max(float(fits.plain_size[i]) - 1, 1.0)
                answers[task] = Answer("mc", mean, error, merit, freedom, no_variate, "plain average", error, error)
        return [answers[t] for t in range(len(self.tasks))]

    @property
    def std_dev(self) -> Float[np.ndarray, " T"]:
        """Standard deviations of the values."""
        result = np.empty(len(self.tasks))
        for group, fits in self._groups:
            moments = fits.look.moments
            result[list(group)] = np.sqrt(moments.squares / max(moments.count - 1, 1))
        return result

    @property
    def samples(self) -> list[tuple[tuple[int, ...], Tasks]]:
        """Tasks on the same points, and some rows of them in memory."""
        return [(group, fits.sample) for group, fits in self._groups]

    @property
    def far_beyond(self) -> list[float]:
        """For each of these, how many times as far out as any row drawn some row lies."""
        return [fits.look.far_beyond(fits.rows) for _, fits in self._groups]

    def mixing(self) -> Mixing | None:
        """Whether chains have mixed: r_hat of the rows drawn, effective draws of all; None if there are none."""
        r_hats, sizes, largest, fewest = np.full((4, len(self.tasks)), np.nan)
        for group, fits in self._groups:
            if fits.rows.independent or fits.rows.chains[1] < SHORTEST:
                continue
            halves, sample = fits.look.halves(fits.rows), fits.sample
            if len(halves) > 1:
                points = max(r_hat_of_parts(column[halves]) for column in sample[0].points.T)
                r_hats[list(group)] = [max(points, r_hat_of_parts(task.values[halves])) for task in sample]
                largest[list(group)] = largest_by_chance(*halves.shape)
            sizes[list(group)] = np.minimum(fits.plain_size, fits.rows.count)
            fewest[list(group)] = fewest_of(fits.rows.count)
        return None if np.isnan(sizes).all() else Mixing(r_hats, sizes, largest, fewest)

    def first(self, count: int) -> list[Task]:
        """The first rows of every task whose rows are given as independent, one after the other."""
        return [task for _, fits in self._groups if fits.rows.independent for task in fits.rows.first(count)]

    def error_correlation(self, chosen: list[Answer]) -> Float[np.ndarray, "T T"]:
        """Correlation of the errors of these answers: of what each one's rows move the mean by."""
        result = np.eye(len(self.tasks))
        for group, fits in self._groups:
            asked = [self._asked[key] for t in group if (key := (t, chosen[t].description)) in self._asked]
            if len(asked) == len(group) > 1:
                methods = max((methods for methods, _ in asked), key=len)
                result[np.ix_(group, group)] = fits.correlation(methods, [stage for _, stage in asked])
        return result

    def _offered(self, methods: tuple[str, ...]) -> list[list[Answer] | None]:
        """The answers of some methods for each task; None where there was no time for them."""
        offered: list[list[Answer] | None] = [[] for _ in self.tasks]
        for group, fits in self._groups:
            if len(fits.prepared.distinct[0].values) < FEWEST_POINTS:
                continue
            try:
                for i, task in enumerate(group):
                    offered[task] = self._of_task(fits, i, task, methods)
            except TooLateError:
                for task in group:
                    offered[task] = None
        return offered

    def _of_task(self, fits: LargeFits, index: int, task: int, methods: tuple[str, ...]) -> list[Answer]:
        offered = []
        for fit in fits.of_task(index, methods):
            answers = self._answers(fits, fit, index)
            self._asked.update({(task, answer.description): (methods, fit.stage) for answer in answers})
            offered += answers
        return offered

    def _answers(self, fits: LargeFits, fit: LargeFit, index: int) -> list[Answer]:
        look = fits.look
        rounding = ROUNDING * float(np.abs(look.shift[index]) + look.scale[index])
        variate = partial(_variate, fit.solution, fit.stage.columns, index, float(look.scale[index]))
        answer = Answer(
            fit.stage.method,
            fit.mean,
            hypot(fit.std_error, rounding),
            float(merit_of(np.array(fit.jackknife), np.array(fit.left_out_error))),
            fit.freedom,
            variate,
            _words(fits, fit),
            fit.model_error,
        )
        witness = Witness(fit.witness, fit.witness_error, fit.witness_size, fit.skewness, fit.left_out_error)
        return with_witness(answer, witness)


def _variate(solution, count: int, task: int, scale: float, points: np.ndarray, scores: np.ndarray) -> np.ndarray:
    return scale * solution.variate(points, scores, count, task)


def _words(fits: LargeFits, fit: LargeFit) -> str:
    if fit.stage.method != "inducing":
        return fit.stage.words
    kernel, inducing = fits.kernel, fits.inducing
    if kernel is None or inducing is None:
        raise AssertionError("a stage with a kernel has one")
    return f"{describe(replace(kernel, degree=0))}, {inducing.count} inducing points for {fits.rows.count} rows"
