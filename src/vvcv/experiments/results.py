"""Finished replications of an experiment, and the files made from them: CSV, seconds, table, figure."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ..runtime.disk import write_whole
from .experiment import Cell, Experiment, Method

Records = dict[tuple[str, int], dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Results:
    """All stored replications, method by method."""

    experiment: Experiment
    folder: Path
    settings: dict[str, Any]
    cells: tuple[Cell, ...]
    records: dict[str, Records]

    @cached_property
    def methods(self) -> dict[str, Method]:
        """The methods that have replications, in the order of the table."""
        offered = self.experiment.methods(self.settings["quick"])
        return {name: method for name, method in offered.items() if name in self.records}

    def rows(self, method: str, cell: Cell) -> list[dict[str, Any]]:
        """Records of one cell in order of replication."""
        mine = self.records.get(method, {})
        return [mine[key] for key in sorted(mine, key=lambda key: key[1]) if key[0] == str(cell)]

    def answers(self, method: str, cell: Cell) -> Float[np.ndarray, "R k"]:
        """Answers of one cell, one row for each replication."""
        return np.array([row["answer"] for row in self.rows(method, cell)])

    def errors(self, method: str, cell: Cell) -> Float[np.ndarray, " R"]:
        """Errors of one cell, in the experiment's metric, of the replications that have a number."""
        rows = self.rows(method, cell)
        errors = np.array([self.experiment.error(cell, np.array(row["answer"])) for row in rows])
        return errors[~np.isnan(errors)]

    def seconds(self, method: str, cell: Cell) -> float:
        """Median seconds of a replication: the first one of a process also compiles."""
        return float(np.median([row["seconds"] for row in self.rows(method, cell)]))

    def fastest(self, method: str, cell: Cell) -> float:
        """Seconds of the fastest replication, which other work on the machine has disturbed least."""
        return min(row["seconds"] for row in self.rows(method, cell))


def write_results(results: Results) -> None:
    """Write replications.csv, seconds.csv, table.md, figure.png and figure.svg into the experiment's folder."""
    folder = results.folder
    write_whole(folder / "replications.csv", replications_csv(results))
    write_whole(folder / "seconds.csv", seconds_csv(results))
    write_whole(folder / "table.md", results.experiment.table(results))
    _save_figure(results.experiment.figure(results), folder)


def replications_csv(results: Results) -> str:
    """One line for each replication, sorted, without anything that a second run could change."""
    names = max((results.experiment.columns(cell) for cell in results.cells), key=len)
    return _csv(
        [*_cell_names(results), "method", "replication", "seed", *names, "error"],
        [
            [
                *(value for _, value in cell.values),
                method,
                row["replication"],
                row["seed"],
                *(repr(value) for value in row["answer"]),
                *[""] * (len(names) - len(row["answer"])),
                repr(results.experiment.error(cell, np.array(row["answer"]))),
            ]
            for cell in results.cells
            for method in results.methods
            for row in results.rows(method, cell)
        ],
    )


def seconds_csv(results: Results) -> str:
    """Seconds of every replication, which do change from run to run."""
    return _csv(
        [*_cell_names(results), "method", "replication", "seconds"],
        [
            [*(value for _, value in cell.values), method, row["replication"], row["seconds"]]
            for cell in results.cells
            for method in results.methods
            for row in results.rows(method, cell)
        ],
    )


def _cell_names(results: Results) -> list[str]:
    return [name for name, _ in results.cells[0].values]


def _csv(header: list[str], rows: list[list[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()


def _save_figure(figure: Any, folder: Path) -> None:
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "vvcv"}):  # the same picture gives the same file
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            content = io.BytesIO()
            figure.savefig(content, format=kind, dpi=150, metadata=metadata)
            write_whole(folder / f"figure.{kind}", content.getvalue())
    figure.clear()
