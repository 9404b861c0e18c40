"""The figures of the documentation, from recorded results alone.

    python benchmarks/figures.py [--out docs/figures]

accuracy      error against the size of the sample on four of the paper's problems, with the published points
cost          error against seconds, with the published seconds (on the authors' machine)
calibration   promised errors against true ones, and coverage, on 25 problems with exact answers
transfer      what a second task is worth: related and unrelated tasks, and by likeness and number of cheap points
time          seconds to a default estimate, and the same in units of one Cholesky factorisation
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from recorded import ROOT, benchmark, by_cell, errors, mean_and_error, seconds

from vvcv.experiments.figures import STYLE, line_style
from vvcv.problems import published

LABELS = {"mc": "plain average", "vv_estimated_B": "the paper's method, run here", "zv": "ZVCV", "auto": "vvcv"}
METHODS = tuple(LABELS)


def accuracy() -> Any:
    """Mean error against the size of the sample."""
    figure, axes = plt.subplots(2, 2, figsize=(8.4, 5.8), layout="constrained")
    axes = axes.ravel()
    paper = {name: published.load(name) for name in published.names()}
    _series(axes[0], "borehole", "m", "borehole", "runs of each model")
    _crosses(axes[0], paper["borehole"]["m"], paper["borehole"]["vv_estimated_B"])
    _series(axes[1], "evidence", "samples", "model evidence (van der Pol)", "draws for each temperature")
    vdp = paper["van_der_pol"]
    _crosses(axes[1], vdp["samples_per_temperature"], vdp["MAE"]["vv_estimated_B"])
    _series(axes[2], "lotka-volterra", "T", "Lotka-Volterra, 500 draws", "integrals at once")
    _crosses(axes[2], paper["lotka_volterra"]["T"], paper["lotka_volterra"]["vv_estimated_B"])
    _series(axes[3], "synthetic", "variance", "synthetic, 50 + 50 points", "variance of one target")
    synthetic = paper["synthetic"]
    # Published is the mean over both tasks, recorded their sum.
    _crosses(axes[3], synthetic["variance2"], 2 * np.array(synthetic["mean_squared_error_per_task"]["vv"]))
    for ax, metric in zip(
        axes, ("absolute error", "absolute error", "absolute errors, sum", "squared errors, sum"), strict=True
    ):
        ax.set_ylabel(f"mean {metric}")
    handles, labels = axes[0].get_legend_handles_labels()  # lines come before error bars: published last
    figure.legend([*handles[1:], handles[0]], [*labels[1:], labels[0]], loc="outside lower center", ncols=3)
    return figure


def cost() -> Any:
    """Mean error against the seconds that the estimate takes, samples given."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    cells = {
        "borehole": [{"m": m} for m in (10, 20, 50, 100, 150)],
        "lotka-volterra": [{"T": t, "m": 500} for t in (2, 5, 10)],
    }
    for ax, (name, sizes) in zip(axes, cells.items(), strict=True):
        for method in ("vv_estimated_B", "auto"):
            points = [(seconds(name, method, **c), mean_and_error(errors(name, method, **c))[0]) for c in sizes]
            ax.loglog(*np.array(points).T, label=LABELS[method], **line_style(method))
        paper = published.load(name.replace("-", "_"))
        _crosses(ax, paper["seconds"]["vv_estimated_B"], paper["vv_estimated_B"])
        ax.set_title(name)
        ax.set_xlabel("seconds for one estimate")
    axes[0].set_ylabel("mean absolute error")
    axes[1].set_ylabel("sum over tasks of absolute errors")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def calibration() -> Any:
    """Promised against true errors, and how many 95 % intervals held the exact answer."""
    suite = benchmark("trust/suite")["problems"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained", width_ratios=[1, 1.3])
    order = sorted(suite, key=lambda name: suite[name]["methods"]["auto"]["coverage"])
    for method, shift in (("mc", -0.18), ("auto", 0.18)):
        rows = [suite[name]["methods"][method] for name in order]
        style = {**line_style(method), "ls": ""}
        seen = [row for row in rows if row["rmse"] > 1e-9]
        left.loglog([row["promised"] for row in seen], [row["rmse"] for row in seen], label=LABELS[method], **style)
        p, n = np.array([row["coverage"] for row in rows]), np.array([row["intervals"] for row in rows])
        right.errorbar(p, np.arange(len(rows)) + shift, xerr=_wilson(p, n), label=LABELS[method], **style)
    line = np.array([1e-5, 3.0])
    left.loglog(line, line, color="0.3", lw=1)
    left.set_xlabel("standard error promised, over the plain average's true error")
    left.set_ylabel("true root mean squared error, over the plain average's")
    left.legend(loc="upper left")
    right.axvline(0.95, color="0.3", lw=1)
    right.set_yticks(range(len(order)), order, fontsize=8)
    right.set_xlabel("share of 95 % intervals that hold the exact answer,\nwith its own 95 % interval")
    return figure


def transfer() -> Any:
    """What a second task is worth to the dear one."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    record = benchmark("transfer")
    names = {"mc": "plain average", "cf": "dear task alone", "vv": "both tasks"}
    for k, (method, label) in enumerate(names.items()):
        bars = [record[kind][method] for kind in ("related", "unrelated")]
        face = line_style(method)["color"]
        left.bar(np.arange(2) + 0.27 * (k - 1), bars, 0.25, color=face, hatch=("", "//", "xx")[k], label=label, ec="w")
    left.set_xticks([0, 1], ["related", "unrelated"])
    left.set_ylabel("mean absolute error of the dear mean")
    left.set_title("120 cheap and 30 dear points")
    left.legend(fontsize=8)
    record = benchmark("transfer_map")
    alike, cheap = (sorted({cell[name] for cell in record["cells"]}) for name in ("alike", "cheap"))
    count = len(record["cells"][0]["errors"])
    ratios = np.array([[_ratio(record, r, n) for n in cheap] for r in alike])
    image = right.imshow(np.log10(ratios), cmap="cividis_r", vmin=-2, vmax=0.3, origin="lower", aspect="auto")
    for (i, j), ratio in np.ndenumerate(ratios):
        right.text(j, i, f"{ratio:.2g}", ha="center", va="center", color="k" if ratio < 0.15 else "w")
    right.set_xticks(range(len(cheap)), [str(n) for n in cheap])
    right.set_yticks(range(len(alike)), [str(r) for r in alike])
    right.set(xlabel="cheap points", ylabel="correlation of the tasks")
    alone = f"that from {record['dear points']} dear points alone"
    right.set_title(f"error from both tasks over {alone}\n({count} data sets for each cell)")
    right.grid(False)
    figure.colorbar(image, label="log10")
    return figure


def time_to_answer() -> Any:
    """Seconds of a default estimate."""
    rows = benchmark("time_to_answer")["rows"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 2.8), layout="constrained", sharey=True)
    places = np.arange(len(rows))
    left.barh(places, [row["seconds"] for row in rows.values()], 0.55, color="#0072B2")
    right.barh(places, [row["ratio"] for row in rows.values()], 0.55, color="#E69F00", hatch="//", ec="w")
    left.set_yticks(places, list(rows))
    left.invert_yaxis()
    left.set_xlabel("seconds, compilation counted")
    right.set_xscale("log")
    right.set_xlabel("in Cholesky factorisations of its size")
    return figure


FIGURES = {"accuracy": accuracy, "cost": cost, "calibration": calibration, "transfer": transfer, "time": time_to_answer}


def main() -> None:
    """Draw all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    plt.rcParams.update(STYLE)
    for name, draw in FIGURES.items():
        draw().savefig(out / f"{name}.svg", metadata={"Date": None})


def _series(ax: Any, experiment: str, column: str, title: str, label: str) -> None:
    for method in METHODS:
        found = by_cell(experiment, method, column)
        if len(found):
            size, mean, error = found.T
            low = np.minimum(2 * error, 0.9 * mean)
            ax.errorbar(size, mean, [low, 2 * error], capsize=2, label=LABELS[method], **line_style(method))
    ax.set_yscale("log")
    ax.set_title(title)
    ax.set_xlabel(label)


def _ratio(record: dict[str, Any], alike: float, cheap: int) -> float:
    return next(c["ratio"] for c in record["cells"] if c["alike"] == alike and c["cheap"] == cheap)


def _crosses(ax: Any, sizes: Any, values: Any) -> None:
    ax.plot(sizes, values, "x", color=line_style("vv_estimated_B")["color"], ms=8, mew=2, label="published")


def _wilson(p: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Wilson's 95 % interval of a share p of n, as distances below and above it."""
    z = 1.96
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return np.maximum(np.array([p - centre + half, centre + half - p]), 0)


if __name__ == "__main__":
    main()
