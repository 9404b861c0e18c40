"""Accuracy with defaults on the paper's three problems, published numbers beside ours.

    python benchmarks/accuracy.py [--quick] [--method auto]

Mean absolute error of the high-fidelity mean (borehole, step), sum of squared errors (synthetic), over seeds 0, 1, ...
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import vvcv
from vvcv.problems import borehole, step, synthetic
from vvcv.report import simple_table

BOREHOLE_SIZES = (10, 20, 50, 100, 150)
PAPER_BOREHOLE = dict(zip(BOREHOLE_SIZES, (3.72, 1.29, 1.04, 1.07, 0.85), strict=True))
BEST_OTHER_BOREHOLE = dict(zip(BOREHOLE_SIZES, (0.14, 0.035, 0.0028, 0.00036, 0.00006), strict=True))
TARGET_BOREHOLE = dict(zip(BOREHOLE_SIZES, (0.18, 0.012, 0.0004, 0.0001, 0.00006), strict=True))


def borehole_tasks(seed: int, m: int) -> vvcv.Tasks:
    """m cheap and m dear runs at points of their own."""
    rng = np.random.default_rng(seed)
    low, high = borehole.sample(rng, m), borehole.sample(rng, m)
    return vvcv.Tasks(
        [
            vvcv.Task(low, borehole.score(low), borehole.low(low), name="low"),
            vvcv.Task(high, borehole.score(high), borehole.high(high), name="high"),
        ]
    )


def step_tasks(seed: int, m: int = 40) -> vvcv.Tasks:
    """The paper's discontinuous functions under N(0, 1)."""
    rng = np.random.default_rng(seed)
    low, high = step.sample(rng, m), step.sample(rng, m)
    return vvcv.Tasks(
        [
            vvcv.Task(low, step.score(low), step.low(low), name="low"),
            vvcv.Task(high, step.score(high), step.high(high), name="high"),
        ]
    )


def synthetic_tasks(seed: int, variance: float, m: int = 50) -> tuple[vvcv.Tasks, np.ndarray]:
    """South's problem: f_2 under N(0, 1) and f_1 under N(0, variance), as in the authors' program."""
    rng = np.random.default_rng(seed)
    first, second = synthetic.sample(rng, m, variance), synthetic.sample(rng, m, 1.0)
    tasks = vvcv.Tasks(
        [
            vvcv.Task(first, synthetic.score(first, variance), synthetic.f_1(first), name="f_1"),
            vvcv.Task(second, synthetic.score(second, 1.0), synthetic.f_2(second), name="f_2"),
        ]
    )
    return tasks, np.array([synthetic.exact_1(variance), synthetic.exact_2(1.0)])


def borehole_error(seed: int, m: int, method: str) -> float:
    """Absolute error of the high-fidelity mean."""
    return abs(float(vvcv.estimate(borehole_tasks(seed, m), method=method).mean[1]) - borehole.EXACT_HIGH)


def step_error(seed: int, method: str) -> float:
    """Absolute error of the high-fidelity mean."""
    return abs(float(vvcv.estimate(step_tasks(seed), method=method).mean[1]) - step.EXACT_HIGH)


def synthetic_error(seed: int, method: str) -> float:
    """Sum of squared errors of both means."""
    tasks, exact = synthetic_tasks(seed, 1.25)
    return float(np.sum((vvcv.estimate(tasks, method=method).mean - exact) ** 2))


def main() -> None:
    """Run all problems and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="five seeds and the two smallest sizes")
    parser.add_argument("--method", nargs="*", default=["auto", "vv"])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/accuracy.json"))
    arguments = parser.parse_args()
    rows, record = [], {}
    for name, error, seeds, paper, other, target, methods in _problems(arguments):
        for method in methods:
            started = time.perf_counter()
            errors = [error(seed, method) for seed in range(seeds)]
            seconds = (time.perf_counter() - started) / seeds
            mean, spread = float(np.mean(errors)), float(np.std(errors) / np.sqrt(seeds))
            record[f"{name}, {method}"] = {"mean": mean, "standard_error": spread, "seeds": seeds, "seconds": seconds}
            rows.append([name, method, _number(mean), _number(spread), target, paper, other, f"{seconds:.1f}"])
            print(simple_table(_HEADER, rows[-1:]), flush=True)
    print("\n" + simple_table(_HEADER, rows))
    arguments.out.write_text(json.dumps(record, indent=1) + "\n")


_HEADER = ["problem", "method", "error", "(se)", "aim", "paper", "best other", "seconds each"]


def _problems(arguments):
    sizes = BOREHOLE_SIZES[:2] if arguments.quick else BOREHOLE_SIZES
    few = 5 if arguments.quick else None
    for m in sizes:
        yield (
            f"borehole, m = {m}",
            lambda seed, method, m=m: borehole_error(seed, m, method),
            few or 20,
            _number(PAPER_BOREHOLE[m]),
            _number(BEST_OTHER_BOREHOLE[m]),
            _number(TARGET_BOREHOLE[m]),
            arguments.method,
        )
    yield "step, m = 40", step_error, few or 40, ".033", "", ".010", arguments.method[:1]
    yield "synthetic, variance 1.25", synthetic_error, few or 20, ".052", ".066", "5e-05", arguments.method[:1]


def _number(value: float) -> str:
    return f"{value:.2g}"


if __name__ == "__main__":
    main()
