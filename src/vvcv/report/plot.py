"""Pictures of estimates; matplotlib is imported only when something is drawn."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .table import shortened


def plot_estimate(names: Sequence[str], columns: Mapping[str, np.ndarray], ax: Any = None, exact: Any = None):
    """Each task's estimate and plain average with two standard errors, on a common scale of plain standard errors.

    Values are drawn relative to the plain average so that tasks of any unit fit one picture; a cross marks the exact
    answers where they are given.
    """
    count = len(names)
    if ax is None:
        _, ax = pyplot().subplots(figsize=(8, height_for(count)), layout="constrained")
    centre, error = columns["monte_carlo_mean"], columns["monte_carlo_std_error"]
    unit = np.where(error > 0, error, 1.0)
    rows, style = np.arange(count), {"fmt": "o", "capsize": 3}
    ax.errorbar(np.zeros(count), rows + 0.15, xerr=2 * error / unit, color="0.6", label="plain average", **style)
    shift, bar = (columns["mean"] - centre) / unit, 2 * columns["std_error"] / unit
    ax.errorbar(shift, rows - 0.15, xerr=bar, color="C0", label="vvcv", **style)
    if exact is not None:
        ax.plot((np.asarray(exact) - centre) / unit, rows - 0.15, "x", color="C3", ms=9, label="exact", zorder=3)
    ax.set_yticks(rows, [shortened(name) for name in names], parse_math=False)
    ax.set_ylim(count - 0.5, -0.5)
    ax.set_xlabel("distance from the plain average, in its standard errors (bars: two standard errors)")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return ax


def plot_methods(estimates: dict[str, tuple[float, float]], exact: float, what: str, out: Path) -> None:
    """Save a picture of several methods' estimates of one number: values with error bars, and true errors."""
    figure = _figure(9, 1.4 + 0.5 * len(estimates))
    left, right = figure.subplots(1, 2, sharey=True)
    rows = np.arange(len(estimates))
    means, errors = np.array(list(estimates.values())).T
    left.axvline(exact, color="C3", lw=1, label="exact")
    left.errorbar(means, rows, xerr=2 * errors, fmt="o", capsize=3, color="C0", label="estimate, two standard errors")
    left.set_xlabel(what)
    left.set_yticks(rows, list(estimates))
    left.invert_yaxis()
    right.barh(rows, np.abs(means - exact), color="C0", height=0.5)
    right.plot(errors, rows, "|", color="k", ms=16, mew=2, label="standard error claimed")
    right.set_xscale("log")
    right.set_xlabel("true error (logarithmic)")
    for axes in (left, right):
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    figure.savefig(out, dpi=150)


def pyplot():
    """matplotlib.pyplot, or an error that says how to get it."""
    return matplotlib_module("matplotlib.pyplot")


def _figure(width: float, height: float):
    """A figure to save, which no window shows: for that pyplot, half of matplotlib, is not needed."""
    return matplotlib_module("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")


def height_for(tasks: int) -> float:
    """Inches that a picture with a row for each task needs."""
    return 1.2 + 0.55 * tasks


def matplotlib_module(module: str):
    """A module of matplotlib, or an error that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'vvcv[plot]'.") from error
