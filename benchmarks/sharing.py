"""Default estimates beside each other, on one core, and by the clock.

    python benchmarks/sharing.py [cores] [clock] [--seed 47000] [--repeats 5] [--out benchmarks/sharing.json]

cores   rows of `time_to_answer.py` with several searches: alone on all cores, alone on one, and two processes at once.
        Bars: two at once each take at most 2.5 times as long as alone; two cores are 1.5 times as fast as one.
clock   `estimate(..., seconds=s)` at N = 300, 1000 and 4000. Bar: never more than 1.3 s + 1 s, errors fall as s grows.

Seconds are those of the estimate, each in a process of its own, imports not counted; of `cores` the fastest of the
repeats, one of each kind after the other.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from time_to_answer import BOREHOLE, OWN, drawn, log_gamma

import vvcv

ROWS = (BOREHOLE, "N = 1000, d = 10, T = 10", *OWN)
CLOCK_ROWS, CLOCK_SECONDS = ((300, 8), (1000, 10), (4000, 25)), (0.5, 2.0, 10.0, 60.0)
TASKS = 10


def command(*words: object, cores: str | None = None) -> list[str]:
    """This file in a process of its own, on some cores."""
    bound = ["taskset", "-c", cores] if cores else []
    return [*bound, sys.executable, __file__, "--one", *map(str, words)]


def seconds_of(commands: list[list[str]]) -> list[dict]:
    """What processes that run at the same time print."""
    running = [subprocess.Popen(each, stdout=subprocess.PIPE, text=True) for each in commands]
    return [json.loads(process.communicate()[0]) for process in running]


def side_by_side(seed: int, repeats: int) -> dict:
    """For every row its seconds alone, on one core, and beside another, and the ratios."""
    found = {}
    for name in ROWS:
        all_cores, one_core = command(name, seed), command(name, seed, cores="0")
        kinds = {"alone": [all_cores], "on one core": [one_core], "two at once": [all_cores, all_cores]}
        runs = [
            {kind: max(r["seconds"] for r in seconds_of(each)) for kind, each in kinds.items()} for _ in range(repeats)
        ]
        fastest = {kind: min(run[kind] for run in runs) for kind in kinds}
        found[name] = fastest | {
            "two at once over alone": round(fastest["two at once"] / fastest["alone"], 2),
            "one core over all": round(fastest["on one core"] / fastest["alone"], 2),
        }
        print(name, found[name], flush=True)
    return found


def by_the_clock(seed: int) -> dict:
    """For every size and limit the seconds taken, and the error over that of the plain average."""
    found = {}
    for rows, d in CLOCK_ROWS:
        for limit in CLOCK_SECONDS:
            (line,) = seconds_of([command(rows, d, limit, seed)])
            found[f"N = {rows}, seconds = {limit:g}"] = line | {"at most": 1.3 * limit + 1}
            print(f"N = {rows}, seconds = {limit:g}", line, flush=True)
    return found


def one(words: list[str]) -> dict:
    """One estimate in this process: of a row of the table, or of so many rows in so many seconds."""
    if len(words) == 2:
        (tasks, exact), limit = drawn(words[0], int(words[1])), None
    else:
        (tasks, exact), limit = log_gamma(int(words[0]), int(words[1]), TASKS, int(words[3])), float(words[2])
    started = time.perf_counter()
    estimate = vvcv.estimate(tasks, seconds=limit)
    seconds = round(time.perf_counter() - started, 2)
    error, plain = estimate.mean - exact, estimate.monte_carlo.mean - exact
    return {"seconds": seconds, "error_over_plain": float(np.sqrt(np.mean(error**2) / np.mean(plain**2)))}


def main() -> None:
    """Measure, print, record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["cores", "clock"])
    parser.add_argument("--seed", type=int, default=47000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/sharing.json"))
    parser.add_argument("--one", nargs="+", help="measure one estimate in this process and print it")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one)))
        return
    record = json.loads(given.out.read_text()) if given.out.is_file() else {}
    record |= {"machine": platform.machine(), "seed": given.seed}
    parts = {"cores": partial(side_by_side, repeats=given.repeats), "clock": by_the_clock}
    for part in given.parts:
        record[part] = parts[part](given.seed)
        given.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
