"""Does a fit take the memory `vvcv.runtime.memory` predicts? Peaks of whole estimates, each in its own process.

    python benchmarks/trust/memory.py [--rows 500 2000 5000] [--cases "cf, one task" ...] [--out FILE]

Measured: the largest resident memory of the process less what it has before the estimate, library and data included.
Every evaluation of the objective takes the same memory, so three for each model will do.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

MEASURE = """
import sys
import numpy as np, jax
import vvcv
from vvcv.runtime.memory import bytes_needed
from vvcv.tuning import refit


def memory(field):
    with open("/proc/self/status") as status:
        return 1024 * int(next(line for line in status if line.startswith(field)).split()[1])


tune = refit.tune_leaves
refit.tune_leaves = lambda objective, start, tied, most, *rest, **how: tune(objective, start, tied, 3, *rest, **how)
rows, method = int(sys.argv[1]), sys.argv[2]
count, difference = map(int, sys.argv[3:5])
tasks = [
    vvcv.Task(x, -x, np.exp(0.3 * x.sum(axis=1)) + np.abs(x[:, 0]) + difference * t * np.cos(x[:, 1]))
    for t, x in enumerate(np.random.default_rng(0).normal(size=(count, rows // count, 4)))
]
before = memory("VmRSS")
vvcv.estimate(tasks, method)
print(memory("VmHWM") - before, bytes_needed(rows))
"""

#: Method, tasks that share the rows, and how different the tasks are.
CASES = {
    "cf, one task": ("cf", 1, 1),
    "auto, one task": ("auto", 1, 1),
    "vv, two tasks": ("vv", 2, 1),
    "auto, two tasks": ("auto", 2, 1),
    "auto, one function in two tasks": ("auto", 2, 0),
}


def measure(rows: int, case: str) -> dict:
    """Measured and predicted peak in bytes, and their ratio."""
    started = time.perf_counter()
    command = [sys.executable, "-c", MEASURE, str(rows), *map(str, CASES[case])]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    measured, predicted = map(float, result.stdout.split())
    seconds = round(time.perf_counter() - started, 1)
    return {"measured": measured, "predicted": predicted, "ratio": predicted / measured, "seconds": seconds}


def main() -> None:
    """Measure, print, record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="*", type=int, default=[500, 2000, 5000])
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/trust/memory.json"))
    arguments = parser.parse_args()
    record = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    for case in arguments.cases:
        for rows in arguments.rows:
            found = record[f"{case}, N = {rows}"] = measure(rows, case)
            print(
                f"{case:<31} N = {rows:<6} measured {found['measured'] / 1e6:7.0f} MB   predicted "
                f"{found['predicted'] / 1e6:7.0f} MB   ratio {found['ratio']:.2f}   {found['seconds']} s",
                flush=True,
            )
            arguments.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
