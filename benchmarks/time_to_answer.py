"""How long a default estimate takes, in units of one LAPACK Cholesky factorisation of its size, and how much memory.

    python benchmarks/time_to_answer.py [--rows NAME ...] [--out benchmarks/time_to_answer.json]

Every row runs in a process of its own, compilation counted, the import of vvcv not. D is the fastest of three `dpotrf`
of N rows in the same process before and after. The target is a product of log-gamma densities, rotated; integrands are
means and squares of its coordinates, with exact answers.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy.linalg.lapack import dpotrf
from scipy.special import digamma, polygamma

import vvcv
from vvcv.problems import borehole

SHAPE = 8.0

#: Name: rows, dimension, integrands on shared points.
SHARED = {
    "N = 300, d = 8, T = 1": (300, 8, 1),
    "N = 1000, d = 10, T = 1": (1000, 10, 1),
    "N = 1000, d = 10, T = 10": (1000, 10, 10),
    "N = 4000, d = 25, T = 50": (4000, 25, 50),
}
BOREHOLE = "borehole, 150 + 150"


def log_gamma(rows: int, d: int, count: int, seed: int) -> tuple[vvcv.Tasks, np.ndarray]:
    """Four chains of independent draws with the first means and squares, and their exact values."""
    rng = np.random.default_rng(seed)
    turn, scale = np.linalg.qr(rng.normal(size=(d, d)))[0], np.linspace(0.5, 2, d)
    u = rng.gamma(SHAPE, 1.0, size=(4, rows // 4, d))
    points, scores = (np.log(u) * scale) @ turn.T, ((SHAPE - u) / scale) @ turn.T
    values = np.concatenate([points, points**2], axis=-1)
    mean = turn @ (scale * digamma(SHAPE))
    exact = np.concatenate([mean, mean**2 + (turn * scale) ** 2 @ np.full(d, polygamma(1, SHAPE))])
    chosen = np.argsort(np.arange(2 * d) % d, kind="stable")[:count]
    return vvcv.Tasks.shared(points, scores, values[..., chosen]), exact[chosen]


def two_boreholes(seed: int) -> tuple[vvcv.Tasks, np.ndarray]:
    """Cheap and dear runs at points of their own."""
    rng = np.random.default_rng(seed)
    low, high = borehole.sample(rng, 150), borehole.sample(rng, 150)
    cheap = vvcv.Task(low, borehole.score(low), borehole.low(low))
    dear = vvcv.Task(high, borehole.score(high), borehole.high(high))
    return vvcv.Tasks([cheap, dear]), np.array([borehole.EXACT_LOW, borehole.EXACT_HIGH])


def factorisation(rows: int) -> float:
    """Seconds of the fastest of three Cholesky factorisations."""
    seconds = []
    for _ in range(3):
        matrix = np.asfortranarray(np.eye(rows) + 0.1)
        started = time.perf_counter()
        dpotrf(matrix, lower=1, overwrite_a=1)
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def measure(name: str, seed: int) -> dict:
    """One row: seconds, D, their ratio, peak memory and error, in this process."""
    tasks, exact = two_boreholes(seed) if name == BOREHOLE else log_gamma(*SHARED[name], seed)
    rows = tasks[0].size if tasks.share_points or len(tasks) == 1 else sum(tasks.sizes)
    before, memory = factorisation(rows), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    estimate = vvcv.estimate(tasks)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = min(before, factorisation(rows))
    error, plain = np.abs(estimate.mean - exact), np.abs(estimate.monte_carlo.mean - exact)
    return {
        "seconds": round(seconds, 2),
        "factorisation": unit,
        "ratio": round(seconds / unit),
        "peak_gigabytes": round(peak * 1024 / 1e9, 2),
        "arrays_of_rows_squared": round((peak - memory) * 1024 / (8 * rows**2), 1),
        "error_over_plain": float(np.sqrt(np.mean(error**2) / np.mean(plain**2))),
    }


def main() -> None:
    """Run the rows, each in a fresh process, and record them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="*", default=[BOREHOLE, *SHARED])
    parser.add_argument("--seed", type=int, default=40000)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/time_to_answer.json"))
    parser.add_argument("--one", help="measure one row in this process and print it")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one, arguments.seed)))
        return
    record = {"machine": f"{platform.machine()}, {platform.processor()}, {platform.python_version()}", "rows": {}}
    for name in arguments.rows:
        command = [sys.executable, __file__, "--one", name, "--seed", str(arguments.seed)]
        record["rows"][name] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        print(name, record["rows"][name], flush=True)
        arguments.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
