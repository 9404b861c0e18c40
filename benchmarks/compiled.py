"""Evaluations by compiled code beside those by NumPy, and whole estimates that are made with each: ratios in one run.

    python benchmarks/compiled.py [--seed 40000] [--repeats 3] [--out benchmarks/compiled.json]

An evaluation is the restricted likelihood with its gradient, on one BLAS thread. Estimates are rows of
`time_to_answer.py`, each in a process of its own, first by one and then by the other, import not counted; the fastest
of the repeats counts. How far the means of both lie apart is in units of the standard error.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
from time_to_answer import BOREHOLE, OWN, drawn

import vvcv
from vvcv.kernels import Matern, Side, SquaredExponential
from vvcv.linear_system import native
from vvcv.linear_system.design import Design
from vvcv.linear_system.evaluation import Evaluation
from vvcv.linear_system.model import Model
from vvcv.runtime.precision import float64
from vvcv.runtime.threads import one_thread
from vvcv.stein import SteinKernel

ESTIMATES = (BOREHOLE, "N = 300, d = 8, T = 1", "N = 1000, d = 10, T = 10", *OWN)
SIZES = ((20, 1), (60, 3), (150, 8), (300, 8), (500, 10))
KERNELS = {"squared exponential": SquaredExponential, "Matern 5/2": Matern}


def without_compiled_code() -> None:
    """Leave everything to NumPy, as where there was no compiler."""
    native._library = lambda: None  # type: ignore[assignment]


@float64
def evaluations(repeats: int) -> dict[str, float]:
    """Milliseconds of one evaluation with its gradient, by what was chosen."""
    found = {}
    for name, family in KERNELS.items():
        for n, d in SIZES:
            x = np.random.default_rng(0).normal(size=(n, d))
            design = Design.build(Side(x, -x, np.zeros(n, int)), np.sin(x[:, 0]), np.ones(n), 1)
            model = Model(SteinKernel(family(np.full(d, 1.5))), 1e-6)
            evaluate, leaves = Evaluation(model, design, scaled=True), [np.asarray(a) for a in jax.tree.leaves(model)]
            with one_thread():
                found[f"{name}, {n} rows, d = {d}"] = 1e3 * min(_seconds(evaluate, leaves) for _ in range(repeats))
    return found


def _seconds(evaluate: Evaluation, leaves: list[np.ndarray], times: int = 30) -> float:
    started = time.perf_counter()
    for _ in range(times):
        evaluate(leaves)[1]()
    return (time.perf_counter() - started) / times


def one(by: str, row: str, seed: int, repeats: int) -> dict:
    """Evaluations, or one row, in this process."""
    if by == "numpy":
        without_compiled_code()
    if row == "evaluations":
        return evaluations(repeats)
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
    compiled, numpy = (min(run[by]["seconds"] for run in runs) for by in ("compiled", "numpy"))
    means, errors = (np.array([runs[0][by][key] for by in ("compiled", "numpy")]) for key in ("mean", "std_error"))
    apart = float(np.max(np.abs(means[0] - means[1]) / errors.max(axis=0)))
    figures = {"compiled": compiled, "numpy": numpy, "times as fast": numpy / compiled, "means apart": apart}
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
    record: dict = {"machine": platform.machine(), "seed": given.seed, "evaluations, ms": {}, "estimates, s": {}}
    for name in ms["numpy"]:
        compiled, numpy = ms["compiled"][name], ms["numpy"][name]
        record["evaluations, ms"][name] = {"compiled": round(compiled, 3), "numpy": round(numpy, 3)}
        print(f"{name}: {compiled:.3f} ms, NumPy {numpy:.3f} ms, {numpy / compiled:.2f} times")
    for row in ESTIMATES:
        record["estimates, s"][row] = estimate(row, given.seed, given.repeats)
        print(row, record["estimates, s"][row])
    given.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
