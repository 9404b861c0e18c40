"""What the studies of this folder share: replications in processes, their figures, and a table with bars beside them.

A study names cases, and has a function `replicate(case, seed, methods)` that gives lines, one for each method. Errors
and interval ends in a line are relative to the exact means, one for each task:

    {"case", "seed", "method", "error", "std_error", "low", "high", "plain", "plain_std_error", "alarms", "rungs"}
"""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
import os
import platform
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import numpy as np
from replications import EXACT

import vvcv
from vvcv.report import simple_table

Lines = list[dict]
Replicate = Callable[[str, int, list[str]], Lines]

#: Coverage of 95 % intervals that is called honest.
HONEST = (0.90, 0.985)


class Column(NamedTuple):
    """A figure of the table: its title, its key, how it is printed, and the bars it has to stay between."""

    title: str
    key: str
    form: str = "{:.3g}"
    low: float = -np.inf
    high: float = np.inf


#: Columns of studies that ask for coverage and no harm.
NO_HARM = (
    Column("runs", "replications", "{:d}"),
    Column("covers", "coverage", "{:.0%}", low=0.85),
    Column("RMSE / plain", "over plain", "{:.3g}", high=1.05),
    Column("(se)", "over plain, standard error", "{:.2g}"),
    Column("bar / RMSE", "bar over error", "{:.2f}"),
    Column("largest z", "largest z", "{:.1f}"),
)


