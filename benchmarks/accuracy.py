"""Accuracy with defaults on the paper's three problems, published numbers beside ours.

    python benchmarks/accuracy.py [--quick] [--methods auto vv] [--first-seed 30000] [--jobs 2]

Mean absolute error of the high-fidelity mean (borehole, step), sum of squared errors (synthetic). How models are
searched and weighed was settled on other seeds.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import vvcv
from vvcv.problems import borehole, step, synthetic
from vvcv.report import simple_table

BOREHOLE_SIZES = (10, 20, 50, 100, 150)
PAPER_BOREHOLE = dict(zip(BOREHOLE_SIZES, (3.72, 1.29, 1.04, 1.07, 0.85), strict=True))
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


def borehole_problem(seed: int, m: int) -> tuple[vvcv.Tasks, np.ndarray]:
    """The borehole with its exact means."""
    return borehole_tasks(seed, m), np.array([borehole.EXACT_LOW, borehole.EXACT_HIGH])


def step_problem(seed: int) -> tuple[vvcv.Tasks, np.ndarray]:
    """The step functions with their exact means."""
    return step_tasks(seed), np.array([step.EXACT_LOW, step.EXACT_HIGH])


def of_high_fidelity(difference: np.ndarray) -> float:
    """Absolute error of the high-fidelity mean."""
    return abs(float(difference[1]))


def squared(difference: np.ndarray) -> float:
    """Sum of squared errors of both means."""
    return float(np.sum(difference**2))


def main() -> None:
    """Run all problems and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="five seeds and the two smallest sizes")
    parser.add_argument("--methods", nargs="*", default=["auto", "vv"])
    parser.add_argument("--first-seed", type=int, default=30000)
    parser.add_argument("--jobs", type=int, default=2, help="processes side by side")
    parser.add_argument("--problems", nargs="*", default=[], help="parts of names; all by default")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/accuracy.json"))
    arguments = parser.parse_args()
    record = json.loads(arguments.out.read_text()) if arguments.problems and arguments.out.exists() else {}
    rows = []
    for name, _, _, seeds, paper, target in _problems(arguments.quick):
        if arguments.problems and not any(part in name for part in arguments.problems):
            continue
        range_of_seeds = range(arguments.first_seed, arguments.first_seed + seeds)
        for method, errors, seconds in _errors(name, range_of_seeds, arguments.methods, arguments.jobs):
            mean, spread = float(np.mean(errors)), float(np.std(errors) / np.sqrt(seeds))
            record[f"{name}, {method}"] = {
                "mean": mean,
                "standard_error": spread,
                "median": float(np.median(errors)),
                "seeds": [range_of_seeds.start, range_of_seeds.stop - 1],
                "seconds": seconds,
            }
            rows.append([name, method, _number(mean), _number(spread), target, paper, f"{seconds:.1f}"])
            print(simple_table(_HEADER, rows[-1:]), flush=True)
        arguments.out.write_text(json.dumps(record, indent=1) + "\n")
    print("\n" + simple_table(_HEADER, rows))


def _errors(name: str, seeds: range, methods: list[str], jobs: int) -> list[tuple[str, list[float], float]]:
    """Losses of each method over the seeds, and the seconds that all methods together took for one."""
    one = partial(_losses, name, methods)
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        results = list(pool.map(one, seeds))
    seconds = float(np.mean([took for _, took in results]))
    return [(method, [losses[method] for losses, _ in results], seconds) for method in methods]


def _losses(name: str, methods: list[str], seed: int) -> tuple[dict[str, float], float]:
    """The loss of each method on the data set of one seed, and the seconds taken."""
    problem, loss = next((row[1], row[2]) for row in _problems(False) if row[0] == name)
    tasks, exact = problem(seed)
    started = time.perf_counter()
    estimates = vvcv.compare(tasks, methods, check=False)
    took = time.perf_counter() - started
    return {method: loss(estimate.mean - exact) for method, estimate in estimates.items()}, took


_HEADER = ["problem", "method", "error", "(se)", "aim", "paper", "seconds each"]


def _problems(quick: bool):
    for m in BOREHOLE_SIZES[:2] if quick else BOREHOLE_SIZES:
        yield (
            f"borehole, m = {m}",
            lambda seed, m=m: borehole_problem(seed, m),
            of_high_fidelity,
            5 if quick else 20,
            _number(PAPER_BOREHOLE[m]),
            _number(TARGET_BOREHOLE[m]),
        )
    yield "step, m = 40", step_problem, of_high_fidelity, 5 if quick else 120, ".033", ".010"
    yield (
        "synthetic, variance 1.25",
        lambda seed: synthetic_tasks(seed, 1.25),
        squared,
        5 if quick else 20,
        ".052",
        "5e-05",
    )


def _number(value: float) -> str:
    return f"{value:.2g}"


if __name__ == "__main__":
    main()
