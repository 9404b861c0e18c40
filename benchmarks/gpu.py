"""What a GPU gives: likelihood with gradient in units of the card's own Cholesky factorisation, and default estimates.

    python benchmarks/gpu.py [--rows NAME ...] [--out benchmarks/gpu.json]

Runs with what a CUDA machine with jax has. Every row runs in a process of its own. Limits: value and gradient at
N = 20,000 at most 4.5 factorisations and .35 s, at N = 40,000 at most 2.5 s, with at most 3 arrays of N x N alive;
a default estimate at N = 20,000, d = 10, T = 5 in at most 30 s, one at N = 1000, d = 10, T = 10 five times as fast as
on two cores of the same machine; means within a tenth of a standard error of the host's, the linear system to 1e-8.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import vvcv
from benchmarks.speed import problem
from benchmarks.time_to_answer import log_gamma
from vvcv.linear_system.model import criterion_and_gradient, solve
from vvcv.runtime.device import placed
from vvcv.runtime.precision import float64

DIMENSION, SEED = 10, 40000

TWO_THREADS = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "JAX_PLATFORMS": "cpu"}


@float64
def factorisation(rows: int) -> float:
    """Seconds of the device's own Cholesky factorisation."""
    cholesky = jax.jit(jnp.linalg.cholesky)
    matrix = jax.jit(lambda: jnp.eye(rows) + 0.1)()
    return fastest(lambda: cholesky(matrix).block_until_ready())


def fastest(function: Callable[[], object], repeats: int = 4) -> float:
    """The least seconds of several calls, after one that compiles."""
    seconds = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - started)
    return min(seconds[1:])


def likelihood(rows: int, name: str) -> dict:
    """Value and gradient of the restricted likelihood of two tasks, and the memory they take."""
    design, models = problem(rows, DIMENSION)
    model, device = models[name], jax.local_devices()[0]
    with placed(device):
        started = time.perf_counter()
        criterion_and_gradient(model, design)
        first = time.perf_counter() - started
        seconds = fastest(lambda: criterion_and_gradient(model, design))
    peak = (device.memory_stats() or {}).get("peak_bytes_in_use", np.nan)
    unit = factorisation(rows)  # after the peak was read
    return {
        "seconds": seconds,
        "factorisation": unit,
        "ratio": seconds / unit,
        "arrays_of_rows_squared": peak / (8 * rows**2),
        "seconds_with_compilation": first,
    }


def agreement(rows: int, name: str) -> dict:
    """Largest relative differences from the host for equal parameters."""
    design, models = problem(rows, DIMENSION)
    found = {}
    for home in ("cpu", jax.local_devices()[0]):
        with placed(home, fewest_rows=0):
            value, gradient = criterion_and_gradient(models[name], design)
            system = solve(models[name], design)
            slopes = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(gradient)])
            found[str(home)] = [np.array(value), slopes, system.coefficients, *system.leave_one_out()]
    names = ("value", "gradient", "coefficients", "left_out", "variance_left_out")
    pairs = zip(names, *found.values(), strict=True)
    return {what: float(np.abs(a - b).max() / np.abs(a).max()) for what, a, b in pairs}


def answer(rows: int, tasks: int, device: str | None, calls: int = 1) -> dict:
    """Seconds of default estimates, the first with compilation, and the answer of the last."""
    seconds = []
    for k in range(calls):  # other draws of the same shape, the recorded ones last
        data, exact = log_gamma(rows, DIMENSION, tasks, SEED + calls - 1 - k)
        started = time.perf_counter()
        estimate = vvcv.estimate(data, device=device)
        seconds.append(time.perf_counter() - started)
    error, plain = np.abs(estimate.mean - exact), np.abs(estimate.monte_carlo.mean - exact)
    return {
        "seconds": seconds,
        "mean": estimate.mean.tolist(),
        "std_error": estimate.std_error.tolist(),
        "error_over_plain": float(np.sqrt(np.mean(error**2) / np.mean(plain**2))),
    }


def all_on_device() -> dict:
    """The same where the first looks on a part of the rows go to the device too."""
    with placed("gpu", fewest_rows=200):
        return answer(1000, 10, None, 2)


ROWS: dict[str, Callable[[], dict]] = {
    "likelihood, N = 20000, B k": lambda: likelihood(20_000, "separable"),
    "likelihood, N = 20000, B k + own": lambda: likelihood(20_000, "shared + own"),
    "likelihood, N = 40000, B k": lambda: likelihood(40_000, "separable"),
    "equal parameters, N = 2000": lambda: agreement(2000, "shared + own"),
    "estimate, N = 20000, T = 5": lambda: answer(20_000, 5, None),
    "estimate, N = 1000, T = 10": lambda: answer(1000, 10, None, 2),
    "estimate, N = 1000, T = 10, device='gpu'": lambda: answer(1000, 10, "gpu", 2),
    "estimate, N = 1000, T = 10, all on the device": all_on_device,
    "estimate, N = 1000, T = 10, two cores": lambda: answer(1000, 10, "cpu", 2),
}


def run(name: str) -> dict:
    """One row in a fresh process, with two threads on two cores where it says so."""
    two = name.endswith("two cores")
    command = [*(["taskset", "-c", "0,1"] if two else []), sys.executable, __file__, "--one", name]
    environment = {**os.environ, **(TWO_THREADS if two else {})}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout) if done.returncode == 0 else {"failed": done.stderr.strip().splitlines()[-1:]}


def main() -> None:
    """Run the rows and record them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="*", default=list(ROWS))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/gpu.json"))
    parser.add_argument("--one", help="measure one row in this process and print it")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(ROWS[arguments.one]()))
        return
    card = "import jax; print(jax.local_devices()[0].device_kind)"
    kind = subprocess.run([sys.executable, "-c", card], check=True, capture_output=True, text=True).stdout.strip()
    record: dict = {"device": kind, "host": f"{platform.machine()}, {os.cpu_count()} cores", "jax": jax.__version__}
    record["rows"] = {}
    for name in arguments.rows:
        record["rows"][name] = run(name)
        print(name, record["rows"][name], flush=True)
        arguments.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
