"""Drawing: one colour for each method in all figures, and the plot of mean errors that most experiments share."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..report import pyplot
from .results import Results
from .tables import mean_and_error

#: How all figures look: quiet, and with text that stays text in no viewer's way.
STYLE: dict[str, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
    "font.size": 10,
    "axes.titlesize": 10,
    "legend.frameon": False,
    "svg.hashsalt": "vvcv",
}

#: Colours that colour-blind readers tell apart (Okabe and Ito, 2008); in grey, markers and lines do it.
#: Methods of the paper have open markers and broken lines; published numbers are crosses in the colour of their method.
COLOURS = {
    "mc": "0.7",
    "cv": "#882255",
    "cv_polynomial": "#56B4E9",
    "cf_paper": "#56B4E9",
    "cf_single": "#009E73",
    "vv_polynomial": "#CC79A7",
    "vv_fixed_B": "#CC79A7",
    "vv_fixed_B_small": "#E69F00",
    "vv_fixed_B_four": "#E69F00",
    "vv_estimated_B": "#D55E00",
    "vv_estimated_B_ten": "#0072B2",
    "zv": "#E69F00",
    "cf": "#56B4E9",
    "secf": "#009E73",
    "vv": "#0072B2",
    "vv-secf": "#CC79A7",
    "auto": "k",
}
MARKERS = {
    "mc": "s",
    "cv": "v",
    "cv_polynomial": "p",
    "cf_paper": "<",
    "cf_single": ">",
    "vv_polynomial": "h",
    "vv_fixed_B": "D",
    "vv_fixed_B_small": "^",
    "vv_fixed_B_four": "^",
    "vv_estimated_B": "o",
    "vv_estimated_B_ten": "d",
    "zv": "^",
    "cf": "v",
    "secf": "D",
    "vv": "P",
    "vv-secf": "X",
    "auto": "o",
}
OURS = ("zv", "cf", "secf", "vv", "vv-secf", "auto")


def colour(method: str) -> str:
    """The colour of a method."""
    return COLOURS.get(method, "#D55E00")


def line_style(method: str) -> dict[str, Any]:
    """Colour, marker and line of a method, for `plot` and `errorbar`."""
    ours = method in OURS or method == "mc"
    return {
        "color": colour(method),
        "marker": MARKERS.get(method, "o"),
        "ls": "-" if ours else "--",
        "mfc": colour(method) if ours else "white",
        "ms": 5,
        "lw": 1,
    }


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
        if not len(places):  # a rung that needs more points than any cell has
            continue
        means, spread = np.array([mean_and_error(results.errors(method, results.cells[i])) for i in places]).T
        shift = 0.5 * (k - (count - 1) / 2) / max(count, 1)
        low = np.minimum(2 * spread, 0.9 * means)
        axes.errorbar(places + shift, means, yerr=[low, 2 * spread], capsize=2, label=about.label, **line_style(method))
        published = [
            (i + shift, p.value) for i in places if (p := results.experiment.published(results.cells[i], method))
        ]
        if published:
            axes.plot(*np.array(published).T, "x", color=colour(method), ms=7)
    axes.set_yscale("log")
    axes.set_xticks(range(len(results.cells)), [str(cell).replace(", ", "\n") for cell in results.cells])
    axes.set_ylabel(results.experiment.metric)
    axes.set_title(f"{results.experiment.title}\n(bars: two standard errors; crosses: published)", fontsize=10)
