"""Two versions of the library on the same data: errors and interval scores of one relative to the other's.

    python benchmarks/trust/earlier.py export FOLDER [--cases PART ...] [--replications 8] [--first-seed 50000]
    PYTHONPATH=CHECKOUT/src python benchmarks/trust/earlier.py estimate FOLDER --version NAME [--jobs 2] [--seconds S]
    python benchmarks/trust/earlier.py compare FOLDER BEFORE AFTER [--out benchmarks/trust/earlier.json]

The problems of `accuracy.py`, `transfer.py`, `problems.py` and `sharpness.py`. Data travel as arrays, since an earlier
version may lack what draws them: `estimate` imports nothing of this folder, and asks of the library only `Task`,
`Tasks` and `estimate`. Errors are root mean squares over the seeds that both versions answered, and geometric means of
their ratios over problems. Bars: errors at most 1.15 times, scores of smooth problems at most .7 times the earlier's.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

DEMO = "demo"
WHAT = ("points", "scores", "values")


def problems() -> dict:
    """All problems by name: how data are drawn, the exact means, and the tasks whose answers count."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    import sharpness
    from benchmarks import accuracy, transfer

    import problems as trust

    found = {name: (p.draw, p.exact, None) for name, p in trust.problems().items()}
    found |= {name: (p.draw, p.exact, [1] if name == DEMO else None) for name, p in sharpness.cases().items()}
    for name, draw, loss, *_ in accuracy._problems(False):
        counted = [1] if loss is accuracy.of_high_fidelity else None
        found[name] = (lambda seed, draw=draw: draw(seed)[0], draw(0)[1], counted)
    for name in ("related", "unrelated"):
        draw = partial(transfer.tasks, cheap=getattr(transfer, name))
        found[f"transfer, {name}"] = (draw, np.array([np.nan, transfer.exact_dear()]), [1])
    return found


def export(folder: Path, seeds: range, parts: list[str]) -> None:
    """One file for each problem and seed: points, scores and values of every task, the exact means, the method."""
    folder.mkdir(parents=True, exist_ok=True)
    for k, (name, (draw, exact, counted)) in enumerate(problems().items()):
        if parts and not any(part in name for part in parts):
            continue
        for seed in seeds:
            tasks = draw(seed)
            arrays = {f"{what}{t}": getattr(task, what) for t, task in enumerate(tasks) for what in WHAT}
            arrays |= {f"chains{t}": np.array(task.chains or (), int) for t, task in enumerate(tasks)}
            about = {"case": name, "seed": seed, "method": "vv" if name == DEMO else "auto", "tasks": len(tasks)}
            about["counted"] = list(range(len(tasks))) if counted is None else counted
            np.savez(folder / f"{seed}_{k:02}.npz", about=json.dumps(about), exact=exact, **arrays)


def estimate(version: str, deadline: float, path: Path) -> None:
    """The answer of whatever version is imported, beside the data; a failure is one, too."""
    if time.time() > deadline:
        return
    import vvcv

    data = np.load(path)
    about, exact = json.loads(str(data["about"])), data["exact"]
    tasks = vvcv.Tasks([vvcv.Task(*_with_chains(data, t)) for t in range(about["tasks"])])
    kept = {key: about[key] for key in ("case", "seed", "method")}
    started = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = vvcv.estimate(tasks, about["method"])
    except Exception as error:  # any failure is a finding
        kept["failed"] = f"{type(error).__name__}: {error}"
    else:
        low, high = found.interval(0.95)
        plain = found.monte_carlo
        line = {"error": found.mean - exact, "std_error": found.std_error, "low": low - exact, "high": high - exact}
        line |= {"plain": plain.mean - exact, "plain_std_error": plain.std_error}
        kept |= {key: [float(x[t]) for t in about["counted"]] for key, x in line.items()}
        kept |= {"alarms": [], "rungs": [about["method"]] * len(about["counted"])}
    kept["seconds"] = time.perf_counter() - started
    path.with_suffix(f".{version}.json").write_text(json.dumps(kept))


