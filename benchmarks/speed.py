"""Speed as ratios within one run, one thread, float64: LAPACK's dpotrf of the same size is the unit.

    python benchmarks/speed.py

Limits: value and gradient of the restricted likelihood at N = 2000, d = 8, T = 2 at most 5 dpotrf; Gram matrix at most
0.7; ten integrands at 500 shared points at most 60 of that size; at most 6 arrays of N x N alive; a cold `vvcv demo` at
most 6 times a process that imports jax and compiles one Cholesky factorisation; no compilation in a second fit of the
same shape.
"""

# ruff: noqa: E402 (threads must be limited before the libraries are imported)
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "MPLBACKEND": "Agg",
}
if __name__ == "__main__":
    os.environ.update(ONE_THREAD)  # before the libraries read it

import jax
import numpy as np
from scipy.linalg.lapack import dpotrf

import vvcv
from vvcv.candidates.designs import build_design
from vvcv.data import Prepared
from vvcv.kernels import Side
from vvcv.linear_system.design import Design
from vvcv.linear_system.evaluation import criterion_and_gradient
from vvcv.report import simple_table
from vvcv.tuning.starts import scalar_model, separable_model, shared_and_own

BASELINE = "import jax, jax.numpy as jnp; jax.jit(jnp.linalg.cholesky)(jnp.eye(40)).block_until_ready()"
PEAK = """
from benchmarks.speed import criterion_and_gradient, memory, problem
design, models = problem(3000)
model = models["shared + own"]
criterion_and_gradient(model, design)
before = memory("VmRSS")
open("/proc/self/clear_refs", "w").write("5")  # forget the peak of compilation
criterion_and_gradient(model, design)
print((memory("VmHWM") - before) / (8 * 3000**2))
"""


def memory(field: str) -> int:
    """A line of /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def problem(rows: int = 2000, dimension: int = 8) -> tuple[Design, dict]:
    """Two tasks with half of the rows each, and the two models of the vector-valued rung."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, dimension))
    side = Side(x, -x, np.repeat([0, 1], rows // 2))
    design = Design.build(side, np.sin(x).sum(axis=1), np.ones(rows), 2)
    family, covariance = "squared-exponential", np.array([[1.0, 0.9], [0.9, 1.0]])
    joint = separable_model(family, design, 3.0, covariance)
    own = [scalar_model(family, design.only(task), 3.0) for task in (0, 1)]
    return design, {"separable": joint, "shared + own": shared_and_own(joint, dict(enumerate(own)), 0.9)}


def best(function, repeats: int = 15) -> float:
    """The least processor time of several calls: what the work costs, whatever else the machine does."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        function()
        times.append(time.process_time() - started)
    return min(times)


def likelihood_ratios() -> list[list[str]]:
    """Gram matrix and likelihood with gradient, in units of dpotrf."""
    design, models = problem()
    rows = []
    for name, model in models.items():
        criterion_and_gradient(model, design)
        covariance = design.gram.upper(model.kernel) + 0.1 * np.eye(design.size)
        unit = best(lambda c=covariance: dpotrf(c.T.copy(order="F"), lower=1, overwrite_a=1, clean=0))
        gram = best(lambda m=model: design.gram.upper(m.kernel)) / unit
        whole = best(lambda m=model: criterion_and_gradient(m, design)) / unit
        rows.append([f"Gram matrix, {name}", f"{gram:.2f}", "0.7"])
        rows.append([f"likelihood with gradient, {name}", f"{whole:.2f}", "5"])
    return rows


def shared_points_ratio() -> list[list[str]]:
    """Likelihood with gradient of ten integrands at the same 500 points (the size of the paper's Lotka-Volterra)."""
    x = np.random.default_rng(0).normal(size=(500, 8))
    prepared = Prepared.of(vvcv.Tasks.shared(x, -x, np.sin(x @ np.random.default_rng(1).normal(size=(8, 10)))))
    members = tuple(range(10))
    design = build_design(prepared, members, prepared.coordinates(members, "scaled"), 0, pooled=True)
    model = scalar_model("squared-exponential", design, 3.0)
    covariance = design.gram.upper(model.kernel) + 0.1 * np.eye(design.size)
    unit = best(lambda: dpotrf(covariance.T.copy(order="F"), lower=1, overwrite_a=1, clean=0))
    criterion_and_gradient(model, design)
    ratio = best(lambda: criterion_and_gradient(model, design)) / unit
    return [["likelihood with gradient, 10 integrands at 500 points", f"{ratio:.1f}", "60"]]


def peak_arrays() -> list[list[str]]:
    """N x N arrays alive at the peak of one evaluation, by the growth of the process (Linux)."""
    return [["N x N arrays alive at the peak", f"{float(_python(PEAK).stdout):.1f}", "6"]]


def cold_start() -> list[list[str]]:
    """`vvcv demo` in a new process against a process that only imports jax and compiles one Cholesky."""
    with tempfile.TemporaryDirectory() as folder:
        picture = f"Path({folder!r}) / 'demo.png'"
        demo = f"from vvcv.cli.demo import run_demo; from pathlib import Path; run_demo(20, 0, {picture})"
        pairs = [(_seconds(BASELINE), _seconds(demo)) for _ in range(3)]
    ratio = min(demo for _, demo in pairs) / min(base for base, _ in pairs)
    return [["cold demo over importing jax and one compilation", f"{ratio:.1f}", "6"]]


def compilations() -> list[list[str]]:
    """Compilations during a second estimate of the same shape."""
    count = [0]
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, _, **__: count.__setitem__(0, count[0] + ("backend_compile" in event))
    )
    for seed in (0, 1):
        count[0] = 0
        rng = np.random.default_rng(seed)
        tasks = [
            vvcv.Task(x, -x, np.cos(x).sum(axis=1), name=str(i)) for i, x in enumerate(rng.normal(size=(2, 30, 3)))
        ]
        vvcv.estimate(vvcv.Tasks(tasks))
    return [["compilations in a second estimate of equal shape", str(count[0]), "0"]]


def _python(code: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join([".", *sys.path])}
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)


def _seconds(code: str) -> float:
    """Processor time of a child process."""
    before = os.times()
    _python(code)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Print the table and keep it."""
    rows = [*likelihood_ratios(), *shared_points_ratio(), *compilations(), *peak_arrays(), *cold_start()]
    print(simple_table(["what", "measured", "limit"], rows))
    record = {name: {"measured": float(value), "limit": float(limit)} for name, value, limit in rows}
    Path("benchmarks/speed.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
