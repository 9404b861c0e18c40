"""The picture of an evidence computation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..report import pyplot

if TYPE_CHECKING:
    from .result import Evidence


def plot_evidence(result: Evidence, axes: Any = None):
    """Left: mean log likelihood along the ladder, the area under which is the log evidence; right: all methods."""
    plt = pyplot()
    if axes is None:
        _, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    _path(result, axes[0])
    _methods(result, axes[1])
    return axes


def _path(result: Evidence, ax: Any) -> None:
    # On a logarithmic axis t = 0 has no place of its own: the rungs are drawn at equal steps instead.
    place = np.arange(len(result.temperatures))
    ax.plot(place, result.plain_means, "o", color="0.6", ms=5, label="plain average")
    ax.errorbar(place, result.means, yerr=2 * result.mean_std_errors, fmt=".-", color="C0", label="vvcv")
    shown = place[:: max(1, len(place) // 6)]
    ax.set_xticks(shown, [f"{result.temperatures[i]:.2g}" for i in shown])
    ax.set_xlabel("temperature (rungs at equal steps)")
    ax.set_ylabel("mean log likelihood")
    ax.legend(frameon=False)


def _methods(result: Evidence, ax: Any) -> None:
    names = ["vvcv", *(other.name for other in result.comparison)]
    centre = np.array([result.log_evidence, *(other.log_evidence for other in result.comparison)])
    error = np.array([result.std_error, *(other.std_error for other in result.comparison)])
    rows = np.arange(len(names))
    ax.errorbar(centre[1:], rows[1:], xerr=2 * error[1:], fmt="o", capsize=3, color="0.6")
    ax.errorbar(centre[:1], rows[:1], xerr=2 * error[:1], fmt="o", capsize=3, color="C0")
    ax.set_yticks(rows, names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel("log evidence (bars: two standard errors)")