def _with_chains(data: dict, t: int) -> list[np.ndarray]:
    """Points, scores and values of a task, in the shape of its chains if it has any."""
    chains = tuple(data[f"chains{t}"])
    arrays = [data[f"{what}{t}"] for what in WHAT]
    return [array.reshape(*chains, *array.shape[1:]) for array in arrays] if chains else arrays


def compare(folder: Path, before: str, after: str) -> dict:
    """Figures of both versions for every problem on the seeds that both answered, and their ratios."""
    from study import figures

    lines = {version: _answers(folder, version) for version in (before, after)}
    failed = {
        version: sorted(key for key, line in found.items() if "failed" in line) for version, found in lines.items()
    }
    both = [key for key in lines[before] if key in lines[after] and not any(key in keys for keys in failed.values())]
    rows = {}
    for name in dict.fromkeys(case for case, _ in both):
        old, new = (figures([found[key] for key in both if key[0] == name]) for found in lines.values())
        rows[name] = {
            "replications": new["replications"],
            "error over earlier": new["over plain"] / old["over plain"],
            "score over earlier": new["interval score"] / old["interval score"],
            "seconds over earlier": new["seconds"] / old["seconds"],
            **{f"{key}, {name}": each[key] for name, each in ((before, old), (after, new)) for key in KEPT},
        }
    seeds = sorted({seed for _, seed in both})
    return {"seeds": [seeds[0], seeds[-1]], "rows": rows, "failed": failed, "together": _together(rows)}


KEPT = ("over plain", "coverage", "interval score")


def _answers(folder: Path, version: str) -> dict[tuple[str, int], dict]:
    lines = [json.loads(path.read_text()) for path in sorted(folder.glob(f"*.{version}.json"))]
    return {(line["case"], line["seed"]): line for line in lines}


def _together(rows: dict[str, dict]) -> dict[str, float]:
    """Geometric means over all problems, and of scores over the smooth ones their mean."""
    from sharpness import cases

    errors, seconds = (
        float(np.exp(np.mean([np.log(row[key]) for row in rows.values()])))
        for key in ("error over earlier", "seconds over earlier")
    )
    scores = [row["score over earlier"] for name, row in rows.items() if name in cases() and name != DEMO]
    return {"errors": errors, "mean score, smooth": float(np.mean(scores)), "seconds": seconds}


def main() -> None:
    """One of the three steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("export", "estimate", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("versions", nargs="*")
    parser.add_argument("--cases", nargs="*", default=[], help="parts of names; all problems by default")
    parser.add_argument("--replications", type=int, default=8)
    parser.add_argument("--first-seed", type=int, default=50000)
    parser.add_argument("--version", default="now", help="under which answers are kept")
    parser.add_argument("--seconds", type=float, default=np.inf, help="start no new estimate after so long")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    if given.step == "export":
        export(given.folder, range(given.first_seed, given.first_seed + given.replications), given.cases)
    elif given.step == "compare":
        _compare_and_record(given)
    else:
        os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        paths = sorted(given.folder.glob("*.npz"))
        waiting = [path for path in paths if not path.with_suffix(f".{given.version}.json").exists()]
        one = partial(estimate, given.version, time.time() + given.seconds)
        with ProcessPoolExecutor(given.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            list(pool.map(one, waiting))


def _compare_and_record(given: argparse.Namespace) -> None:
    from study import Column, show

    found = compare(given.folder, *given.versions)
    ratios = ("error over earlier", "score over earlier", "seconds over earlier")
    show("versions", found["rows"], [Column("runs", "replications", "{:d}"), *(Column(r, r, "{:.2f}") for r in ratios)])
    print(json.dumps(found["together"]), {version: len(keys) for version, keys in found["failed"].items()})
    if given.out:
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
