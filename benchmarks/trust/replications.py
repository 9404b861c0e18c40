"""Replications of the trust suite: where they are kept, and what they say against the limits we set ourselves."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from jaxtyping import Float

from problems import Problem
from vvcv.report import simple_table

#: Errors below this part of the plain average's count as none: what is left is rounding.
EXACT = 1e-6

#: `auto` against the plain average, on smooth problems, and against the best single rung.
HARM, SMOOTH_GAIN, REGRET = 1.05, 20.0, 1.25

#: Coverage of 95 % intervals: pooled, and on each problem on which the plain average's covers (on chains: covers less).
POOLED, EACH, PLAIN_COVERS, PLAIN_COVERS_ON_CHAINS = (0.90, 0.985), 0.87, 0.92, 0.85


class Store:
    """Lines of JSON, one for each problem, seed and method; a later line replaces an earlier one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[tuple[str, int, str], dict] = {}
        if path.exists():
            *whole, broken = path.read_text().split("\n")
            self._take(json.loads(line) for line in whole)
            if broken:  # a run was killed while it wrote
                path.write_text("".join(line + "\n" for line in whole))

    def add(self, lines: list[dict]) -> None:
        """Keep the lines, in memory and on disk."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        self._take(lines)

    def forget(self, methods: list[str], names: list[str], seeds: range) -> None:
        """Treat stored lines of these methods as missing."""
        for name, seed, method in list(self.lines):
            if method in methods and name in names and seed in seeds:
                del self.lines[name, seed, method]

    def missing(self, name: str, seed: int, methods: list[str]) -> list[str]:
        """Methods of which this replication lacks a line."""
        return [method for method in methods if (name, seed, method) not in self.lines]

    def methods(self) -> list[str]:
        """All methods of which anything is stored."""
        return sorted({method for _, _, method in self.lines})

    def _take(self, lines: Iterable[dict]) -> None:
        self.lines |= {(line["problem"], line["seed"], line["method"]): line for line in lines}


def complete(store: Store, name: str, seeds: range) -> dict[str, list[dict]]:
    """By method, its replications in the order of the seeds; methods that refused any data set are left out."""
    by_method: dict[str, list[dict]] = defaultdict(list)
    for seed in seeds:
        for method in store.methods():
            if (name, seed, method) in store.lines:
                by_method[method].append(store.lines[name, seed, method])
    return {method: lines for method, lines in by_method.items() if not any("refused" in line for line in lines)}


def summarise(problem: Problem, by_method: dict[str, list[dict]]) -> dict:
    """Pooled errors in units of the plain average's, coverage, and rungs taken, for each method."""
    if not by_method:
        return {}
    lines = max(by_method.values(), key=len)
    plain, bar = (np.array([line[key] for line in lines]) for key in ("plain", "plain_std_error"))
    unit = np.sqrt(np.mean((plain - problem.exact) ** 2, axis=0))
    row: dict = {"plain coverage": float(np.mean(np.abs(plain - problem.exact) <= 1.96 * bar)), "methods": {}}
    for method, replications in by_method.items():
        row["methods"][method] = _summary(problem, replications, unit)
    return row


def _summary(problem: Problem, lines: list[dict], unit: Float[np.ndarray, " T"]) -> dict:
    mean, low, high, bar = (np.array([line[key] for line in lines]) for key in ("mean", "low", "high", "std_error"))
    squared = np.mean(((mean - problem.exact) / unit) ** 2, axis=1)
    rmse = float(np.sqrt(squared.mean()))
    slack = EXACT * unit  # an exact rung's interval is as narrow as rounding
    return {
        "replications": len(lines),
        "rmse": rmse,
        "rmse error": float(np.std(squared) / np.sqrt(len(lines)) / (2 * max(rmse, 1e-300))),
        "coverage": float(np.mean((low - slack <= problem.exact) & (problem.exact <= high + slack))),
        "covered": int(np.sum((low - slack <= problem.exact) & (problem.exact <= high + slack))),
        "intervals": int(mean.size),
        "promised": float(np.sqrt(np.mean((bar / unit) ** 2))),
        "rungs": _shares(lines),
        "seconds": float(np.mean([line["seconds"] for line in lines])),
    }


def _shares(lines: list[dict]) -> dict[str, float]:
    taken = [rung for line in lines for rung in line["methods"]]
    return {rung: round(taken.count(rung) / len(taken), 3) for rung in sorted(set(taken))}


def limits(rows: dict[str, dict], problems: dict[str, Problem], method: str = "auto") -> dict:
    """Each limit on each problem: the figure and whether it holds."""
    verdict: dict = {"problems": {}}
    covered = intervals = 0
    for name, row in rows.items():
        found = row.get("methods", {}).get(method)
        if found is None:
            continue
        problem, error = problems[name], max(found["rmse"], EXACT)
        rungs = [max(s["rmse"], EXACT) for rung, s in row["methods"].items() if rung != method]
        enough = row["plain coverage"] >= (PLAIN_COVERS_ON_CHAINS if problem.chains else PLAIN_COVERS)
        regret = error / min(rungs) if rungs else float("nan")
        verdict["problems"][name] = {
            "against plain": [error, error <= HARM],
            "smooth": [1 / error, not problem.smooth or 1 / error >= SMOOTH_GAIN],
            "against best rung": [regret, not regret > REGRET],
            "coverage": [found["coverage"], found["coverage"] >= EACH or not enough],
        }
        covered, intervals = covered + found["covered"], intervals + found["intervals"]
    if intervals:
        verdict["pooled coverage"] = [covered / intervals, POOLED[0] <= covered / intervals <= POOLED[1]]
    return verdict


def print_table(rows: dict[str, dict], verdict: dict) -> None:
    """One line for each problem; a star marks a limit that does not hold."""
    header = ["problem", "runs", "auto / plain", "(se)", "best rung", "auto / best", "covers", "plain covers", "s"]
    lines = []
    for name, held in verdict["problems"].items():
        found, methods = rows[name]["methods"]["auto"], rows[name]["methods"]
        rungs = {rung: s["rmse"] for rung, s in methods.items() if rung != "auto"}
        best = min(rungs, key=lambda rung: rungs[rung], default="-")
        plain = min(held["against plain"], [held["against plain"][0], held["smooth"][1]], key=lambda pair: pair[1])
        lines.append(
            [
                name,
                str(found["replications"]),
                _mark(plain, "{:.3g}"),
                f"{found['rmse error']:.1g}",
                f"{best} {rungs.get(best, np.nan):.3g}",
                _mark(held["against best rung"], "{:.2f}"),
                _mark(held["coverage"], "{:.1%}"),
                f"{rows[name]['plain coverage']:.1%}",
                f"{found['seconds']:.1f}",
            ]
        )
    print(simple_table(header, lines))
    if "pooled coverage" in verdict:
        print("pooled coverage", _mark(verdict["pooled coverage"], "{:.1%}"), "   * marks a limit that does not hold")


def _mark(pair: list, form: str) -> str:
    return form.format(pair[0]) + ("" if pair[1] else " *")
