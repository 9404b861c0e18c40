"""Do answers hang on the last bit? The default under inputs moved by rounding and under every kernel of OpenBLAS.

    python benchmarks/trust/rounding.py [--replications 3] [--jobs 2] [--out FILE]

Ten problems; points, scores and values are multiplied by 1 + k 2^-52 with k drawn from -4 to 4 (two such moves), and
the same data are estimated in processes of their own under every `OPENBLAS_CORETYPE` that this processor runs, which
sets the kernels of NumPy's and SciPy's OpenBLAS alike. All are compared with the first run, unmoved, default kernel.

Bars: means move by less than a quarter of their standard error in at least 95 % of cases and never by more than one,
standard errors by less than 15 %, and no run is an error. Tuned on seeds from 20000 and from 107000 to 107019, reported
from 107800.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np
from misses import cases as pairs
from nested import cases as nested
from nested import values
from study import Column, chosen, options, record, show

import vvcv
from problems import problems

KERNELS = {
    "x86_64": ("Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids"),
    "aarch64": ("ARMV8", "CORTEXA57", "CORTEXA72", "NEOVERSEN1", "NEOVERSEV1", "NEOVERSEN2", "THUNDERX2T99"),
}
MOVES = ("moved once", "moved twice")

COLUMNS = (
    Column("runs", "runs", "{:d}"),
    Column("failed", "failed", "{:d}", high=0),
    Column("mean moves < 1/4 bar", "small", "{:.1%}", low=0.95),
    Column("largest move / bar", "largest", "{:.2g}", high=1.0),
    Column("bars moved 95 %", "bars", "{:.1%}"),
    Column("largest", "largest bar", "{:.1%}", high=0.15),
)


def data(name: str, seed: int) -> vvcv.Tasks:
    """The tasks of a problem."""
    if name in pairs():
        return pairs()[name].draw(seed)
    if name in problems():
        return problems()[name].draw(seed)
    target = nested()[name].target
    x = target.sample(np.random.default_rng(seed), 100)
    return vvcv.Tasks.shared(x, target.score(x), values(x))


NAMES = ("synthetic", "borehole, m = 20", "epidemic", "smooth, 1-d", "smooth, shared points", "misspecified, kinks")
NAMES += ("chains, autoregressive", "banana", "near modes", "normal, d = 10")


def moved(tasks: vvcv.Tasks, seed: int) -> vvcv.Tasks:
    """All numbers a few units in the last place away."""
    rng = np.random.default_rng([seed, 52])

    def move(array: np.ndarray, task: vvcv.Task) -> np.ndarray:
        moved = array * (1 + rng.integers(-4, 5, size=array.shape) * 2.0**-52)
        return moved.reshape(*task.chains, *array.shape[1:]) if task.chains else moved

    shared = tasks.share_points
    places = [(move(t.points, t), move(t.scores, t)) for t in (list(tasks)[:1] if shared else tasks)]
    places = places * len(tasks) if shared else places
    return vvcv.Tasks(
        [
            vvcv.Task(x, s, move(task.values, task), name=name)
            for task, name, (x, s) in zip(tasks, tasks.names, places, strict=True)
        ]
    )


def worker(name: str, seeds: list[int], variant: str) -> None:
    """In a process of its own: print, for each seed, means and standard errors or the failure."""
    found = []
    for seed in seeds:
        tasks = data(name, seed)
        tasks = moved(tasks, seed + 1000 * MOVES.index(variant)) if variant in MOVES else tasks
        try:
            estimate = vvcv.estimate(tasks, check=False)
            found.append({"mean": estimate.mean.tolist(), "std_error": estimate.std_error.tolist()})
        except Exception as error:  # any failure is a finding
            found.append({"failed": f"{type(error).__name__}: {error}"})
    print(json.dumps({"found": found}))


def run(name: str, seeds: range, variant: str) -> dict:
    """One worker; one that dies has failed on all its seeds."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    environment.pop("OPENBLAS_CORETYPE", None)
    if variant != "default" and variant not in MOVES:
        environment["OPENBLAS_CORETYPE"] = variant
    command = [sys.executable, __file__, "--worker", name, variant, *map(str, seeds)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and lines:
        return json.loads(lines[-1])
    return {"found": [{"failed": f"exit {done.returncode}: {done.stderr[-300:]}"}] * len(seeds)}


def kernels() -> dict[str, list[str]]:
    """Kernels that this processor runs and that are not the default under another name, by the name to ask for."""
    probe = "import json, numpy as np, scipy.linalg as l, threadpoolctl as t; a = np.eye(200) + 1;"
    probe += " l.cholesky(a @ a);"
    probe += " print(json.dumps(sorted({str(i.get('architecture')) for i in t.threadpool_info()})))"
    known: dict[str, list[str]] = {}
    for kernel in ("", *KERNELS.get(platform.machine(), ())):
        environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
        environment |= {"OPENBLAS_CORETYPE": kernel} if kernel else {}
        done = subprocess.run(
            [sys.executable, "-c", probe], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode == 0 and (found := json.loads(done.stdout)) not in known.values():
            known[kernel or "default"] = found
    return known


def compared(results: dict[tuple[str, str], dict], names: list[str], variants: list[str]) -> dict[str, dict]:
    """For every problem and for every variant: how far means and standard errors are from the first run's."""
    apart: dict[str, list] = {}
    failed: dict[str, int] = {}
    for name in names:
        for variant in variants:
            for first, other in zip(results[name, "default"]["found"], results[name, variant]["found"], strict=False):
                for row in (name, variant, "all"):
                    if "failed" in first or "failed" in other:
                        failed[row] = failed.get(row, 0) + 1
                    else:
                        apart.setdefault(row, []).extend(_apart(first, other))
    rows = [row for row in (*names, *variants, "all") if row in apart or row in failed]
    return {row: _summary(np.array(apart.get(row, [])).reshape(-1, 2), failed.get(row, 0)) for row in rows}


def _apart(first: dict, other: dict) -> list[tuple[float, float]]:
    mean, bar, new, new_bar = (np.array(run[key]) for run in (first, other) for key in ("mean", "std_error"))
    moves = np.abs(new - mean) / np.maximum(np.minimum(bar, new_bar), 1e-300)
    moves = np.where(np.abs(new - mean) <= 1e-13 * np.abs(mean), 0.0, moves)  # rounding of the mean itself
    return list(zip(moves.tolist(), np.abs(np.log(new_bar / bar)).tolist(), strict=True))


def _summary(apart: np.ndarray, failed: int) -> dict:
    moves, bars = apart.T if len(apart) else np.full((2, 1), np.nan)
    return {
        "runs": len(apart),
        "failed": failed,
        "small": float(np.mean(moves < 0.25)),
        "largest": float(moves.max()),
        "bars": float(np.expm1(np.quantile(bars, 0.95))),
        "largest bar": float(np.expm1(bars.max())),
    }


def main() -> None:
    """Run all variants, print and record."""
    given = options(__doc__).parse_args()
    names, known = chosen(NAMES, given.cases), kernels()
    variants = [*(kernel for kernel in known if kernel != "default"), *MOVES]
    seeds = range(given.first_seed, given.first_seed + given.replications)
    chunks = [seeds[i : i + 2] for i in range(0, len(seeds), 2)]
    results: dict[tuple[str, str], dict] = {(n, v): {"found": []} for n in names for v in ("default", *variants)}
    started = time.time()
    with ThreadPoolExecutor(given.jobs) as pool:
        for chunk in chunks:
            if time.time() - started > given.seconds:
                break
            jobs = {pool.submit(run, n, chunk, v): (n, v) for n, v in results}
            for job in as_completed(jobs):
                results[jobs[job]]["found"] += job.result()["found"]
    rows = compared(results, names, variants)
    show("rounding", rows, COLUMNS)
    failures = [(*key, run["failed"]) for key, result in results.items() for run in result["found"] if "failed" in run]
    record(given, processor=known, rows=rows, failures=failures)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], [int(seed) for seed in sys.argv[4:]], sys.argv[3])
    else:
        main()
