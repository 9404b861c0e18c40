"""The picture of an evidence computation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..data import require
from ..report import pyplot
from .quadrature import PerTemperature


def plot_evidence(
    temperatures: PerTemperature,
    columns: Mapping[str, np.ndarray],
    answers: Sequence[tuple[str, float, float]],
    axes: Any = None,
):
    """Left: mean log likelihood along the path, the area under which is the log evidence; right: all methods.

    `answers` are names, log evidences and standard errors, ours first.
    """
    require(
        axes is None or np.shape(axes) == (2,),
        "The picture of an evidence has two parts: pass two axes, such as those of plt.subplots(1, 2), or none.",
    )
    if axes is None:
        _, axes = pyplot().subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    _path(temperatures, columns, axes[0])
    _methods(answers, axes[1])
    return axes


def _path(temperatures: PerTemperature, columns: Mapping[str, np.ndarray], ax: Any) -> None:
    # On a logarithmic axis t = 0 has no place of its own: the temperatures are drawn at equal steps instead.
    place = np.arange(len(temperatures))
    ax.plot(place, columns["plain_mean"], "o", color="0.6", ms=5, label="plain average")
    ax.errorbar(place, columns["mean"], yerr=2 * columns["mean_std_error"], fmt=".-", color="C0", label="vvcv")
    shown = place[:: max(1, len(place) // 6)]
    ax.set_xticks(shown, [f"{temperatures[i]:.2g}" for i in shown])
    ax.set_xlabel("temperature (drawn at equal steps)")
    ax.set_ylabel("mean log likelihood")
    ax.legend(frameon=False)


def _methods(answers: Sequence[tuple[str, float, float]], ax: Any) -> None:
    names, centre, error = zip(*answers, strict=True)
    rows = np.arange(len(names))
    for part, shade in ((slice(1, None), "0.6"), (slice(0, 1), "C0")):
        bars = 2 * np.array(error[part])
        ax.errorbar(centre[part], rows[part], xerr=bars, fmt="o", capsize=3, color=shade)
    ax.set_yticks(rows, names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel("log evidence (bars: two standard errors)")
