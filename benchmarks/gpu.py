"""What a GPU gives: likelihood with gradient in units of the card's own Cholesky factorisation, and default estimates.

    python benchmarks/gpu.py [PART ...] [--list] [--seconds S] [--out benchmarks/gpu.json]

Runs with what a CUDA machine with jax has. Every part (a number of `--list`, or a word that occurs in its name) runs in
a process of its own, has a limit in seconds, says where its time went, and is added to the record when it is done.
Limits: value and gradient at N = 20,000 at most 4.5 factorisations and .35 s, at N = 40,000 at most 2.5 s, with at most
3 arrays of N x N alive; a default estimate at N = 20,000, d = 10, T = 5 in at most 30 s, one at N = 1000, d = 10,
T = 10 five times as fast as on two cores of the same machine; means within a tenth of a standard error of the host's,
the linear system to 1e-8; inducing points at N = 20,000, d = 4 in a tenth of the time of exact with twice its error.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import vvcv
from benchmarks.scale import smooth
from benchmarks.speed import problem
from benchmarks.stages import Stages
from benchmarks.time_to_answer import log_gamma
from vvcv.linear_system.evaluation import criterion_and_gradient
from vvcv.linear_system.solution import solve
from vvcv.runtime import memory
from vvcv.runtime.device import placed
from vvcv.runtime.precision import float64

DIMENSION, SEED = 10, 40000

#: Stages that are shown; the record has all.
LONGEST = 14

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


def answer(rows: int, tasks: int, device: str | None, calls: int = 2, fewest: int | None = None) -> dict:
    """Default estimates, the first with compilation, where their time goes, and the answer of the last."""
    record: dict = {"calls": []}
    PROGRESS.append(record)
    for k in range(calls):  # other draws of the same shape, the recorded ones last
        data, exact = log_gamma(rows, DIMENSION, tasks, SEED + calls - 1 - k)
        with placed(device, fewest), timed(record) as found:
            estimate = vvcv.estimate(data)
        found["methods"] = estimate.methods
    error, plain = np.abs(estimate.mean - exact), np.abs(estimate.monte_carlo.mean - exact)
    return record | {
        "mean": estimate.mean.tolist(),
        "std_error": estimate.std_error.tolist(),
        "error_over_plain": float(np.sqrt(np.mean(error**2) / np.mean(plain**2))),
        "kernel": estimate.kernel[0],
    }


def one_method(method: str, rows: int, device: str | None, calls: int = 3) -> dict:
    """A smooth problem with d = 4 by one method, on some samples: root mean square error, seconds of each.

    The host, too, may take as many rows as asked for: what is not worth its time is what is to be measured.
    """
    memory.MOST_ROWS = max(memory.MOST_ROWS, rows)
    record: dict = {"calls": [], "errors": [], "std_errors": []}
    PROGRESS.append(record)
    for k in range(calls):
        task, exact = smooth(rows, SEED + k)
        with timed(record):
            estimate = vvcv.estimate(task, method, on_alarm="ignore", device=device)
        record["errors"].append(float(abs(estimate.mean - exact)[0]))
        record["std_errors"].append(float(estimate.std_error[0]))
    return record | {"rms_error": float(np.sqrt(np.mean(np.square(record["errors"])))), "kernel": estimate.kernel[0]}


#: What parts that take long have found so far, for when their time is up.
PROGRESS: list[dict] = []


@contextmanager
def timed(record: dict) -> Iterator[dict]:
    """Seconds and stages of one call, kept even if it is not finished."""
    stages, started, found = Stages(), time.perf_counter(), {}
    record["calls"].append(found)
    record["so far"] = lambda: {"seconds": time.perf_counter() - started, "stages": stages.report()}
    with stages:
        yield found
    found |= {"seconds": round(time.perf_counter() - started, 3), "stages": stages.report()}
    del record["so far"]


class Part(NamedTuple):
    """One measurement, and the seconds it may take."""

    measure: Callable[[], dict]
    seconds: float


PARTS: dict[str, Part] = {
    "likelihood, N = 20000, B k": Part(lambda: likelihood(20_000, "separable"), 60),
    "likelihood, N = 20000, B k + own": Part(lambda: likelihood(20_000, "shared + own"), 60),
    "likelihood, N = 40000, B k": Part(lambda: likelihood(40_000, "separable"), 90),
    "equal parameters, N = 2000": Part(lambda: agreement(2000, "shared + own"), 60),
    "estimate, N = 20000, T = 5": Part(lambda: answer(20_000, 5, None), 120),
    "estimate, N = 1000, T = 10": Part(lambda: answer(1000, 10, None), 60),
    "estimate, N = 1000, T = 10, device='gpu'": Part(lambda: answer(1000, 10, "gpu"), 90),
    "estimate, N = 1000, T = 10, all on the device": Part(lambda: answer(1000, 10, "gpu", 3, fewest=200), 180),
    "estimate, N = 1000, T = 10, two cores": Part(lambda: answer(1000, 10, "cpu"), 60),
    "smooth, N = 20000, d = 4, exact": Part(lambda: one_method("cf", 20_000, None), 90),
    "smooth, N = 20000, d = 4, inducing": Part(lambda: one_method("inducing", 20_000, None), 90),
    "smooth, N = 20000, d = 4, inducing, host": Part(lambda: one_method("inducing", 20_000, "cpu"), 120),
    "smooth, N = 20000, d = 4, exact, host": Part(lambda: one_method("cf", 20_000, "cpu", 1), 300),
    "estimate, N = 20000, T = 5, host": Part(lambda: answer(20_000, 5, "cpu", 1), 300),
}


def measured(name: str, seconds: float) -> dict:
    """One part in this process; when its time is up, what it was doing."""

    def give_up() -> None:
        where = {str(k): traceback.format_stack(frame)[-6:] for k, frame in sys._current_frames().items()}
        found = {key: value() if callable(value) else value for each in PROGRESS for key, value in each.items()}
        print(json.dumps({"unfinished after": seconds, **found, "where": where}), flush=True)
        os._exit(0)

    timer = Timer(seconds, give_up)
    timer.daemon = True
    timer.start()
    found = PARTS[name].measure()
    timer.cancel()
    return found


def run(name: str, seconds: float) -> dict:
    """One part in a fresh process, with two threads on two cores where it says so."""
    two = name.endswith("two cores")
    command = [*(["taskset", "-c", "0,1"] if two else []), sys.executable, __file__, "--one", name]
    environment = {**os.environ, **(TWO_THREADS if two else {})}
    try:
        done = subprocess.run(
            [*command, "--seconds", str(seconds)], capture_output=True, text=True, env=environment, timeout=seconds + 30
        )
    except subprocess.TimeoutExpired:
        return {"unfinished after": seconds + 30}
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    return {"failed": done.stderr.strip().splitlines()[-8:], "exit status": done.returncode}


def compared(parts: dict[str, dict]) -> dict:
    """By how many of the host's standard errors answers differ from its own, and how many times as fast they came."""
    found = {}
    for host in ("estimate, N = 1000, T = 10, two cores", "estimate, N = 20000, T = 5, host"):
        theirs = parts.get(host, {})
        for name, mine in parts.items():
            if name != host and name.startswith(host.rpartition(",")[0]) and "mean" in mine and "mean" in theirs:
                off = np.abs(np.subtract(mine["mean"], theirs["mean"])) / theirs["std_error"]
                times = theirs["calls"][-1]["seconds"] / mine["calls"][-1]["seconds"]
                found[name] = {"standard errors off": float(off.max()), "times as fast": round(times, 2)}
    return found


