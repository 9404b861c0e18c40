"""Pictures of estimates: matplotlib is imported only when something is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr


def plot_estimate(data: xr.Dataset, ax: Any = None, exact: Any = None):
    """Each task's estimate and plain average with two standard errors, on a common scale of plain standard errors.

    Values are drawn relative to the plain average so that tasks of any unit fit one picture; a cross marks the exact
    answers where they are given.
    """
    plt = pyplot()
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 1.2 + 0.55 * data.sizes["task"]), layout="constrained")
    unit = np.where(data["monte_carlo_std_error"] > 0, data["monte_carlo_std_error"], 1.0)
    centre = data["monte_carlo_mean"].values
    rows = np.arange(data.sizes["task"])
    ax.errorbar(np.zeros(len(rows)), rows + 0.15, xerr=2 * np.ones(len(rows)), fmt="o", color="0.6", capsize=3,
                label="plain average")
    ax.errorbar((data["mean"] - centre) / unit, rows - 0.15, xerr=2 * data["std_error"] / unit, fmt="o", color="C0",
                capsize=3, label="vvcv")
    if exact is not None:
        ax.plot((np.asarray(exact) - centre) / unit, rows - 0.15, "x", color="C3", ms=9, label="exact", zorder=3)
    ax.set_yticks(rows, [str(name) for name in data["task"].values])
    ax.invert_yaxis()
    ax.set_xlabel("distance from the plain average, in its standard errors (bars: two standard errors)")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return ax


def pyplot():
    """matplotlib.pyplot, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'vvcv[plot]'.") from error
    return plt
