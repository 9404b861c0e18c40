"""The result of an estimation: numbers, where they came from, and how to look at them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from ..checks import Check, Finding, Mixing
from ..data import Tasks, finite_array, require
from ..report import explain, html_report, plot_estimate, table
from ..runtime.precision import float64
from ..runtime.version import __version__
from . import labelled
from .joint import error_correlation
from .weights import Answer

if TYPE_CHECKING:
    import xarray as xr

    from ..report.frame import Frame


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


class ControlVariate:
    """g = (g_1, ..., g_T) with Pi_t[g_t] = 0 for every task t (paper, eq. 5): call it with points, scores, task."""

    def __init__(self, names: tuple[str, ...], answers: list[Answer], dimension: int) -> None:
        self.names = names
        self._variates = [answer.variate for answer in answers]
        self._dimension = dimension

    @float64
    def __call__(self, points: Any, scores: Any, task: str | int = 0) -> Float[np.ndarray, " k"]:
        """Values of g_t at points, given the scores of task t's target there."""
        index = self.names.index(task) if task in self.names else task
        require(
            isinstance(index, int | np.integer) and -len(self.names) <= index < len(self.names),
            f"task must be one of the names {list(self.names)} or an index below {len(self.names)}, but is {task!r}.",
        )
        points, scores = finite_array(points, "points"), finite_array(scores, "scores")
        points = points.reshape(-1, self._dimension) if points.ndim < 2 else points
        scores = scores.reshape(points.shape) if scores.size == points.size else scores
        require(
            points.ndim == 2 and points.shape[1] == self._dimension and scores.shape == points.shape,
            f"points and scores must have shape (k, {self._dimension}), but have {points.shape} and {scores.shape}.",
        )
        return self._variates[int(index)](points, scores)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Expectations of all tasks with standard errors; prints itself as a table.

    `method` is what was asked for, `methods` the rung that gave each task's numbers, `kernel` its description;
    `check` is what `vvcv.check` found in the data, `mixing` whether chains have mixed.

    `std_error` is the error bar that covers. Beside it stand `model_std_error`, what the heaviest model believes, and
    `cross_fitted_std_error`, the Monte Carlo error of what it leaves of values it has not seen.
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

    @cached_property
    def covariance(self) -> Float[np.ndarray, "T T"]:
        """Joint covariance of the estimates: squared standard errors, and what errors on shared points have in common.

        Tasks on points of their own have zero covariance. Computed when first asked for.
        """
        correlation = self.error_correlation
        if correlation is None:
            if self.tasks is None:
                raise ValueError("The covariance of this estimate was not stored. Run estimate again on the data.")
            correlation = error_correlation(self.tasks, self.control_variate)
        return np.outer(self.std_error, self.std_error) * correlation

    @property
    def gain(self) -> Float[np.ndarray, " T"]:
        """By what factor the plain average would need more samples to have the same standard error."""
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = (self.monte_carlo.std_error / self.std_error) ** 2
        return np.where(self.std_error == self.monte_carlo.std_error, 1.0, gain)

    def interval(self, level: float = 0.95) -> tuple[Float[np.ndarray, " T"], Float[np.ndarray, " T"]]:
        """Lower and upper ends of intervals that hold each expectation with probability `level`, by Student's t."""
        require(0 < level < 1, f"level is a probability strictly between 0 and 1, but is {level!r}.")
        from scipy.stats import t as student  # takes a third of a second

        half = student.ppf(0.5 + level / 2, self.freedom) * self.std_error
        return self.mean - half, self.mean + half

    def explain(self) -> str:
        """Which method was taken for each task, what each said, and why, in words."""
        return explain(self.names, self.promises, asked=self.method != "auto")

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

    def summary(self) -> Frame:
        """A pandas table: mean, error, plain average, gain, the independent draws it is worth; prints well."""
        return labelled.summary_of(self)

    def to_xarray(self) -> xr.Dataset:
        """A labelled dataset with one row per task."""
        return labelled.to_xarray(self)

    def matrices(self) -> xr.Dataset:
        """A labelled dataset of what is known of pairs of tasks: task correlation, covariance of the estimates."""
        return labelled.matrices(self)

    def to_inference_data(self) -> Any:
        """Draws, points, scores and estimates for ArviZ's functions and plots (0.x and 1.x)."""
        return labelled.to_inference_data(self)

    def plot(self, ax: Any = None, exact: Any = None):
        """Estimates with error bars beside plain averages; returns the matplotlib axes."""
        return plot_estimate(self.names, self.columns(), ax=ax, exact=exact)

    def save(self, path: str | os.PathLike) -> None:
        """Write everything but the control variate to a netCDF file, which `vvcv.load` reads."""
        from .storage import save  # storage knows results; results only ask it to store

        save(self, path)

    def report(self, path: str | os.PathLike, exact: Any = None) -> None:
        """Write tables, pictures, what was chosen and why, and what the checks found to one HTML file."""
        from .pages import fits_of
        from .storage import replacing  # storage knows results; results only ask it to store

        page = html_report(
            self.names,
            self.columns(),
            remarks=self._remarks(),
            alarms=self.alarms(),
            findings=self.check or (),
            exact=exact,
            promises=self.promises,
            asked=self.method != "auto",
            correlation=None
            if np.array_equal(self.task_correlation, np.eye(len(self.names)))
            else self.task_correlation,
            fits=fits_of(self),
            version=__version__,
        )
        with replacing(Path(path)) as temporary:
            temporary.write_text(page, encoding="utf-8")

    def alarms(self) -> list[str]:
        """What a reader must know before believing a number: failed checks, chains that have not mixed."""
        alarms = [f"{f.severity}: {f.sentence}" for f in self.check or () if f.severity in ("warning", "error")]
        return alarms + ([] if self.mixing is None else self.mixing.alarms(self.names, self.sizes))

    def _remarks(self) -> list[str]:
        remarks = [f"method {self.method}, {self.seconds:.1f} s"]
        if len(self.names) > 1:
            remarks.append(
                "tasks share their points: they gain from common hyperparameters, hardly from their correlation"
                if self.share_points
                else "tasks have points of their own: related tasks inform each other"
            )
        return remarks

    def __str__(self) -> str:
        return "\n".join([table(self.names, self.columns(), self._remarks()), *self.alarms()])


__all__ = ["Check", "ControlVariate", "Estimate", "Finding", "Mixing", "MonteCarlo", "Promise"]
