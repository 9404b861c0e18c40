"""How long a default estimate takes, in units of one LAPACK Cholesky factorisation of its size, and how much memory.

    python benchmarks/time_to_answer.py [--rows NAME ...] [--out benchmarks/time_to_answer.json]

Every row runs in a process of its own, compilation counted, the import of vvcv not. D is the fastest of three `dpotrf`
of N rows in the same process before and after. Where scikit-learn is installed, one fit of its Gaussian process to the
same rows is timed in the same process, too. The target is a product of log-gamma densities, rotated; integrands are
means, squares and products of its coordinates, with exact answers; tasks on points of their own are exponentials under
normals. Of the eight schools (non-centred; `trust/hierarchical_models.py`) means and squares of all coordinates and of
the schools' effects are asked. Seconds grow like N^a, d^b, T^c: slopes of lines through the logarithms of three rows.
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
    "N = 500, d = 10, T = 1": (500, 10, 1),
    "N = 1000, d = 10, T = 1": (1000, 10, 1),
    "N = 1000, d = 10, T = 10": (1000, 10, 10),
    "N = 1000, d = 10, T = 50": (1000, 10, 50),
    "N = 1000, d = 5, T = 10": (1000, 5, 10),
    "N = 1000, d = 20, T = 10": (1000, 20, 10),
    "N = 2000, d = 10, T = 1": (2000, 10, 1),
    "N = 4000, d = 25, T = 50": (4000, 25, 50),
    "N = 8000, d = 25, T = 10": (8000, 25, 10),
}
BOREHOLE, SCHOOLS = "borehole, 150 + 150", "eight schools, 4 x 1000, T = 36"

#: Rows whose seconds show how they grow in N, d and T.
GROWTH = {
    "N": {500: "N = 500, d = 10, T = 1", 1000: "N = 1000, d = 10, T = 1", 2000: "N = 2000, d = 10, T = 1"},
    "d": {5: "N = 1000, d = 5, T = 10", 10: "N = 1000, d = 10, T = 10", 20: "N = 1000, d = 20, T = 10"},
    "T": {1: "N = 1000, d = 10, T = 1", 10: "N = 1000, d = 10, T = 10", 50: "N = 1000, d = 10, T = 50"},
}

#: Name: tasks, points of each one's own, targets.
OWN = {"8 tasks x 60, 8 targets": (8, 60), "20 tasks x 20, 20 targets": (20, 20)}

#: At most so many factorisations.
BARS = {
    BOREHOLE: 2500,
    "N = 1000, d = 10, T = 1": 200,
    "N = 1000, d = 10, T = 10": 300,
    "N = 1000, d = 10, T = 50": 600,
    "N = 4000, d = 25, T = 50": 60,
    "N = 8000, d = 25, T = 10": 25,
    SCHOOLS: 40,
    "8 tasks x 60, 8 targets": 2000,
    "20 tasks x 20, 20 targets": 2000,
}


def log_gamma(rows: int, d: int, count: int, seed: int) -> tuple[vvcv.Tasks, np.ndarray]:
    """Four chains of independent draws with the first means and squares, and their exact values."""
    rng = np.random.default_rng(seed)
    turn, scale = np.linalg.qr(rng.normal(size=(d, d)))[0], np.linspace(0.5, 2, d)
    u = rng.gamma(SHAPE, 1.0, size=(4, rows // 4, d))
    points, scores = (np.log(u) * scale) @ turn.T, ((SHAPE - u) / scale) @ turn.T
    mean, covariance = turn @ (scale * digamma(SHAPE)), (turn * scale**2) @ turn.T * polygamma(1, SHAPE)
    pairs = [(i, i + k) for k in range(d) for i in range(d - k)]
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    values = np.concatenate([points, points[..., first] * points[..., second]], axis=-1)
    exact = np.concatenate([mean, mean[first] * mean[second] + covariance[first, second]])
    # A mean and a square of each coordinate in turn, then products.
    chosen = [k for i in range(d) for k in (i, d + i)] + list(range(2 * d, len(exact)))
    return vvcv.Tasks.shared(points, scores, values[..., chosen[:count]]), exact[chosen[:count]]


def own_targets(count: int, rows: int, seed: int) -> tuple[vvcv.Tasks, np.ndarray]:
    """Like integrands exp(a x) of one variable, each under a normal of its own, at points of its own."""
    rng = np.random.default_rng(seed)
    centres, growth = np.linspace(-0.5, 0.5, count), np.linspace(0.3, 0.6, count)
    tasks = []
    for centre, a in zip(centres, growth, strict=True):
        x = centre + rng.normal(size=(rows, 1))
        tasks.append(vvcv.Task(x, centre - x, np.exp(a * x[:, 0])))
    return vvcv.Tasks(tasks), np.exp(growth * centres + growth**2 / 2)


def two_boreholes(seed: int) -> tuple[vvcv.Tasks, np.ndarray]:
    """Cheap and dear runs at points of their own."""
    rng = np.random.default_rng(seed)
    low, high = borehole.sample(rng, 150), borehole.sample(rng, 150)
    cheap = vvcv.Task(low, borehole.score(low), borehole.low(low))
    dear = vvcv.Task(high, borehole.score(high), borehole.high(high))
    return vvcv.Tasks([cheap, dear]), np.array([borehole.EXACT_LOW, borehole.EXACT_HIGH])


def eight_schools(seed: int) -> tuple[vvcv.Tasks, np.ndarray]:
    """Exact draws (mu, eta, log tau) as four chains; theta = mu + tau eta."""
    sys.path.insert(0, str(Path(__file__).parent / "trust"))
    from hierarchical_models import Centred, Model, schools

    model, of_effects = schools(Model), schools(Centred).exact()
    x = model.sample(np.random.default_rng(seed), 4000)
    effects = x[:, :1] + np.exp(x[:, -1:]) * x[:, 1:-1]
    values = np.hstack([x, x**2, effects, effects**2])
    exact = np.concatenate([model.exact(), of_effects[1:9], of_effects[11:19]])
    chains = (a.reshape(4, 1000, -1) for a in (x, model.score(x), values))
    return vvcv.Tasks.shared(*chains), exact


def factorisation(rows: int) -> float:
    """Seconds of the fastest of three Cholesky factorisations."""
    seconds = []
    for _ in range(3):
        matrix = np.asfortranarray(np.eye(rows) + 0.1)
        started = time.perf_counter()
        dpotrf(matrix, lower=1, overwrite_a=1)
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def drawn(name: str, seed: int) -> tuple[vvcv.Tasks, np.ndarray]:
    """The data of a row, with exact answers."""
    if name in OWN:
        return own_targets(*OWN[name], seed)
    if name == SCHOOLS:
        return eight_schools(seed)
    return two_boreholes(seed) if name == BOREHOLE else log_gamma(*SHARED[name], seed)


def gaussian_process(name: str, seed: int) -> float | None:
    """Seconds of one fit by scikit-learn with a lengthscale for each axis, no restarts; None where it is not there."""
    try:
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
    except ImportError:
        return None
    if name not in SHARED or SHARED[name][2] > 1:
        return None
    (task,), _ = drawn(name, seed)
    kernel = ConstantKernel() * RBF(np.ones(task.points.shape[1])) + WhiteKernel()
    started = time.perf_counter()
    GaussianProcessRegressor(kernel, normalize_y=True).fit(task.points, task.values)
    return round(time.perf_counter() - started, 2)


def measure(name: str, seed: int) -> dict:
    """One row: seconds, D, their ratio, peak memory and error, in this process."""
    tasks, exact = drawn(name, seed)
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
        "at_most": BARS.get(name),
        "scikit_learn_seconds": gaussian_process(name, seed),
        "peak_gigabytes": round(peak * 1024 / 1e9, 2),
        "arrays_of_rows_squared": round((peak - memory) * 1024 / (8 * rows**2), 1),
        "error_over_plain": float(np.sqrt(np.mean(error**2) / np.mean(plain**2))),
    }


def growth(rows: dict[str, dict]) -> dict[str, float]:
    """The exponents of N, d and T, of those whose rows were run."""
    found = {}
    for what, names in GROWTH.items():
        if all(name in rows for name in names.values()):
            seconds = [rows[name]["seconds"] for name in names.values()]
            found[what] = round(float(np.polyfit(np.log(list(names)), np.log(seconds), 1)[0]), 2)
    return found


def main() -> None:
    """Run the rows, each in a fresh process, and record them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="*", default=[BOREHOLE, *SHARED, SCHOOLS, *OWN])
    parser.add_argument("--seed", type=int, default=40000)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/time_to_answer.json"))
    parser.add_argument("--one", help="measure one row in this process and print it")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one, arguments.seed)))
        return
    record = {
        "machine": f"{platform.machine()}, {platform.processor()}, {platform.python_version()}",
        "rows": {},
        "growth": {},
    }
    for name in arguments.rows:
        command = [sys.executable, __file__, "--one", name, "--seed", str(arguments.seed)]
        record["rows"][name] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        record["growth"] = growth(record["rows"])
        print(name, record["rows"][name], flush=True)
        arguments.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
