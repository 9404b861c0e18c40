"""What is recorded: errors and seconds of `results/`, the paper's numbers, and the JSON files beside this one.

Figures, tables of the documentation and the table of the README read their numbers here and nowhere else.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

ROOT = Path(__file__).parents[1]


def benchmark(name: str) -> dict[str, Any]:
    """A recorded benchmark, such as "trust/suite"."""
    return json.loads((ROOT / "benchmarks" / f"{name}.json").read_text())


def table_rows(experiment: str) -> list[dict[str, str]]:
    """The rows of `results/EXPERIMENT/table.md` by the names of its columns; of the two `(se)`, that of `published`."""
    lines = (ROOT / "results" / experiment / "table.md").read_text().splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [dict(zip(table[0], row, strict=True)) for row in table[2:]]


def errors(experiment: str, method: str, **cell: Any) -> Float[np.ndarray, " R"]:
    """Errors of all replications of one method in one cell of an experiment, those without a number left out."""
    found = np.array([float(row["error"]) for row in _rows(experiment, "replications", method, cell)])
    if not found.size:
        raise ValueError(f"results/{experiment} holds no replication of {method!r} at {cell}. Run vvcv reproduce.")
    return found[np.isfinite(found)]


def seconds(experiment: str, method: str, **cell: Any) -> float:
    """Median seconds of a replication: the first of a process also compiles."""
    return float(np.median([float(row["seconds"]) for row in _rows(experiment, "seconds", method, cell)]))


def mean_and_error(found: Float[np.ndarray, " R"]) -> tuple[float, float]:
    """Mean over replications and its standard error."""
    return float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(len(found)))


def by_cell(experiment: str, method: str, column: str, **fixed: Any) -> Float[np.ndarray, "k 3"]:
    """Mean error and its standard error for every value of a column of the cells: rows (value, mean, error)."""
    groups: dict[str, list[float]] = defaultdict(list)
    for row in _rows(experiment, "replications", method, fixed):
        groups[row[column]].append(float(row["error"]))
    return np.array([[float(value), *mean_and_error(np.array(found))] for value, found in groups.items()])


def _rows(experiment: str, table: str, method: str, cell: dict[str, Any]) -> list[dict[str, str]]:
    with (ROOT / "results" / experiment / f"{table}.csv").open(newline="") as file:
        return [
            row
            for row in csv.DictReader(file)
            if row["method"] == method and all(row[name] == str(value) for name, value in cell.items())
        ]
