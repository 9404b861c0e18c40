"""The result of an estimation: numbers, where they came from, and how to look at them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from ..data import require
from ..files.formats import require_ending
from ..report import explain, html_report, plot_estimate, table
from ..runtime.disk import write_whole
from ..runtime.version import __version__
from . import labelled
from .numbers import Numbers
from .pages import fits_of

if TYPE_CHECKING:
    from xarray import Dataset

    from ..report.frame import Frame
else:  # they take half a second to import
    Dataset = Frame = Any


@dataclass(frozen=True, eq=False)
class Estimate(Numbers):
    """Expectations of all tasks with standard errors; prints itself as a table.

    `method` is what was asked for, `methods` the rung that gave each task's numbers, `kernel` its description;
    `check` is what `vvcv.check` found in the data, `mixing` whether chains have mixed.

    `std_error` is the error bar that covers. Beside it stand `model_std_error`, what the heaviest model believes, and
    `cross_fitted_std_error`, the Monte Carlo error of what it leaves of values it has not seen.
    """

    def explain(self) -> str:
        """Which method was taken for each task, what each said, and why, in words."""
        return explain(self.names, self.promises, asked=self.method != "auto")

    def summary(self) -> Frame:
        """A pandas table: mean, error, plain average, gain, the independent draws it is worth; prints well."""
        return labelled.summary_of(self)

    def to_xarray(self) -> Dataset:
        """A labelled dataset with one row per task."""
        return labelled.to_xarray(self)

    def matrices(self) -> Dataset:
        """A labelled dataset of what is known of pairs of tasks: task correlation, covariance of the estimates."""
        return labelled.matrices(self)

    def to_inference_data(self) -> Any:
        """Draws, points, scores and estimates for ArviZ's functions and plots (0.x and 1.x)."""
        return labelled.to_inference_data(self)

    def plot(self, ax: Any = None, exact: Any = None):
        """Estimates with error bars beside plain averages; returns the matplotlib axes.

        `exact` has a number for each task, in their order or by name, which is drawn as a cross; nan is not drawn.
        """
        return plot_estimate(self.names, self.columns(), ax=ax, exact=self._one_for_each(exact))

    def save(self, path: str | os.PathLike) -> None:
        """Write all numbers, but neither data nor the control variate, to a netCDF file, which `vvcv.load` reads."""
        from .netcdf import save  # h5py is an extra

        save(self, path)

    def report(self, path: str | os.PathLike, exact: Any = None) -> None:
        """Write tables, pictures, what was chosen and why, and what the checks found to one HTML file."""
        require_ending(path, "HTML")
        page = html_report(
            self.names,
            self.columns(),
            remarks=self.remarks(),
            alarms=self.alarms(),
            findings=self.check or (),
            exact=self._one_for_each(exact),
            promises=self.promises,
            asked=self.method != "auto",
            correlation=None
            if np.array_equal(self.task_correlation, np.eye(len(self.names)))
            else self.task_correlation,
            fits=fits_of(self),
            version=__version__,
        )
        write_whole(Path(path), page)

    def _one_for_each(self, exact: Any) -> Float[np.ndarray, " T"] | None:
        """Exact answers in the order of the tasks, nan where there is none."""
        if exact is None:
            return None
        names = list(self.names)
        if isinstance(exact, Mapping):
            unknown = [name for name in exact if name not in names]
            require(not unknown, f"exact must go by the names of tasks, {names}, but has {unknown}.")
            exact = [exact.get(name, np.nan) for name in names]
        numbers = np.asarray(exact, dtype=float)
        require(
            numbers.ndim < 2 and numbers.size == len(names),
            f"exact must hold one number for each of the tasks {names}, but has shape {numbers.shape}.",
        )
        return numbers.reshape(-1)

    def __str__(self) -> str:
        return "\n".join([table(self.names, self.columns(), self.remarks()), *self.alarms()])

    __repr__ = __str__  # notebooks show it
