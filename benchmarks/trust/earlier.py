"""An earlier version on the data of `sharpness.py`: its interval scores, for `sharpness.py --baseline`.

    python benchmarks/trust/earlier.py export FOLDER [--replications 8] [--first-seed 50000]
    PYTHONPATH=OTHER_CHECKOUT/src python benchmarks/trust/earlier.py estimate FOLDER [--jobs 2]
    python benchmarks/trust/earlier.py summarise FOLDER --out benchmarks/trust/sharpness_before.json

Data travel as arrays, since an earlier version may lack what draws them: `estimate` imports nothing of this folder, and
asks of the library only `Task`, `Tasks` and `estimate`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

DEMO = "demo"


def export(folder: Path, seeds: range) -> None:
    """One file for each case and seed: points, scores and values of every task, the exact means, the method."""
    from sharpness import cases

    folder.mkdir(parents=True, exist_ok=True)
    for k, (name, problem) in enumerate(cases().items()):
        for seed in seeds:
            tasks = problem.draw(seed)
            parts = {f"{what}{t}": getattr(task, what) for t, task in enumerate(tasks) for what in WHAT}
            about = {"case": name, "seed": seed, "method": "vv" if name == DEMO else "auto", "tasks": len(tasks)}
            np.savez(folder / f"{k:02}_{seed}.npz", about=json.dumps(about), exact=problem.exact, **parts)


WHAT = ("points", "scores", "values")


def estimate(path: Path) -> None:
    """The answer of whatever version is imported, beside the data."""
    import vvcv

    data = np.load(path)
    about, exact = json.loads(str(data["about"])), data["exact"]
    tasks = vvcv.Tasks([vvcv.Task(*(data[f"{what}{t}"] for what in WHAT)) for t in range(about["tasks"])])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = vvcv.estimate(tasks, about["method"])
    low, high = found.interval(0.95)
    plain = found.monte_carlo
    line = {key: about[key] for key in ("case", "seed", "method")}
    line |= {"error": found.mean - exact, "std_error": found.std_error, "low": low - exact, "high": high - exact}
    line |= {"plain": plain.mean - exact, "plain_std_error": plain.std_error}
    counted = [1] if about["case"] == DEMO else range(len(exact))
    kept = {key: [float(x[t]) for t in counted] if isinstance(x, np.ndarray) else x for key, x in line.items()}
    kept |= {"alarms": [], "rungs": [about["method"]] * len(counted), "seconds": 0.0}
    path.with_suffix(".json").write_text(json.dumps(kept))


def summarise(folder: Path, out: Path) -> None:
    """The same figures as `sharpness.py` records, of all answers there are."""
    from study import summarised

    lines = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    names = list(dict.fromkeys(line["case"] for line in lines if line["case"] != DEMO))
    rows = summarised(lines, names, ["auto"]) | summarised(lines, [DEMO], ["vv"])
    seeds = sorted({line["seed"] for line in lines})
    out.write_text(json.dumps({"seeds": [seeds[0], seeds[-1]], "rows": rows}, indent=1) + "\n")


def main() -> None:
    """One of the three steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("export", "estimate", "summarise"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--replications", type=int, default=8)
    parser.add_argument("--first-seed", type=int, default=50000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/trust/sharpness_before.json"))
    given = parser.parse_args()
    if given.step == "export":
        export(given.folder, range(given.first_seed, given.first_seed + given.replications))
    elif given.step == "summarise":
        summarise(given.folder, given.out)
    else:
        os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        waiting = [path for path in sorted(given.folder.glob("*.npz")) if not path.with_suffix(".json").exists()]
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(given.jobs, mp_context=spawn) as pool:
            list(pool.map(estimate, waiting))


if __name__ == "__main__":
    main()
