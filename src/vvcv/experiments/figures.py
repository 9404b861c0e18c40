"""Drawing: one colour for each method in all figures, and the plot of mean errors that most experiments share."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..report import pyplot
from .results import Results
from .tables import mean_and_error

#: Published numbers are drawn as crosses in the colour of their method.
COLOURS = {
    "mc": "0.55",
    "cv": "C1",
    "cf_paper": "C8",
    "cf_single": "C6",
    "vv_fixed_B": "C5",
    "vv_fixed_B_small": "C6",
    "vv_fixed_B_four": "C6",
    "vv_estimated_B": "C3",
    "vv_estimated_B_ten": "salmon",
    "zv": "C4",
    "cf": "C9",
    "secf": "C7",
    "vv": "C0",
    "vv-secf": "C2",
    "auto": "k",
}


def colour(method: str) -> str:
    """The colour of a method."""
    return COLOURS.get(method, "C1")


def errors_by_cell(results: Results) -> Any:
    """Mean error against the cells on a logarithmic scale, two standard errors, published numbers as crosses."""
    figure, axes = pyplot().subplots(figsize=(8.5, 4.5), layout="constrained")
    draw_errors(axes, results)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", frameon=False)
    return figure


def draw_errors(axes: Any, results: Results) -> None:
    """The plot of `errors_by_cell` into given axes."""
    count = len(results.methods)
    for k, (method, about) in enumerate(results.methods.items()):
        places = np.array([i for i, cell in enumerate(results.cells) if len(results.errors(method, cell))])
        means, spread = np.array([mean_and_error(results.errors(method, results.cells[i])) for i in places]).T
        shift = 0.5 * (k - (count - 1) / 2) / max(count, 1)
        style = {"color": colour(method), "ms": 4, "capsize": 2, "lw": 1}
        low = np.minimum(2 * spread, 0.9 * means)
        axes.errorbar(places + shift, means, yerr=[low, 2 * spread], fmt="o-", label=about.label, **style)
        published = [
            (i + shift, p.value) for i in places if (p := results.experiment.published(results.cells[i], method))
        ]
        if published:
            axes.plot(*np.array(published).T, "x", color=colour(method), ms=7)
    axes.set_yscale("log")
    axes.set_xticks(range(len(results.cells)), [str(cell) for cell in results.cells])
    axes.set_ylabel(results.experiment.metric)
    axes.set_title(f"{results.experiment.title}\n(bars: two standard errors; crosses: published)", fontsize=10)
