"""Evaluations and searches by compiled code beside those by NumPy, and whole estimates made with each, in one run.

    python benchmarks/compiled.py [--seed 40000] [--repeats 3] [--out benchmarks/compiled.json]

An evaluation is the restricted likelihood with its gradient, on one BLAS thread; a search has thirty, and as many as
there are cores are made side by side, too. Estimates are rows of `time_to_answer.py`, each in a process of its own,
first by one and then by the other, import not counted; the fastest of the repeats counts. How far the means of both lie
apart is in units of the standard error.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import jax
import numpy as np
from time_to_answer import BOREHOLE, OWN, drawn

import vvcv
from vvcv.kernels import Kernel, Matern, Side, SquaredExponential
from vvcv.linear_system import native
from vvcv.linear_system.design import Design
from vvcv.linear_system.evaluation import Evaluation
from vvcv.linear_system.model import Model
from vvcv.runtime.precision import float64
from vvcv.runtime.threads import cores, one_thread, side_by_side
from vvcv.stein import SteinKernel
from vvcv.tuning.tune import tune_leaves

ESTIMATES = (BOREHOLE, "N = 300, d = 8, T = 1", "N = 1000, d = 10, T = 10", *OWN)
SIZES = ((20, 1), (60, 3), (150, 8), (300, 8), (500, 10))
#: Seconds for which searches are counted.
SECONDS = 0.5
KERNELS = {"squared exponential": SquaredExponential, "Matern 5/2": Matern}


def without_compiled_code() -> None:
    """Leave everything to NumPy, as where there was no compiler."""
    native._library = lambda: None  # type: ignore[assignment]


def fitted(family: type[Kernel], n: int, d: int) -> tuple[Model, Design]:
    """A model of one radial kernel, and what it is fitted to."""
    x = np.random.default_rng(0).normal(size=(n, d))
    design = Design.build(Side(x, -x, np.zeros(n, int)), np.sin(x[:, 0]), np.ones(n), 1)
    return Model(SteinKernel(family(np.full(d, 1.5))), 1e-6), design


@float64
def evaluations(repeats: int) -> dict[str, float]:
    """Milliseconds of one evaluation with its gradient, by what was chosen."""
    found = {}
    for name, family in KERNELS.items():
        for n, d in SIZES:
            model, design = fitted(family, n, d)
            evaluate, leaves = Evaluation(model, design, scaled=True), [np.asarray(a) for a in jax.tree.leaves(model)]
            with one_thread():
                found[f"{name}, {n} rows, d = {d}"] = 1e3 * min(_seconds(evaluate, leaves) for _ in range(repeats))
    return found


@float64
def searches(repeats: int) -> dict[str, list[float]]:
    """Searches in a second by one thread, and by as many as there are cores."""
    found = {}
    for n, d in SIZES:
        model, design = fitted(SquaredExponential, n, d)
        search = partial(_search_for, SECONDS, model, design)
        found[f"{n} rows, d = {d}"] = [
            max(sum(outcome.result() for outcome in side_by_side([search] * count)) / SECONDS for _ in range(repeats))
            for count in (1, cores())
        ]
    return found


def _search_for(seconds: float, model: Model, design: Design) -> int:
    """How many searches end in so many seconds."""
    count, started = 0, time.perf_counter()
    with one_thread():
        while time.perf_counter() - started < seconds:
            tune_leaves(Evaluation(model, design, scaled=True), model, max_evaluations=30)
            count += 1
    return count


def _seconds(evaluate: Evaluation, leaves: list[np.ndarray], times: int = 30) -> float:
    started = time.perf_counter()
    for _ in range(times):
        evaluate(leaves)[1]()
    return (time.perf_counter() - started) / times


PARTS = {"evaluations": evaluations, "searches": searches}


def one(by: str, row: str, seed: int, repeats: int) -> dict:
    """Evaluations, or one row, in this process."""
    if by == "numpy":
        without_compiled_code()
    if row in PARTS:
        return PARTS[row](repeats)
    tasks, _ = drawn(row, seed)
    started = time.perf_counter()
    found = vvcv.estimate(tasks, on_alarm="ignore")
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "mean": found.mean.tolist(), "std_error": found.std_error.tolist()}


def both(row: str, seed: int, repeats: int) -> dict[str, dict]:
    """The same by compiled code and by NumPy, each in a process of its own."""
    found = {}
    for by in ("compiled", "numpy"):
        command = [sys.executable, __file__, "--one", by, row, "--seed", str(seed), "--repeats", str(repeats)]
        found[by] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def estimate(row: str, seed: int, repeats: int) -> dict[str, float]:
    """Seconds by each, their ratio, and how far the means lie apart."""
    runs = [both(row, seed, repeats) for _ in range(repeats)]
    by_c, numpy = (min(run[by]["seconds"] for run in runs) for by in ("compiled", "numpy"))
    means, errors = (np.array([runs[0][by][key] for by in ("compiled", "numpy")]) for key in ("mean", "std_error"))
    apart = float(np.max(np.abs(means[0] - means[1]) / errors.max(axis=0)))
    figures = {"compiled": by_c, "numpy": numpy, "times as fast": numpy / by_c, "means apart": apart}
    return {name: round(figure, 3) for name, figure in figures.items()}


def main() -> None:
    """Run all and record it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=40000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    parser.add_argument("--one", nargs=2, help="measure one row in this process and print it")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(*given.one, given.seed, given.repeats)))
        return
    if not native.serves(SteinKernel(SquaredExponential()), 1):
        raise SystemExit("Nothing is compiled here: install the library where there is a C compiler.")
    ms = both("evaluations", given.seed, given.repeats)
    record: dict = {"machine": platform.machine(), "seed": given.seed, "cores": cores()}
    record |= {"evaluations, ms": {}, "searches in a second": {}, "estimates, s": {}}
    for name in ms["numpy"]:
        by_c, numpy = ms["compiled"][name], ms["numpy"][name]
        record["evaluations, ms"][name] = {"compiled": round(by_c, 3), "numpy": round(numpy, 3)}
        print(f"{name}: {by_c:.3f} ms, NumPy {numpy:.3f} ms, {numpy / by_c:.2f} times")
    count = both("searches", given.seed, given.repeats)
    for name in count["numpy"]:
        record["searches in a second"][name] = {by: found[name] for by, found in count.items()}
        print(f"{name}, by one thread and {cores()}:", record["searches in a second"][name])
    for row in ESTIMATES:
        record["estimates, s"][row] = estimate(row, given.seed, given.repeats)
        print(row, record["estimates, s"][row])
    given.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
