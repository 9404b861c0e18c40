"""All fits of tasks on the same points, from three passes over their rows: look, sum, leave out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache, partial
from math import hypot
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..candidates.fits import KernelFit
from ..candidates.kernel import Options
from ..candidates.polynomial import compared_with_richer, degrees_of_freedom
from ..data import Prepared, Tasks
from ..data.validation import visible
from ..runtime.clock import factorisation_seconds, limited, time_for, time_left
from ..runtime.once import cached_property
from ..tuning.attempts import TooLateError, those_that_work
from .batches import Batching
from .features import MANY_MONOMIALS, Features, Stage, beyond_polynomials, build_features
from .inducing import Inducing, inducing_points, largest_number, tuned_kernel
from .look import Look, look_at
from .normal_equations import Solution, Summing, solve_normal_equations, solved_from
from .passes import end_if_stopped, workers
from .residuals import LeavingOut, ResidualSums, sum_residuals
from .rows import Block, Rows

#: What means by inducing points may be off by beyond the last rows, in units of how far all rows have moved them: of
#: integrands that grow outwards, as exp(x), the outermost rows carry the error, and means have as much again to go. Of
#: 23 integrands under normal and log-gamma targets (d = 4 and 10, 12,000 rows, 24 samples, seeds 24800 to 24973)
#: intervals held 82 % without, 89 % at .7, 91 % at 1, with equal interval scores, and with degrees of freedom from
#: fourth powers 95 %.
STILL_MOVING = 1.0

#: Rows on which passes are tried where time is limited; and how many factorisations of all rows drawn take as long
#: as tuning a kernel and choosing points do, the first time.
TRIED_ROWS, TUNING = 1024, 6.0


@dataclass(frozen=True, eq=False)
class LargeFit:
    """What one fit says of one task, in the user's units; `witness` is its cross-fitted mean."""

    stage: Stage
    solution: Solution
    mean: float
    std_error: float
    model_error: float
    left_out_error: float
    freedom: float
    jackknife: float
    witness: float
    witness_error: float
    witness_size: float
    skewness: float


class Fitted(NamedTuple):
    """Every fit with the model it belongs to, and what all of them leave."""

    stages: list[tuple[Stage, Solution]]
    sums: ResidualSums


