"""How long `vvcv.summary` takes and how much memory, beside `az.summary`, and how far off both tables are.

    python benchmarks/summary.py [--seeds 3] [--first-seed 60000] [--out benchmarks/summary.json]

4 x 1,000 draws of Hamiltonian Monte Carlo from a logistic posterior of `trust/draws.py` (d = 25): means and standard
deviations of all coefficients. Every seed runs in a process of its own, compilation counted, imports and draws not; the
peak of memory is that of the whole process until the table is there. Errors are root mean squares over coefficients in
posterior deviations, against the recorded long run, whose own error stands beside them; `az.summary` shows plain
averages. Bars: 15 s on two cores, 1 GB. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import vvcv

sys.path.insert(0, str(Path(__file__).parent / "trust"))
from draws import REFERENCE, D, logistic_posterior

CHAINS, DRAWS, ANSWERS = 4, 1000, 120
MOST_SECONDS, MOST_GIGABYTES = 15.0, 1.0

#: How the long run's own error is called where it is recorded.
OWN_ERROR = "median standard error in posterior deviations"


def drawn(seed: int) -> vvcv.Tasks:
    """One task for each coefficient, along chains."""
    posterior, _ = logistic_posterior(ANSWERS)
    states = posterior.chains(np.random.default_rng([seed, 31]), CHAINS)
    points = np.stack([next(states) for _ in range(DRAWS)], axis=1)
    scores = posterior.score(points.reshape(-1, D)).reshape(points.shape)
    return vvcv.Tasks.shared(points, scores, points, names=[f"b[{j}]" for j in range(D)])


def peak() -> float:
    """Gigabytes that this process has held at most."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def seconds_of_arviz(tasks: vvcv.Tasks) -> float | None:
    """Of its table for the same draws, imports not counted; None where it is not installed."""
    try:
        import arviz
    except ImportError:
        return None
    data = vvcv.estimate(tasks, "mc", check=False).to_inference_data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.perf_counter()
        arviz.summary(data, group="posterior")
    return round(time.perf_counter() - started, 2)


def measure(seed: int) -> dict:
    """Time, memory and errors of one data set, in this process."""
    tasks = drawn(seed)
    before, started, busy = peak(), time.perf_counter(), time.process_time()
    table = vvcv.summary(tasks)
    seconds, busy = time.perf_counter() - started, time.process_time() - busy
    after = peak()
    _, exact = logistic_posterior(ANSWERS)
    mean, deviation = exact[:D], np.sqrt(exact[D:] - exact[:D] ** 2)
    plain = np.array([[np.mean(task.values), np.std(task.values, ddof=1)] for task in tasks]).T
    off = [table["mean"] - mean, table["sd"] - deviation, plain[0] - mean, plain[1] - deviation]
    errors = [float(f"{np.sqrt(np.mean((np.asarray(o) / deviation) ** 2)):.3g}") for o in off]
    return {
        "seconds": round(seconds, 2),
        "processor_seconds": round(busy, 2),
        "arviz_seconds": seconds_of_arviz(tasks),
        "peak_gigabytes": round(after, 3),
        "gigabytes_before": round(before, 3),
        "error_of_means": errors[0],
        "error_of_deviations": errors[1],
        "plain_error_of_means": errors[2],
        "plain_error_of_deviations": errors[3],
        "median_gain": float(f"{np.median(table['gain']):.3g}"),
    }


def main() -> None:
    """Measure every seed in a fresh process, and record them with the worst against the bars."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=60_000)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    parser.add_argument("--one", type=int, help="measure one seed in this process and print it")
    arguments = parser.parse_args()
    if arguments.one is not None:
        print(json.dumps(measure(arguments.one)))
        return
    rows = {}
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        command = [sys.executable, __file__, "--one", str(seed)]
        rows[seed] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        print(seed, rows[seed], flush=True)
    worst = {key: max(row[key] for row in rows.values()) for key in ("seconds", "peak_gigabytes")}
    record = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "draws": f"{CHAINS} x {DRAWS}, d = {D}",
        "at_most": {"seconds": MOST_SECONDS, "peak_gigabytes": MOST_GIGABYTES},
        "worst": worst,
        "held": worst["seconds"] <= MOST_SECONDS and worst["peak_gigabytes"] <= MOST_GIGABYTES,
        "error_of_the_long_run": json.loads((REFERENCE / f"logistic_{ANSWERS}.json").read_text())[OWN_ERROR],
        "seeds": rows,
    }
    arguments.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
