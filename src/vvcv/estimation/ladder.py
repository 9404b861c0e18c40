"""The ladder: plain average, polynomial, scalar kernel, semi-exact, vector-valued, vector-valued semi-exact.

Every rung offers candidates for every task: the estimate, its standard error (corrected by how well values are
predicted that were left out), the control variate itself, and what was chosen, in words. One answer is made of them
by weight (`answers`): of one rung's where a rung was asked for, of all rungs' for `auto`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
from jaxtyping import Float

from ..candidates.fits import KernelFit
from ..candidates.kernel import MOST_TUNING_ROWS, Options, best_of, independent, joint, own_parameters, semi_exact
from ..candidates.one_function import OneFunctionFit, as_one_function
from ..candidates.plain import average, effective_size, skewness
from ..candidates.polynomial import HIGHEST_DEGREE, PolynomialFit, fit_polynomials
from ..data import Prepared, in_separate_groups
from ..linear_system.merit import merit_of
from ..runtime.memory import bytes_needed, largest_system
from ..stein import count_features
from ..tuning.search import those_that_work
from .weights import Answer, combine, contradiction

#: Rungs of the ladder, from simple to rich.
METHODS = ("mc", "zv", "cf", "secf", "vv", "vv-secf")

#: Fewest distinct points with which the parameters of a kernel can be chosen.
FEWEST_POINTS = 4

#: Why a task keeps its plain average.
SEPARATE_GROUPS = "plain average: the points lie in separate groups, whose weights no control variate can see"

Fits = dict[int, list[KernelFit]]
AnyFits = Mapping[int, Sequence[KernelFit | OneFunctionFit]]


class RefusedError(ValueError):
    """A rung cannot serve a task: too few points, or too many for the machine."""


class Ladder:
    """All rungs over one data set; each is fitted once, when first asked for, later ones starting from earlier ones."""

    def __init__(self, prepared: Prepared, options: Options) -> None:
        self.prepared = prepared
        self.options = options

    def candidates(self, method: str) -> list[list[Answer]]:
        """What one rung offers for each task: nothing where it cannot serve it (too few points)."""
        if method == "mc":
            return [[answer] for answer in self.plain]
        if method == "zv":
            return self._polynomials
        fits: AnyFits = {
            "cf": lambda: self._scalar_fits,
            "secf": lambda: self._scalar_semi_exact,
            "vv": lambda: self._together_or_alone,
            "vv-secf": lambda: dict.fromkeys(self._eligible, self._joint_semi_exact),
        }[method]()
        return [self._solved(method, fits.get(t, []), t) for t in range(len(self.prepared.tasks))]

    def automatic(self) -> list[list[Answer]]:
        """The answer of every rung that can serve it, for each task.

        On shared points, where a scalar rung pays for every task anew, only the more promising of the two is asked.
        Where points lie in separate groups, the plain average alone is: no other rung can know the groups' weights.
        """
        grouped = [in_separate_groups(rows.points) for rows in self.prepared.distinct]
        if all(grouped):
            return [[self._in_groups(t)] for t in range(len(grouped))]
        methods: tuple[str, ...] = METHODS if len(self.prepared.tasks) > 1 else METHODS[:4]
        if self._pooled and self._can_join:
            semi_exact = self._joint_semi_exact
            columns_help = bool(semi_exact) and best_of(semi_exact).found.merit < best_of(self._joint_fits).found.merit
            methods = tuple(m for m in methods if m != ("cf" if columns_help else "secf"))
        rungs = [self.candidates(method) for method in methods]
        return [
            [self._in_groups(t)] if apart else [combine(rung[t]) for rung in rungs if rung[t]]
            for t, apart in enumerate(grouped)
        ]

    def _in_groups(self, task: int) -> Answer:
        return replace(self.plain[task], description=SEPARATE_GROUPS)

    def required(self, method: str) -> list[Answer]:
        """The answers of one rung for all tasks, or an error that says which task it cannot serve."""
        chosen = []
        for t, offered in enumerate(self.candidates(method)):
            if not offered and self.prepared.constant(t):
                offered = [self.plain[t]]  # nothing to learn: the mean of constant values is known
            if not offered:
                raise RefusedError(self._refusal(method, t))
            chosen.append(combine(offered))
        return chosen

    def _refusal(self, method: str, task: int) -> str:
        name, n = self.prepared.tasks.names[task], len(self.prepared.distinct[task].values)
        rows = self._rows(method, task)
        if rows > largest_system():
            return (
                f"method {method!r} must factorise a matrix of {rows} rows for task {name!r}, which takes "
                f"{bytes_needed(rows) / 1e9:.0f} GB; this machine has room for {largest_system()} rows. "
                "Thin the sample, or use method 'zv' or 'auto'."
            )
        if n >= FEWEST_POINTS and method in ("cf", "vv"):
            return (
                f"method {method!r} must factorise a kernel matrix of the {n} distinct points of task {name!r}, which "
                "failed for every kernel tried. Points that nearly coincide do this: merge them, or use 'auto'."
            )
        return (
            f"method {method!r} needs more points than task {name!r} has: {n} distinct points in dimension "
            f"{self.prepared.tasks.dimension} (kernels need {FEWEST_POINTS}, polynomials more than their "
            "coefficients, and beside a kernel three times as many). Add points, or use 'auto'."
        )

    def _rows(self, method: str, task: int) -> int:
        """Rows of the system that a kernel rung factorises."""
        together = method.startswith("vv") and not self.prepared.tasks.share_points
        return sum(len(self.prepared.distinct[t].values) for t in (self._eligible if together else (task,)))

    @property
    def task_correlation(self) -> Float[np.ndarray, "T T"]:
        """How alike the vector-valued fit takes the tasks to be; the identity if there is none."""
        result = np.eye(len(self.prepared.tasks))
        fits = self.__dict__.get("_joint_fits")
        if fits and len(fits[0].members) > 1:
            fit = best_of(fits)
            result[np.ix_(fit.members, fit.members)] = fit.task_correlation
        return result

    @cached_property
    def plain(self) -> list[Answer]:
        """Plain averages."""
        answers = []
        for t, task in enumerate(self.prepared.tasks):
            mean, error = average(task)
            left_out = self.prepared.scale[t] * task.size / max(task.size - 1, 1)
            merit = float(merit_of(np.array(error), np.array(left_out)))
            freedom = max(effective_size(task.values, task.chains) - 1, 1.0)
            answers.append(Answer("mc", mean, error, merit, freedom, _zero, "plain average", error, error))
        return answers

    @cached_property
    def _polynomials(self) -> list[list[Answer]]:
        varying = tuple(t for t in range(len(self.prepared.tasks)) if not self.prepared.constant(t))
        groups = [varying] if self.prepared.tasks.share_points and varying else [(t,) for t in varying]
        answers: list[list[Answer]] = [[] for _ in self.prepared.tasks]
        for members in groups:
            for degree in range(1, HIGHEST_DEGREE + 1):
                for t, fit in zip(members, fit_polynomials(self.prepared, members, degree), strict=False):
                    answers[t].append(self._polynomial_answer(fit, t))
        return answers

    def _polynomial_answer(self, fit: PolynomialFit, task: int) -> Answer:
        merit = float(merit_of(np.array(fit.std_error), np.array(fit.left_out_error)))
        return Answer(
            "zv",
            fit.mean,
            fit.std_error * self._inefficiency[task],
            merit + self._contradiction(fit.mean, task),
            fit.freedom,
            fit.variate,
            f"polynomial of degree {fit.degree}",
            fit.model_error,
            self._cross_fitted(fit.leave_one_out, task),
        )

    def _solved(self, method: str, fits: Sequence[KernelFit | OneFunctionFit], task: int) -> list[Answer]:
        """The answers of those fits that can be solved on the data as they are."""
        serving = (fit for fit in fits if task in fit.members)
        return those_that_work((partial(self._answer, method, fit, task) for fit in serving), required=False)

    def _answer(self, method: str, fit: KernelFit | OneFunctionFit, task: int) -> Answer:
        member = fit.members.index(task)
        mean = float(fit.mean[member])
        return Answer(
            method,
            mean,
            float(fit.std_error[member]) * self._inefficiency[task],
            float(fit.merits[member]) + self._contradiction(mean, task),
            fit.freedom,
            lambda points, scores: fit.variate(points, scores, member),
            _describe(fit),
            float(fit.model_error[member]),
            self._cross_fitted(fit.left_out(member), task),
        )

    def _cross_fitted(self, left_out: Float[np.ndarray, " n"], task: int) -> float:
        """The Monte Carlo error of left-out residuals, in the order of the rows given and as effective as they are."""
        rows = self.prepared.tasks[task]
        residuals = left_out[self.prepared.distinct[task].row]
        return float(np.std(residuals) / np.sqrt(effective_size(residuals, rows.chains)))

    def _contradiction(self, mean: float, task: int) -> float:
        return contradiction(mean, self.plain[task], self._skewness[task])

    @cached_property
    def _skewness(self) -> list[float]:
        return [skewness(task.values) for task in self.prepared.tasks]

    @cached_property
    def _inefficiency(self) -> list[float]:
        """By how much chains widen every error bar, having seen fewer places than rows: sqrt(n / effective n)."""
        ratios = [task.size / effective_size(task.values, task.chains) for task in self.prepared.tasks]
        return [float(np.sqrt(max(ratio, 1.0))) for ratio in ratios]

    @cached_property
    def _eligible(self) -> tuple[int, ...]:
        """Tasks whose values vary on enough points, in an order that does not depend on how they were given."""
        most = largest_system()
        enough = [FEWEST_POINTS <= len(rows.values) <= most for rows in self.prepared.distinct]
        return tuple(t for t in self.prepared.canonical if enough[t] and not self.prepared.constant(t))

    @cached_property
    def _scalar_fits(self) -> Fits:
        if self._pooled:
            if not self._joint_fits:
                return {}
            best = best_of(self._joint_fits)
            return {task: self._own_parameters(best, task) for task in self._eligible}
        return {task: self._independent(task) for task in self._eligible}

    @cached_property
    def _scalar_semi_exact(self) -> Fits:
        if self._pooled:
            best = best_of(self._joint_semi_exact) if self._joint_semi_exact else None
            return {task: self._own_parameters(best, task) for task in self._eligible} if best else {}
        return {task: self._with_polynomials(fits) for task, fits in self._scalar_fits.items()}

    def _independent(self, task: int) -> list[KernelFit]:
        attempt = partial(independent, self.prepared, task, self.options)
        return [fit for fits in those_that_work([attempt], required=False) for fit in fits]

    def _own_parameters(self, pooled: KernelFit, task: int) -> list[KernelFit]:
        return those_that_work([partial(own_parameters, pooled, task, self.options)], required=False)

    @property
    def _pooled(self) -> bool:
        """Whether one covariance serves several tasks on the same points: a start for each of them."""
        return self.prepared.tasks.share_points and len(self._eligible) > 1

    @property
    def _can_join(self) -> bool:
        return bool(self._eligible) and self._rows("vv", self._eligible[0]) <= largest_system()

    @cached_property
    def _joint_fits(self) -> list[KernelFit]:
        if not self._can_join:
            return []
        if len(self._eligible) == 1:
            return self._scalar_fits[self._eligible[0]]
        own = {} if self._pooled else {task: best_of(fits) for task, fits in self._scalar_fits.items() if fits}
        members = self._eligible if self._pooled else tuple(own)
        attempts = [partial(joint, self.prepared, members, own, self.options)] if members else []
        return [fit for fits in those_that_work(attempts, required=False) for fit in fits]

    @property
    def _together_or_alone(self) -> AnyFits:
        """The joint fits and, where tasks have points of their own, each task's independent ones: no task must share.

        They are the shared + own model with nothing shared, in coordinates and of a family that suit the one task.
        Tasks that are seen to be one function are fitted as one as well.
        """
        if self._pooled or len(self._eligible) == 1:
            return dict.fromkeys(self._eligible, self._joint_fits)
        joint = self._joint_fits
        if not joint:
            return {}
        offered: dict[int, list[KernelFit | OneFunctionFit]] = {
            t: [*joint, *self._scalar_fits[t]] for t in self._eligible
        }
        for fit in self._as_one_function:
            for task in fit.members:
                offered[task].append(fit)
        return offered

    @cached_property
    def _as_one_function(self) -> list[OneFunctionFit]:
        return as_one_function(self.prepared, self._scalar_fits, self.options)

    @cached_property
    def _joint_semi_exact(self) -> list[KernelFit]:
        return self._with_polynomials(self._joint_fits)

    def _with_polynomials(self, fits: list[KernelFit]) -> list[KernelFit]:
        degrees = semi_exact_degrees(fits[0]) if fits else []
        return [fit for degree in degrees for fit in semi_exact(fits, degree, self.options)]


def semi_exact_degrees(fit: KernelFit) -> list[int]:
    """Degrees whose columns leave at least two thirds of every task's tuning rows to the kernel.

    With more columns a task of few points hardly learns from others, and its few residuals claim too much.
    """
    sizes = [len(fit.prepared.distinct[t].values) for t in fit.members]
    rows = sizes[0] if fit.pooled else sum(sizes)
    smallest = min(sizes) * min(1.0, MOST_TUNING_ROWS / rows)
    dimension = fit.prepared.tasks.dimension
    return [degree for degree in (1, 2) if count_features(dimension, degree) + 1 <= smallest / 3]


def _describe(fit: KernelFit | OneFunctionFit) -> str:
    shape = ("all axes alike", "a weight for each axis", "a weight and lengthscale for each axis")[fit.found.level]
    polynomial = f" + polynomial of degree {fit.degree}" if fit.degree else ""
    family = fit.found.family if isinstance(fit.found.family, str) else type(fit.found.family).__name__
    one_function = ", tasks taken as one function" if isinstance(fit, OneFunctionFit) else ""
    return f"{family}, {shape}, {fit.found.system} axes{polynomial}{one_function}"


def _zero(points: Float[np.ndarray, "k d"], scores: Float[np.ndarray, "k d"]) -> Float[np.ndarray, " k"]:
    return np.zeros(len(points))
