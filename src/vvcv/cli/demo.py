"""The demonstration: the borehole problem with a few cheap and a few dear model runs, every rung against the truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .. import Estimate, Task, Tasks, compare
from ..problems import borehole
from ..report import plot_methods, simple_table, with_error
from ..report.explanation import RUNGS

#: Rungs that the demonstration shows.
SHOWN = ("mc", "zv", "cf", "vv")


def run_demo(runs: int, seed: int, out: Path) -> None:
    """Estimate the expected water flow by every rung, print the table, save the picture, say what it shows."""
    tasks = demo_tasks(runs, seed)
    print(f"Water flow through a borehole, 8 uncertain inputs, {runs} cheap and {runs} dear model runs.\n", flush=True)
    results = {RUNGS[rung]: result for rung, result in compare(tasks, SHOWN).items()}
    print(demo_table(results))
    plot_methods(
        {label: (float(r.mean[1]), float(r.std_error[1])) for label, r in results.items()},
        borehole.EXACT_HIGH,
        "expected flow of the dear model",
        out,
    )
    print("\n" + conclusion(results, runs))
    print(f"Picture: {out}")


def demo_tasks(runs: int, seed: int) -> Tasks:
    """Cheap and dear runs of the borehole model at inputs of their own."""
    rng = np.random.default_rng(seed)
    cheap, dear = borehole.sample(rng, runs), borehole.sample(rng, runs)
    return Tasks(
        [
            Task(cheap, borehole.score(cheap), borehole.low(cheap), name="cheap"),
            Task(dear, borehole.score(dear), borehole.high(dear), name="dear"),
        ]
    )


def demo_table(results: dict[str, Estimate]) -> str:
    """Per method: estimate of the dear model's mean, its standard error, its true error, and the seconds it took."""
    rows = [["exact", f"{borehole.EXACT_HIGH:.6f}", "", "", "", ""]]
    for label, result in results.items():
        mean, error = with_error(result.mean[1], result.std_error[1])
        miss = abs(float(result.mean[1]) - borehole.EXACT_HIGH)
        gain = "" if result.method == "mc" else f"x {result.gain[1]:,.0f}"
        rows.append([label, mean, error, f"{miss:.2g}", gain, f"{result.seconds:.1f}"])
    return simple_table(["dear model's mean", "estimate", "std error", "true error", "gain", "seconds"], rows)


def conclusion(results: dict[str, Estimate], runs: int) -> str:
    """One sentence on what the table shows, from its own numbers."""
    misses = {label: abs(float(r.mean[1]) - borehole.EXACT_HIGH) for label, r in results.items()}
    plain, best = misses[RUNGS["mc"]], misses[RUNGS["vv"]]
    return (
        f"From the same {2 * runs} model runs, averaging misses the true mean by {plain:.2g}; the vector-valued "
        f"control variate, which also learns from the cheap runs, misses it by {best:.2g}: "
        f"{plain / best:,.0f} times closer."
    )
