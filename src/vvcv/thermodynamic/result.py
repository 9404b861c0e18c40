"""The result of an evidence computation: the number, its error and where that comes from."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..data import probability_between
from ..report import simple_table, with_error
from .plot import plot_evidence
from .quadrature import PerTemperature

if TYPE_CHECKING:
    from xarray import Dataset
else:  # takes half a second to import
    Dataset = Any


class Comparison(NamedTuple):
    """Another method's log evidence from the same draws."""

    name: str
    log_evidence: float
    std_error: float


@dataclass(frozen=True, eq=False)
class Evidence:
    """Log evidence with its standard error, and mean and variance of the log likelihood at every temperature.

    `std_error` joins `sampling_error` (finitely many draws) and `quadrature_error` (finitely many temperatures);
    `comparison` holds other methods' answers from the same draws. Errors at single temperatures are the model's, raised
    where draws left out contradict it and lowered where they do by far; at the lowest, whose far tails no draw may have
    reached, they can be too small.
    """

    log_evidence: float
    std_error: float
    sampling_error: float
    quadrature_error: float
    temperatures: PerTemperature
    means: PerTemperature
    mean_std_errors: PerTemperature
    variances: PerTemperature
    variance_std_errors: PerTemperature
    plain_means: PerTemperature
    plain_variances: PerTemperature
    sizes: tuple[int, ...]
    comparison: tuple[Comparison, ...]
    seconds: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Ends of an interval that holds the log evidence with probability `level`, by a normal distribution."""
        probability_between(level, "level")
        half = NormalDist().inv_cdf(0.5 + level / 2) * self.std_error
        return self.log_evidence - half, self.log_evidence + half

    def columns(self) -> dict[str, np.ndarray]:
        """One array per column of the table, a row for each temperature."""
        return {
            "mean": self.means,
            "mean_std_error": self.mean_std_errors,
            "variance": self.variances,
            "variance_std_error": self.variance_std_errors,
            "plain_mean": self.plain_means,
            "plain_variance": self.plain_variances,
            "samples": np.array(self.sizes),
        }

    def to_xarray(self) -> Dataset:
        """A labelled dataset with one row per temperature; the evidence and its errors are attributes."""
        import xarray as xr  # takes half a second, and a table does not need it

        names = ("log_evidence", "std_error", "sampling_error", "quadrature_error", "seconds")
        return xr.Dataset(
            {name: ("temperature", column) for name, column in self.columns().items()},
            coords={"temperature": self.temperatures},
            attrs={name: getattr(self, name) for name in names},
        )

    def plot(self, axes: Any = None):
        """The path of the mean log likelihood, whose area is the evidence, and all methods' answers; returns two axes.

        `axes` are two to draw into, such as those of `plt.subplots(1, 2)`.
        """
        ours = Comparison("vvcv", self.log_evidence, self.std_error)
        return plot_evidence(self.temperatures, self.columns(), [ours, *self.comparison], axes)

    def __str__(self) -> str:
        size = f"{len(self.means)} temperatures, {self.seconds:.1f} s"
        return "\n\n".join([self._methods(), self._by_temperature(), size])

    def _methods(self) -> str:
        rows = [["vector-valued", *with_error(self.log_evidence, self.std_error)]]
        rows += [["  from finitely many draws", "", f"{self.sampling_error:.2g}"]]
        rows += [["  from finitely many temperatures", "", f"{self.quadrature_error:.2g}"]]
        rows += [[other.name, *with_error(other.log_evidence, other.std_error)] for other in self.comparison]
        return simple_table(["method", "log evidence", "std error"], rows)

    def _by_temperature(self) -> str:
        rows = []
        for i, t in enumerate(self.temperatures):
            mean = with_error(self.means[i], self.mean_std_errors[i])
            variance = with_error(self.variances[i], self.variance_std_errors[i])
            plain = f"{self.plain_means[i]:.4g}", f"{self.plain_variances[i]:.4g}"
            rows.append([f"{t:.3g}", *mean, *variance, *plain, str(self.sizes[i])])
        header = ["temperature", "mean log lik.", "std error", "variance", "std error", "plain mean", "plain var.", "n"]
        return simple_table(header, rows)
