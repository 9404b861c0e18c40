"""Does an estimate ever hurt, and do its intervals cover? Replications of every problem of `problems.py`.

    python benchmarks/trust/suite.py [--problems NAME ...] [--methods auto cf ...] [--replications 200]
                                     [--first-seed 11000] [--jobs 2] [--redo auto] [--store FILE] [--out FILE]

Every replication is appended to the store (one line of JSON each), so that a run can be stopped and taken up again,
and methods, problems and seeds added later; `--redo` forgets what is stored of some methods. The table compares root
mean squared errors, pooled over tasks in units of each task's plain average's, and the coverage of 95 % intervals.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from replications import Store, complete, limits, print_table, summarise
from rich.progress import Progress

import vvcv
from problems import problems
from vvcv.estimation.methods import EXACT_METHODS as RUNGS


def replicate(name: str, seed: int, methods: list[str]) -> list[dict]:
    """One line for each method: estimates and intervals on the data set of this seed."""
    tasks = problems()[name].draw(seed)
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.perf_counter()
        for method, result in _estimates(tasks, methods).items():
            lines.append({"problem": name, "seed": seed, "method": method, "seconds": time.perf_counter() - started})
            lines[-1] |= result
    return lines


def _estimates(tasks: vvcv.Tasks, methods: list[str]) -> dict[str, dict]:
    """All methods on one ladder, or one by one where a method refuses these data."""
    try:
        return {method: _record(estimate) for method, estimate in vvcv.compare(tasks, methods).items()}
    except ValueError as error:
        if len(methods) == 1:
            return {methods[0]: {"refused": str(error)}}
        return {method: _estimates(tasks, [method])[method] for method in methods}


def _record(estimate: vvcv.Estimate) -> dict:
    low, high = _interval(estimate)
    return {
        "mean": estimate.mean.tolist(),
        "std_error": estimate.std_error.tolist(),
        "low": low,
        "high": high,
        "plain": estimate.monte_carlo.mean.tolist(),
        "plain_std_error": estimate.monte_carlo.std_error.tolist(),
        "methods": list(estimate.methods),
    }


def _interval(estimate: vvcv.Estimate) -> tuple[list[float], list[float]]:
    """The 95 % interval as the estimate defines it, or else 1.96 standard errors to either side."""
    if hasattr(estimate, "interval"):
        low, high = estimate.interval(0.95)
    else:
        low, high = estimate.mean - 1.96 * estimate.std_error, estimate.mean + 1.96 * estimate.std_error
    return low.tolist(), high.tolist()


def run(store: Store, names: list[str], methods: list[str], seeds: range, jobs: int) -> None:
    """Compute what the store lacks, seed by seed, so that every problem has some replications early."""
    missing = [(name, seed, store.missing(name, seed, methods)) for seed in seeds for name in names]
    missing = [job for job in missing if job[2]]
    if not missing:
        return
    for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[threads] = "1"  # one process for each core
    spawn = multiprocessing.get_context("spawn")  # a forked process must not use JAX
    with ProcessPoolExecutor(jobs, mp_context=spawn) as pool, Progress() as progress:
        bar = progress.add_task("replications", total=len(missing))
        for future in as_completed([pool.submit(replicate, *job) for job in missing]):
            store.add(future.result())
            progress.advance(bar)


def main() -> None:
    """Run what is missing, print the table, write it as JSON."""
    everything = problems()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="*", default=[], help="parts of names; all problems by default")
    parser.add_argument("--methods", nargs="*", default=[*RUNGS, "auto"])
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=11000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--redo", nargs="*", default=[], help="methods whose stored replications are forgotten")
    parser.add_argument("--store", type=Path, default=Path("build/trust/suite.jsonl"))
    parser.add_argument("--out", type=Path, default=Path("build/trust/suite.json"))
    arguments = parser.parse_args()
    chosen = arguments.problems
    names = [name for name in everything if not chosen or any(part in name for part in chosen)]
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.replications)
    store = Store(arguments.store)
    store.forget(arguments.redo, names, seeds)
    run(store, names, arguments.methods, seeds, arguments.jobs)
    rows = {name: summarise(everything[name], complete(store, name, seeds)) for name in names}
    verdict = limits(rows, everything)
    print_table(rows, verdict)
    record = {"first_seed": seeds.start, "replications": len(seeds), "problems": rows, "limits": verdict}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