class LargeFits:
    """The fits of tasks on the same points; each pass is made when it is first asked for."""

    def __init__(self, rows: Rows, options: Options) -> None:
        self.rows = rows
        self.options = options
        self._fitted = cache(self._fit)
        self._seconds_to_look = 0.0

    @cached_property
    def look(self) -> Look:
        """What the first pass has seen."""
        began = time.perf_counter()
        seen = look_at(self.rows, self._batching(len(self.rows.names)))
        self._seconds_to_look = time.perf_counter() - began
        for name, largest in zip(self.rows.names, seen.moments.largest, strict=True):
            visible(largest, f"values of task {name!r}")
        return seen

    @property
    def looked(self) -> bool:
        """Whether the first pass is done."""
        return "look" in vars(self)

    @cached_property
    def sample(self) -> Tasks:
        """Some rows of all, in memory."""
        return self.look.pilot(self.rows)

    @cached_property
    def prepared(self) -> Prepared:
        """The same, as models are tuned on them."""
        return self.options.prepared(self.sample)

    @cached_property
    def plain_error(self) -> Float[np.ndarray, " T"]:
        """Standard errors of the plain averages."""
        moments = self.look.moments
        variance = moments.squares / max(moments.count - 1, 1)
        return np.sqrt(variance * self._plain_inefficiency / moments.count)

    @property
    def plain_size(self) -> Float[np.ndarray, " T"]:
        """Independent draws that the rows are worth for the plain averages."""
        return self.look.moments.count / self._plain_inefficiency

    @cached_property
    def kernel(self) -> KernelFit | None:
        """The kernel tuned on some rows, if there are enough to tune one."""
        members = beyond_polynomials(self.prepared, self.look.scaled, self.rows.count)
        return tuned_kernel(self.prepared, members, self.options)

    @cached_property
    def inducing(self) -> Inducing | None:
        """That kernel seen from few points."""
        if self.kernel is None:
            return None
        return inducing_points(self.kernel, self.look.outer.without(self.look.index), self.rows.count)

    def correlation(self, methods: tuple[str, ...], stages: list[Stage]) -> Float[np.ndarray, "T T"]:
        """Correlation of the errors of all tasks, each at one stage of what these methods offer."""
        fitted = self._fitted(methods)
        if fitted is None:
            return np.eye(len(stages))
        order = [stage for stage, _ in fitted.stages]
        chosen = [order.index(stage) * len(stages) + task for task, stage in enumerate(stages)]
        products = fitted.sums.products[np.ix_(chosen, chosen)]
        length = np.sqrt(np.diag(products))
        alike = products / np.where(length > 0, np.outer(length, length), 1.0)
        np.fill_diagonal(alike, 1.0)
        return alike

    def of_task(self, task: int, methods: tuple[str, ...]) -> list[LargeFit]:
        """What the fits of some methods say of one task; nothing where its values do not vary."""
        fitted = self._fitted(methods) if self.look.scale[task] > 0 else None
        if fitted is None:
            return []
        inefficiency = self._inefficiency(fitted.sums)
        fits = [
            self._of_stage(stage, solution, fitted.sums, (k, task), inefficiency[:, k, task])
            for k, (stage, solution) in enumerate(fitted.stages)
            if stage.columns <= fitted.sums.runs - 3
        ]
        by_degree = compared_with_richer([fit for fit in fits if fit.stage.degree])
        return by_degree + [fit for fit in fits if not fit.stage.degree]

    def _of_stage(
        self, stage: Stage, solution: Solution, sums: ResidualSums, at: tuple[int, int], inefficiency: np.ndarray
    ) -> LargeFit:
        n, task = sums.count, at[1]
        shift, scale = self.look.shift[task], self.look.scale[task]
        series = at[0] * len(self.rows.names) + task
        first, second, third = (float(power[at]) / n for power in sums.powers)
        spread = np.sqrt(max(second - first**2, 0.0))
        mean = float(shift + scale * solution.mean(stage.columns)[task])
        most = max(round(sums.runs) - stage.columns, 1)
        believed = np.sqrt(sums.residual[at] / most) * np.linalg.norm(solution.constant[: stage.columns])
        squares = float(sums.products[series, series])
        jackknife = np.sqrt(squares)
        freedom = degrees_of_freedom(squares, float(sums.fourths[at]), round(sums.runs), most)
        moved, left = np.maximum(inefficiency, 1.0)
        error = jackknife * np.sqrt(moved)
        if stage.method == "inducing":
            error = hypot(max(error, believed), STILL_MOVING * float(sums.moves[0][at]))
        return LargeFit(
            stage,
            solution,
            mean,
            std_error=float(scale * error),
            model_error=float(scale * believed),
            left_out_error=float(scale * np.sqrt(sums.squares[at] / sums.runs)),
            freedom=max(freedom / moved, 1.0),
            jackknife=float(scale * jackknife),
            witness=mean + float(scale * sums.witness[at]) / n,
            witness_error=float(scale * spread * np.sqrt(left / n)),
            witness_size=n / left,
            skewness=float(third / second**1.5) if second > 0 else 0.0,
        )

    def _fit(self, methods: tuple[str, ...]) -> Fitted | None:
        """All models of some methods, in two passes; None where there is no model, or none that can be solved."""
        self._require_time(methods)
        look, features = self.look, self._features(methods)
        if not features:
            return None
        solutions = solve_normal_equations(self.rows, features, look.shift, look.scale)
        if not solutions:
            return None
        stages = [(stage, solution) for solution in solutions for stage in solution.features.stages]
        batching = self._batching(2 * len(stages) * len(self.rows.names))
        return Fitted(stages, sum_residuals(self.rows, solutions, look, batching))

    def _features(self, methods: tuple[str, ...]) -> list[Features]:
        kernels: list[Inducing | None] = [None] if "zv" in methods else []
        if "inducing" in methods and self.inducing is not None:
            kernels.append(self.inducing)
        build = partial(build_features, self.prepared, self.look.scaled, rows=self.rows.count)
        models = those_that_work([partial(build, inducing=kernel) for kernel in kernels], required=False)
        return [model for model in models if model.stages]  # in high dimensions not even one degree may be offered

    def _require_time(self, methods: tuple[str, ...]) -> None:
        """Raise TooLateError where the two passes of some methods are not foreseen to end in time."""
        end_if_stopped()
        if time_left() == np.inf:
            return
        rows, pilot = self.rows.count, len(self.look.rows)
        to_read = 2 * self._seconds_to_look  # a look does little else
        if "inducing" in methods and "inducing" not in vars(self):
            columns = MANY_MONOMIALS + largest_number(rows)
            passes = to_read + _seconds_to_sum(rows, columns) / workers(self.rows)
            if not time_for(passes + TUNING * factorisation_seconds(pilot)):
                raise TooLateError
            with limited(time_left() - passes):
                _ = self.inducing  # which is kept
        if not time_for(to_read + self._seconds_on_trial(methods) / workers(self.rows)):
            raise TooLateError

    def _seconds_on_trial(self, methods: tuple[str, ...]) -> float:
        """Seconds that both passes take beside reading, told from some of the rows drawn."""
        look, d, features = self.look, self.rows.dimension, self._features(methods)
        drawn = look.rows[:TRIED_ROWS]
        count, spread = len(drawn), np.where(look.scale > 0, look.scale, 1.0)
        seconds, each = [], np.arange(count)
        sides = drawn[:, :d], drawn[:, d : 2 * d], drawn[:, 2 * d :]
        block = Block(*sides, chain=np.zeros_like(each), draw=each, copies=np.ones_like(each))
        for _ in range(2):  # the first time is that of compilation
            began = time.perf_counter()
            solutions = solved_from(features, Summing(features, look.shift, spread)(block).parts)
            if solutions:
                LeavingOut(solutions, look.shift, spread, None, count, look.edges.across())(block)
            seconds.append(time.perf_counter() - began)
        return min(seconds) * self.rows.count / count

    def _batching(self, series: int) -> Batching | None:
        return None if self.rows.independent else Batching.of(self.rows.chains, series)

    @property
    def _plain_inefficiency(self) -> Float[np.ndarray, " T"]:
        batching, moments = self._batching(len(self.rows.names)), self.look.moments
        if batching is None or self.look.batches is None:
            return np.ones(len(self.rows.names))
        found = batching.inefficiency(self.look.batches, moments.squares / moments.count)
        return np.maximum(found, 1.0 / np.log10(max(moments.count, 10)))

    def _inefficiency(self, sums: ResidualSums) -> Float[np.ndarray, "2 k T"]:
        """Of moves, beside those of whole runs, and of left-out residuals, for every fit and task.

        What repeated rows of a chain are worth its autocorrelation tells; others that repeat say nothing new.
        """
        batching = self._batching(sums.moves.size)
        if batching is None or sums.batches is None:
            return np.stack([np.ones_like(sums.witness), np.full_like(sums.witness, sums.count / sums.runs)])
        first, second = np.stack([sums.moves, sums.powers[:2]], axis=1) / sums.count
        found = batching.inefficiency(sums.batches, (second - first**2).ravel()).reshape(second.shape)
        of_runs = np.diag(sums.products).reshape(sums.witness.shape)
        found[0] *= sums.moves[1] / np.where(of_runs > 0, of_runs, 1.0)
        return found


def _seconds_to_sum(rows: int, columns: int) -> float:
    """About how long both passes take beside reading: three products of every two columns, as a factorisation."""
    return factorisation_seconds(round((18 * rows * columns**2) ** (1 / 3)))