def options(doc: str, methods: Sequence[str] = ("auto",), first_seed: int = 50000) -> argparse.ArgumentParser:
    """The options all studies have; `--seconds` starts no new replication after so long and keeps what there is."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="*", default=[], help="parts of names; all cases by default")
    parser.add_argument("--methods", nargs="*", default=list(methods))
    parser.add_argument("--replications", type=int, default=50)
    parser.add_argument("--first-seed", type=int, default=first_seed)
    parser.add_argument("--seconds", type=float, default=np.inf)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=None)
    return parser


def chosen(names: Iterable[str], parts: Sequence[str]) -> list[str]:
    """Names that hold any of the parts, or all."""
    return [name for name in names if not parts or any(part in name for part in parts)]


def collect(replicate: Replicate, names: list[str], given: argparse.Namespace) -> Lines:
    """Lines of all cases, seed by seed, so that every case has as many replications as time allows."""
    for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[threads] = "1"  # one process for each core
    seeds = range(given.first_seed, given.first_seed + given.replications)
    started, lines = time.time(), []
    one = functools.partial(_until, started + given.seconds, replicate)
    spawn = multiprocessing.get_context("spawn")  # a forked process must not use JAX
    with ProcessPoolExecutor(given.jobs, mp_context=spawn) as pool:
        futures = [pool.submit(one, name, seed, given.methods) for seed in seeds for name in names]
        for done, future in enumerate(as_completed(futures), start=1):
            lines += future.result()
            if done % max(len(futures) // 20, 1) == 0:
                print(f"{done} of {len(futures)}, {time.time() - started:.0f} s", file=sys.stderr, flush=True)
    return lines


def _until(deadline: float, replicate: Replicate, name: str, seed: int, methods: list[str]) -> Lines:
    return [] if time.time() > deadline else replicate(name, seed, methods)


def measured(
    case: str, seed: int, tasks: vvcv.Tasks, exact: np.ndarray, methods: Sequence[str], check: bool = False
) -> Lines:
    """A line for each method on one data set; a method that cannot serve the data is left out."""
    settings: dict = {"refused": "skip"} if len(methods) > 1 else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimates = vvcv.compare(tasks, methods, check=check, **settings)
    return [{"case": case, "seed": seed, **_line(estimate, exact)} for estimate in estimates.values()]


def _line(estimate: vvcv.Estimate, exact: np.ndarray) -> dict:
    low, high = estimate.interval(0.95)
    return {
        "method": estimate.method,
        "error": (estimate.mean - exact).tolist(),
        "std_error": estimate.std_error.tolist(),
        "low": (low - exact).tolist(),
        "high": (high - exact).tolist(),
        "plain": (estimate.monte_carlo.mean - exact).tolist(),
        "plain_std_error": estimate.monte_carlo.std_error.tolist(),
        "alarms": loud(estimate.check or ()),
        "rungs": list(estimate.methods),
        "seconds": estimate.seconds,
    }


def only(lines: Lines, tasks: Sequence[int]) -> Lines:
    """The lines with these tasks alone."""
    per_task = ("error", "std_error", "low", "high", "plain", "plain_std_error", "rungs")
    return [line | {key: [line[key][t] for t in tasks] for key in per_task} for line in lines]


def loud(findings: Iterable) -> list[str]:
    """Codes of the findings that are warnings or errors."""
    return [finding.code for finding in findings if finding.severity in ("warning", "error")]


def grouped(lines: Lines) -> dict[tuple[str, str], Lines]:
    """Lines by case and method."""
    groups: dict[tuple[str, str], Lines] = defaultdict(list)
    for line in sorted(lines, key=lambda line: line["seed"]):
        groups[line["case"], line["method"]].append(line)
    return dict(groups)


def summarised(lines: Lines, cases: Iterable[str], methods: Sequence[str]) -> dict[str, dict]:
    """Figures of every case and method, in the order given; the method is named where there are several."""
    groups = grouped(lines)
    present = [(case, method) for case in cases for method in methods if (case, method) in groups]
    return {f"{c}: {m}" if len(methods) > 1 else c: figures(groups[c, m]) for c, m in present}


def figures(lines: Lines) -> dict:
    """Errors pooled over tasks in units of each task's plain average's, coverage, sharpness, gains, alarms."""
    error, bar, low, high, plain, plain_bar = (
        np.array([line[key] for line in lines])
        for key in ("error", "std_error", "low", "high", "plain", "plain_std_error")
    )
    unit = np.sqrt(np.mean(plain**2, axis=0))
    squared = np.mean((error / unit) ** 2, axis=1)
    slack = EXACT * unit  # an exact answer's interval is as narrow as rounding
    covered = (low <= slack) & (high >= -slack)
    rmse = np.maximum(np.sqrt(np.mean(error**2, axis=0)), slack)
    promised = np.median((plain_bar / np.maximum(bar, slack)) ** 2, axis=0)
    missed = np.maximum(low, 0) + np.maximum(-high, 0)
    return {
        "replications": len(lines),
        "tasks": error.shape[1],
        "over plain": float(np.sqrt(squared.mean())),
        "over plain, standard error": float(np.std(squared) / np.sqrt(len(lines)) / (2 * np.sqrt(squared.mean()))),
        "worst task over plain": float(np.max(rmse / unit)),
        "gain": float(1 / max(np.sqrt(squared.mean()), EXACT)),
        "coverage": float(covered.mean()),
        "worst task's coverage": float(covered.mean(axis=0).min()),
        "largest z": float(np.max(np.abs(error) / np.maximum(bar, slack))),
        "plain coverage": float(np.mean(np.abs(plain) <= 1.96 * plain_bar)),
        "bar over error": float(np.median(np.median(np.maximum(bar, slack), axis=0) / rmse)),
        "promised over real gain": float(np.median(promised / (unit / rmse) ** 2)),
        "interval score": float(np.mean((high - low + 2 / 0.05 * missed) / unit)),
        "alarms": float(np.mean([bool(line["alarms"]) for line in lines])),
        "covered or alarmed": float(np.mean(covered | np.array([[bool(line["alarms"])] for line in lines]))),
        "rungs": _shares(lines),
        "seconds": float(np.mean([line["seconds"] for line in lines])),
    }


def _shares(lines: Lines) -> dict[str, float]:
    taken = [rung for line in lines for rung in line["rungs"]]
    return {rung: round(taken.count(rung) / len(taken), 3) for rung in sorted(set(taken))}


def show(title: str, rows: dict[str, dict], columns: Sequence[Column]) -> None:
    """Print the rows; the header names the bars, a star marks a figure beyond them."""
    header = [title, *(column.title + _bars(column) for column in columns)]
    print(simple_table(header, [[name, *(_cell(row.get(c.key), c) for c in columns)] for name, row in rows.items()]))
    print("* marks a figure beyond its bars", flush=True)


def run(doc: str, replicate: Replicate, cases: Iterable[str], columns: Sequence[Column], first_seed: int) -> None:
    """A study of one table: what the command line asks for, run, printed and recorded."""
    given = options(doc, first_seed=first_seed).parse_args()
    names = chosen(cases, given.cases)
    rows = summarised(collect(replicate, names, given), names, given.methods)
    show("case", rows, columns)
    record(given, rows=rows, together=shown_together(rows))


def shown_together(rows: dict[str, dict]) -> dict[str, float]:
    """Coverage and errors of all rows of a study, printed too."""
    coverage, errors = ([row[name] for row in rows.values()] for name in ("coverage", "over plain"))
    together = {
        "coverage": float(np.mean(coverage)),
        "least coverage": min(coverage),
        "largest error over plain": max(errors),
        "error over plain": float(np.exp(np.mean(np.log(errors)))),
    }
    print({key: round(value, 3) for key, value in together.items()})
    return together


def held(value: float, column: Column) -> bool:
    """Whether a figure is within the bars of its column."""
    return bool(column.low <= value <= column.high)


def record(given: argparse.Namespace, **parts: object) -> None:
    """Write the study as JSON, if a place was given."""
    if given.out is None:
        return
    kept = {name: value for name, value in vars(given).items() if name not in ("out", "jobs")}
    settings = {name: str(value) if isinstance(value, Path) else value for name, value in kept.items()}
    settings["seconds"] = None if np.isinf(given.seconds) else given.seconds
    given.out.parent.mkdir(parents=True, exist_ok=True)
    whole = {"settings": settings, "machine": platform.machine(), "vvcv": vvcv.__version__, "commit": commit(), **parts}
    given.out.write_text(json.dumps(whole, indent=1) + "\n")


def commit() -> str:
    """The code that is run: the last commit, and whether anything differs from it; nothing outside a clone."""
    call = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--exclude", "*"]
    return subprocess.run(call, capture_output=True, text=True, check=False).stdout.strip()


def _bars(column: Column) -> str:
    low, high = (column.form.format(end) if np.isfinite(end) else "" for end in (column.low, column.high))
    if low and high:
        return f" ({low} to {high})"
    return f" (>= {low})" if low else f" (<= {high})" if high else ""


def _cell(value: object, column: Column) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return column.form.format(value) + ("" if held(float(value), column) else " *")  # type: ignore[arg-type]
