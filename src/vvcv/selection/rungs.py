"""The ladder: plain average, polynomial, scalar kernel, semi-exact, vector-valued, vector-valued semi-exact.

Every rung answers the same questions for every task: the estimate, its standard error (corrected by how well values
are predicted that were left out), the control variate itself, and what was chosen, in words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from ..data import Prepared
from ..memory import bytes_needed, largest_system
from ..stein import count_features
from .average import average
from .exact import Options, independent, joint, semi_exact
from .kernel_fit import KernelFit
from .linear import best_polynomial

#: Rungs of the ladder, from simple to rich.
METHODS = ("mc", "zv", "cf", "secf", "vv", "vv-secf")

Variate = Callable[[np.ndarray, np.ndarray], np.ndarray]

#: Fewest distinct points with which the parameters of a kernel can be chosen.
FEWEST_POINTS = 4


@dataclass(frozen=True, eq=False)
class Answer:
    """What one rung says about one task."""

    method: str
    mean: float
    std_error: float
    variate: Variate
    description: str


class Ladder:
    """All rungs over one data set; each is fitted once, when first asked for, later ones starting from earlier ones."""

    def __init__(self, prepared: Prepared, options: Options) -> None:
        self.prepared = prepared
        self.options = options

    def answers(self, method: str) -> list[Answer | None]:
        """The answers of one rung, a None for every task it cannot serve (too few points)."""
        return {
            "mc": self._plain,
            "zv": self._polynomial,
            "cf": lambda: self._kernel("cf", self._scalar),
            "secf": lambda: self._kernel("secf", self._scalar_semi_exact),
            "vv": lambda: self._kernel("vv", self._joint),
            "vv-secf": lambda: self._kernel("vv-secf", self._joint_semi_exact),
        }[method]()

    def required(self, method: str) -> list[Answer]:
        """The answers of one rung for all tasks, or an error that says which task it cannot serve."""
        chosen = []
        for t, (answer, plain) in enumerate(zip(self.answers(method), self._plain(), strict=True)):
            if answer is None and self.prepared.constant(t):
                answer = plain  # nothing to learn: the mean of constant values is known
            if answer is None:
                raise ValueError(self._refusal(method, t))
            chosen.append(answer)
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
        return (
            f"method {method!r} needs more points than task {name!r} has: {n} distinct points in dimension "
            f"{self.prepared.tasks.dimension} (kernels need {FEWEST_POINTS}, polynomials more than their "
            "coefficients). Add points, or use 'auto'."
        )

    def _rows(self, method: str, task: int) -> int:
        """Rows of the system that a kernel rung factorises."""
        together = method.startswith("vv") and not self.prepared.tasks.share_points
        return sum(len(self.prepared.distinct[t].values) for t in (self._eligible if together else (task,)))

    @property
    def task_correlation(self) -> Float[np.ndarray, "T T"]:
        """How alike the vector-valued fit takes the tasks to be; the identity if there is none."""
        result = np.eye(len(self.prepared.tasks))
        fit = self.__dict__.get("_joint_fit")
        if fit is not None and len(fit.members) > 1:
            result[np.ix_(fit.members, fit.members)] = fit.task_correlation
        return result

    def _plain(self) -> list[Answer | None]:
        return [Answer("mc", *average(task), _zero, "plain average") for task in self.prepared.tasks]

    def _polynomial(self) -> list[Answer | None]:
        answers: list[Answer | None] = []
        for task in range(len(self.prepared.tasks)):
            fit = None if self.prepared.constant(task) else best_polynomial(self.prepared, task)
            if fit is None:
                answers.append(None)
                continue
            answers.append(Answer("zv", fit.mean, fit.std_error, fit.variate, f"polynomial of degree {fit.degree}"))
        return answers

    def _kernel(self, method: str, fits: Callable[[], dict[int, KernelFit]]) -> list[Answer | None]:
        by_task = fits()
        return [
            _kernel_answer(method, by_task[t], t) if t in by_task else None for t in range(len(self.prepared.tasks))
        ]

    @cached_property
    def _eligible(self) -> tuple[int, ...]:
        """Tasks whose values vary on enough points, in an order that does not depend on how they were given."""
        most = largest_system()
        enough = [FEWEST_POINTS <= len(rows.values) <= most for rows in self.prepared.distinct]
        return tuple(t for t in self.prepared.canonical if enough[t] and not self.prepared.constant(t))

    def _scalar(self) -> dict[int, KernelFit]:
        return self._scalar_fits

    @cached_property
    def _scalar_fits(self) -> dict[int, KernelFit]:
        return {task: independent(self.prepared, task, self.options) for task in self._eligible}

    def _joint(self) -> dict[int, KernelFit]:
        return dict.fromkeys(self._eligible, self._joint_fit) if self._can_join else {}

    @property
    def _can_join(self) -> bool:
        return bool(self._eligible) and self._rows("vv", self._eligible[0]) <= largest_system()

    @cached_property
    def _joint_fit(self) -> KernelFit:
        if len(self._eligible) == 1:
            return self._scalar_fits[self._eligible[0]]
        # On shared points one covariance serves all tasks: fits of their own would be no start for it.
        own = {} if self.prepared.tasks.share_points else self._scalar_fits
        return joint(self.prepared, self._eligible, own, self.options)

    def _scalar_semi_exact(self) -> dict[int, KernelFit]:
        fits = {task: self._best_degree(fit) for task, fit in self._scalar_fits.items()}
        return {task: fit for task, fit in fits.items() if fit is not None}

    def _joint_semi_exact(self) -> dict[int, KernelFit]:
        fit = self._best_degree(self._joint_fit) if self._can_join else None
        return dict.fromkeys(self._eligible, fit) if fit is not None else {}

    def _best_degree(self, fit: KernelFit) -> KernelFit | None:
        degrees = semi_exact_degrees(fit)
        fits = [semi_exact(fit, degree, self.options) for degree in degrees]
        return min(fits, key=lambda f: f.found.score, default=None)


def semi_exact_degrees(fit: KernelFit) -> list[int]:
    """Degrees whose columns leave at least half of every task's points to the kernel."""
    smallest = min(len(fit.prepared.distinct[t].values) for t in fit.members)
    dimension = fit.prepared.tasks.dimension
    return [degree for degree in (1, 2) if count_features(dimension, degree) + 1 <= smallest // 2]


def _kernel_answer(method: str, fit: KernelFit, task: int) -> Answer:
    member = fit.members.index(task)
    return Answer(
        method,
        float(fit.mean[member]),
        float(fit.std_error[member]),
        lambda points, scores: fit.variate(points, scores, member),
        _describe(fit),
    )


def _describe(fit: KernelFit) -> str:
    shape = ("all axes alike", "a weight for each axis", "a weight and lengthscale for each axis")[fit.found.level]
    polynomial = f" + polynomial of degree {fit.degree}" if fit.degree else ""
    family = fit.found.family if isinstance(fit.found.family, str) else type(fit.found.family).__name__
    return f"{family}, {shape}, {fit.found.system} axes{polynomial}"


def _zero(points: Float[np.ndarray, "k d"], scores: Float[np.ndarray, "k d"]) -> Float[np.ndarray, " k"]:
    return np.zeros(len(points))
