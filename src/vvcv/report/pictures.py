"""The pictures of a page as SVG with real text: intervals, gains, how alike tasks are, fits and what they leave."""

from __future__ import annotations

import importlib
import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from .plot import height_for, matplotlib_module, plot_estimate
from .table import printable, shortened

#: Labels on the axes of a heat map beyond which only numbers of tasks are shown.
MOST_LABELS = 30


class Fitted(NamedTuple):
    """One task's values and what was fitted to them, along one direction through the points."""

    name: str
    along: Float[np.ndarray, " k"]
    values: Float[np.ndarray, " k"]
    fitted: Float[np.ndarray, " k"]
    direction: str

    @property
    def one_dimensional(self) -> bool:
        """Whether the fit is a function of what it is drawn along."""
        return self.direction == "x"


def intervals(names: Sequence[str], columns: Mapping[str, np.ndarray], exact: Any) -> str:
    """Estimates and plain averages with their error bars."""
    text = f"Estimates of {len(names)} tasks with error bars, beside plain averages with theirs."
    return svg(8, height_for(len(names)), lambda axes: plot_estimate(names, columns, axes, exact), text)


def gains(names: Sequence[str], gain: Float[np.ndarray, " T"]) -> str:
    """The gain of each task as a bar, on a logarithmic scale."""
    finite = np.where(np.isfinite(gain), gain, np.nan)

    def draw(axes: Any) -> None:
        rows = np.arange(len(names))
        axes.barh(rows, np.maximum(np.nan_to_num(finite, nan=1.0), 1e-3), color="#1f5fa8", height=0.6)
        axes.axvline(1, color="0.3", lw=1)
        axes.set_xscale("log")
        axes.set_yticks(rows, [shortened(name) for name in names], parse_math=False)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel("gain: how many times more samples\nthe plain average would need")  # room for long names

    span = f"from {np.nanmin(finite):.2g} to {np.nanmax(finite):.2g}" if np.isfinite(finite).any() else "unknown"
    return svg(8, 1.1 + 0.3 * len(names), draw, f"Gain of each of {len(names)} tasks over plain averaging, {span}.")


def likeness(names: Sequence[str], correlation: Float[np.ndarray, "T T"]) -> str:
    """How alike the model takes the tasks to be, as a heat map."""
    few = len(names) <= MOST_LABELS

    def draw(axes: Any) -> None:
        image = axes.imshow(correlation, cmap="RdBu_r", vmin=-1, vmax=1)
        axes.figure.colorbar(image, ax=axes, label="correlation", shrink=0.8)
        if few:
            ticks, labels = np.arange(len(names)), [shortened(name) for name in names]
            axes.set_xticks(ticks, labels, rotation=90, parse_math=False)
            axes.set_yticks(ticks, labels, parse_math=False)

    side = 2.5 + 0.3 * min(len(names), MOST_LABELS)
    text = f"Correlation between {len(names)} tasks as the model learned it."
    return svg(side + 1.5, side, draw, text, around=True)


def fit_of(task: Fitted) -> str:
    """Values and fit along a direction, and beside it what the fit leaves."""

    def draw(pair: Any) -> None:
        left, right = pair
        order = np.argsort(task.along)
        line = "-" if task.one_dimensional else "."
        left.plot(task.along, task.values, "o", color="0.45", ms=6, mfc="none", label="values")
        fit = task.along[order], task.fitted[order]
        left.plot(*fit, line, color="#c0392b", ms=4, label="mean + control variate")
        left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
        right.axhline(0, color="0.3", lw=1)
        right.plot(task.along, task.values - task.fitted, ".", color="#1f5fa8", ms=4)
        right.set_title("what the fit leaves", fontsize="medium")
        for axes in pair:
            axes.set_xlabel(task.direction, parse_math=False)

    left_over = np.std(task.values - task.fitted) / max(np.std(task.values), np.finfo(float).tiny)
    text = (
        f"Values of {printable(task.name)} and the fit along {task.direction}; it leaves {left_over:.2g} of the spread."
    )
    return svg(8, 2.9, draw, text, columns=2)


def svg(
    width: float, height: float, draw: Callable[[Any], Any], text: str, columns: int = 1, *, around: bool = False
) -> str:
    """An SVG element with a description for those who do not see it.

    Labels take their room from the axes, or, where they are long on all sides, stand `around` what has the given size.
    """
    layout, box = (None, "tight") if around else ("constrained", None)
    figure, written = matplotlib_module("matplotlib.figure").Figure((width, height), layout=layout), io.StringIO()
    look = {"svg.fonttype": "none", "svg.hashsalt": text, "font.family": "sans-serif"}
    with importlib.import_module("matplotlib").rc_context(look), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # a box stands for a letter no font has
        draw(figure.subplots(1, columns))
        figure.savefig(written, format="svg", metadata={"Date": None}, bbox_inches=box)
    found = written.getvalue()
    return found[found.index("<svg") :].replace("<svg ", f'<svg role="img" aria-label="{escape(text)}" ', 1)