def in_lines(found: dict) -> str:
    """A part for a terminal: numbers in one line, and the longest stages of every call in others."""
    lines = [json.dumps({key: value for key, value in found.items() if key not in ("calls", "so far", "where")})]
    for call in [*found.get("calls", []), found.get("so far", {})]:
        stages = sorted(call.get("stages", {}).items(), key=lambda each: -each[1]["seconds"])[:LONGEST]
        lines += [f"  call of {call['seconds']:.2f} s"] if "seconds" in call else []
        lines += [f"    {s['seconds']:8.2f} s {s['calls']:5d} x {name} (first {s['first']})" for name, s in stages]
    return "\n".join([*lines, *(line for stack in found.get("where", {}).values() for line in stack[-2:])])


def chosen(words: list[str]) -> list[str]:
    """The parts that numbers or words name; all where none is given."""
    names = list(PARTS)
    named = {names[int(word)] for word in words if word.isdigit()}
    named |= {name for name in names for word in words if not word.isdigit() and word in name}
    return [name for name in names if not words or name in named]


def main() -> None:
    """Run the parts and record them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--list", action="store_true", help="show the parts and their limits")
    parser.add_argument("--seconds", type=float, help="another limit for every part")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/gpu.json"))
    parser.add_argument("--one", help="measure one part in this process and print it")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measured(arguments.one, arguments.seconds or PARTS[arguments.one].seconds)))
        return
    names = chosen(arguments.parts)
    if arguments.list:
        print("\n".join(f"{list(PARTS).index(name)}  {name} ({PARTS[name].seconds} s)" for name in names))
        return
    record = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    record |= machine()
    for name in names:
        started = time.perf_counter()
        found = run(name, arguments.seconds or PARTS[name].seconds)
        record.setdefault("parts", {})[name] = found
        record["compared"] = compared(record["parts"])
        print(f"\n{name} [{time.perf_counter() - started:.1f} s]\n{in_lines(found)}", flush=True)
        arguments.out.write_text(json.dumps(record, indent=1) + "\n")
    print("compared:", json.dumps(record["compared"], indent=1))


def machine() -> dict:
    """The card, the host and JAX."""
    card = "import jax; print(jax.local_devices()[0].device_kind)"
    kind = subprocess.run([sys.executable, "-c", card], check=True, capture_output=True, text=True).stdout.strip()
    return {"device": kind, "host": f"{platform.machine()}, {os.cpu_count()} cores", "jax": jax.__version__}


if __name__ == "__main__":
    main()
