"""The numbers of an estimate and what follows from them: gain, covariance, intervals, alarms."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Float

from ..checks import Check, Mixing
from ..checks.equal import likely_to_miss
from ..data import Tasks, probability_between
from .control_variate import ControlVariate
from .joint import error_correlation


@dataclass(frozen=True)
class MonteCarlo:
    """Plain averages and their standard errors, and the standard deviations of the values."""

    mean: Float[np.ndarray, " T"]
    std_error: Float[np.ndarray, " T"]
    std_dev: Float[np.ndarray, " T"] | None = None


@dataclass(frozen=True)
class Promise:
    """What one rung offered for one task, and the weight it was given."""

    method: str
    kernel: str
    mean: float
    std_error: float
    model_std_error: float
    cross_fitted_std_error: float
    weight: float


@dataclass(frozen=True, eq=False)
class Numbers:
    """Expectations of all tasks with standard errors, and how they came about; `Estimate` adds how to look at them.

    `method` is what was asked for, `methods` the rung that gave each task's numbers, `kernel` its description;
    `check` is what `vvcv.check` found in the data, `mixing` whether chains have mixed.

    `std_error` is the error bar that covers. Beside it stand `model_std_error`, what the heaviest model believes, and
    `cross_fitted_std_error`, the Monte Carlo error of what it leaves of values it has not seen. `moves` is what each
    row, in the order given, moves each mean by; not of rows that were read block by block, and not stored in files.
    """

    names: tuple[str, ...]
    mean: Float[np.ndarray, " T"]
    std_error: Float[np.ndarray, " T"]
    model_std_error: Float[np.ndarray, " T"]
    cross_fitted_std_error: Float[np.ndarray, " T"]
    method: str
    methods: tuple[str, ...]
    monte_carlo: MonteCarlo
    task_correlation: Float[np.ndarray, "T T"]
    kernel: tuple[str, ...]
    sizes: tuple[int, ...]
    seconds: float
    share_points: bool
    freedom: Float[np.ndarray, " T"]
    promises: tuple[tuple[Promise, ...], ...] = field(repr=False)
    control_variate: ControlVariate = field(repr=False)
    check: Check | None = None
    mixing: Mixing | None = None
    tasks: Tasks | None = field(default=None, repr=False)
    error_correlation: Float[np.ndarray, "T T"] | None = field(default=None, repr=False)
    moves: tuple[Float[np.ndarray, " n"], ...] | None = field(default=None, repr=False)

    @cached_property
    def covariance(self) -> Float[np.ndarray, "T T"]:
        """Joint covariance of the estimates: squared standard errors, and what errors on shared points have in common.

        Tasks on points of their own have zero covariance. Computed when first asked for.
        """
        correlation = self.error_correlation
        if correlation is None:
            if self.tasks is None or self.moves is None:
                raise ValueError("The covariance of this estimate was not stored. Run estimate again on the data.")
            correlation = error_correlation(self.tasks, self.moves)
        return np.outer(self.std_error, self.std_error) * correlation

    @property
    def gain(self) -> Float[np.ndarray, " T"]:
        """By what factor the plain average would need more samples to have the same standard error."""
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = (self.monte_carlo.std_error / self.std_error) ** 2
        return np.where(self.std_error == self.monte_carlo.std_error, 1.0, gain)

    def interval(self, level: float = 0.95) -> tuple[Float[np.ndarray, " T"], Float[np.ndarray, " T"]]:
        """Lower and upper ends of intervals that hold each expectation with probability `level`, by Student's t."""
        probability_between(level, "level")
        from scipy.stats import t as student  # takes a third of a second

        half = student.ppf(0.5 + level / 2, self.freedom) * self.std_error
        return self.mean - half, self.mean + half

    def columns(self) -> dict[str, np.ndarray]:
        """One array per column of the table, a row for each task."""
        return {
            "mean": self.mean,
            "std_error": self.std_error,
            "model_std_error": self.model_std_error,
            "cross_fitted_std_error": self.cross_fitted_std_error,
            "monte_carlo_mean": self.monte_carlo.mean,
            "monte_carlo_std_error": self.monte_carlo.std_error,
            "gain": self.gain,
            "samples": np.array(self.sizes),
            "method": np.array(self.methods),
            "kernel": np.array(self.kernel),
        }

    def alarms(self) -> list[str]:
        """What a reader must know before believing a number: failed checks, chains that have not mixed."""
        alarms = [f"{f.severity}: {f.sentence}" for f in self.check or () if f.severity in ("warning", "error")]
        return alarms + ([] if self.mixing is None else self.mixing.alarms(self.names, self.sizes))

    def remarks(self) -> list[str]:
        """How the numbers were made, in a line or two."""
        remarks = [f"method {self.method}, {self.seconds:.1f} s"]
        if len(self.names) > 1:
            remarks.append(
                "tasks share their points: they gain from common hyperparameters, hardly from their correlation"
                if self.share_points
                else "tasks have points of their own: related tasks inform each other"
            )
        return [*remarks, *self._of_equal_values()]

    def _of_equal_values(self) -> list[str]:
        """Elements of a posterior may be constant; an event that no draw has seen has an error bar of zero, too."""
        equal = [t for t, error in enumerate(self.monte_carlo.std_error) if error == 0]
        if not equal:
            return []
        first, more = equal[0], f" (and {len(equal) - 1} more)" if len(equal) > 1 else ""
        return [
            f"all values of {self.names[first]!r}{more} are the same: if it is an event, one as likely as "
            f"{likely_to_miss(self.sizes[first]):.2g} may have been missed"
        ]
