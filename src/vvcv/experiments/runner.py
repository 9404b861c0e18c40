"""Runs an experiment, one block of replications after the other, and writes its CSV, table and figure.

Order of work: cell, then block of replications, then method, so that data are drawn once for all methods. Whatever the
journals hold is not computed again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from ..report import pyplot
from ..runtime.disk import write_whole
from ..runtime.progress import progress_bar
from .experiment import Cell, Experiment, Vector, answer, data_set, replication_seed
from .journal import Journal, mend, sole_writer
from .results import Results, write_results

#: The rows that a user's calls give, as against the paper's own methods.
GROUPS = ("paper", "ours")


@dataclass(frozen=True)
class Settings:
    """What a folder of results is bound to; resuming with other settings is refused."""

    experiment: str
    quick: bool
    replications: int
    seed: int


class Unit(NamedTuple):
    """Replications of one cell that a method computes together."""

    cell: Cell
    method: str
    replications: tuple[int, ...]


def reproduce(
    experiment: Experiment,
    out: Path,
    *,
    quick: bool = False,
    replications: int | None = None,
    seed: int = 0,
    methods: Sequence[str] | None = None,
    fresh: bool = False,
    progress: bool = True,
) -> Results:
    """Run or resume an experiment in `out/NAME`; `methods` names rows, or the groups "paper" and "ours".

    `fresh` discards what is stored for these methods first, for instance after their code has changed.
    """
    pyplot()  # its error comes before hours of work, not after them
    count = replications or (experiment.quick_replications if quick else experiment.replications)
    settings = Settings(experiment.name, quick, count, seed)
    folder = out / experiment.name
    chosen = choose_methods(experiment, quick, methods)
    with sole_writer(folder):
        _bind(folder, settings)
        for method in chosen:
            path = journal_path(folder, method)
            path.unlink(missing_ok=True) if fresh else mend(path)
        _work(experiment, settings, folder, chosen, progress)
        results = load_results(experiment, folder)
        write_results(results)
    return results


def replicate(
    experiment: Experiment,
    replication: int,
    *,
    quick: bool = False,
    seed: int = 0,
    methods: Sequence[str] | None = None,
) -> list[tuple[Cell, str, Vector, float]]:
    """One replication of every cell, without a file: cell, method, answer and error, as a whole run would have them.

    A method that runs several replications in one loop runs the block to which this one belongs.
    """
    if replication < 0:
        raise ValueError(f"Replications are counted from 0, but got {replication}.")
    found = []
    for cell in experiment.cells(quick):
        for method in choose_methods(experiment, quick, methods):
            block = experiment.methods(quick)[method].block
            first = replication - replication % block
            answers = answer(experiment, method, cell, seed, range(first, first + block), quick)
            vector = answers[replication - first]
            found.append((cell, method, vector, experiment.error(cell, vector)))
    return found


def choose_methods(experiment: Experiment, quick: bool, wanted: Sequence[str] | None) -> list[str]:
    """Names of methods from names and groups, in the order of the table; all of them for None."""
    offered = experiment.methods(quick)
    if wanted is None:
        return list(offered)
    groups = {group: {m for m in offered if offered[m].ours == (group == "ours")} for group in GROUPS}
    unknown = [name for name in wanted if name not in offered and name not in groups]
    if unknown:
        raise ValueError(f"--methods must name rows of {experiment.name!r}, {[*offered, *GROUPS]}; found {unknown}.")
    named = set().union(*(groups.get(name, {name}) for name in wanted))
    return [method for method in offered if method in named]


def journal_path(folder: Path, method: str) -> Path:
    """Where the replications of a method are kept."""
    return folder / "journal" / f"{method}.jsonl"


def load_results(experiment: Experiment, folder: Path) -> Results:
    """Everything that is stored in the folder of an experiment, of all methods."""
    settings = json.loads((folder / "settings.json").read_text())
    offered = experiment.methods(settings["quick"])
    cells = experiment.cells(settings["quick"])
    journals = {method: Journal(journal_path(folder, method)).records for method in offered}
    return Results(experiment, folder, settings, cells, {m: records for m, records in journals.items() if records})


def units(experiment: Experiment, settings: Settings, methods: Sequence[str]) -> Iterator[Unit]:
    """All work in order; blocks are whole even where they reach beyond the last replication wanted."""
    offered = experiment.methods(settings.quick)
    longest = max(offered[method].block for method in methods)
    for cell in experiment.cells(settings.quick):
        for begin in range(0, settings.replications, longest):
            end = min(begin + longest, settings.replications)
            for method in methods:
                block = offered[method].block
                for first in range(begin, end, block):
                    yield Unit(cell, method, tuple(range(first, first + block)))


def _work(experiment: Experiment, settings: Settings, folder: Path, methods: Sequence[str], progress: bool) -> None:
    journals = {method: Journal(journal_path(folder, method)) for method in methods}
    todo = [(unit, _wanted(unit, settings)) for unit in units(experiment, settings, methods)]
    with progress_bar(experiment.name, sum(len(wanted) for _, wanted in todo), shown=progress) as step:
        for unit, wanted in todo:
            journal = journals[unit.method]
            if any((str(unit.cell), r) not in journal.records for r in wanted):
                step(0, f"{unit.cell}, {unit.method}")
                journal.append(_records(experiment, settings, unit, wanted))
            step(len(wanted))


def _records(experiment: Experiment, settings: Settings, unit: Unit, wanted: Sequence[int]) -> list[dict]:
    for r in unit.replications:
        data_set(experiment, unit.cell, settings.seed, r)  # drawn before the clock starts, and kept
    began = time.perf_counter()
    answers = answer(experiment, unit.method, unit.cell, settings.seed, unit.replications, settings.quick)
    seconds = round((time.perf_counter() - began) / len(unit.replications), 4)
    return [
        {
            "cell": str(unit.cell),
            "replication": r,
            "seed": replication_seed(experiment.name, unit.cell, settings.seed, r),
            "answer": vector.tolist(),
            "seconds": seconds,
        }
        for r, vector in zip(unit.replications, answers, strict=True)
        if r in wanted
    ]


def _wanted(unit: Unit, settings: Settings) -> tuple[int, ...]:
    return tuple(r for r in unit.replications if r < settings.replications)


def _bind(folder: Path, settings: Settings) -> None:
    path = folder / "settings.json"
    if not path.is_file():
        write_whole(path, json.dumps(asdict(settings), indent=1) + "\n")
        return
    stored = json.loads(path.read_text())
    changed = [f"{k} = {v!r} (stored: {stored.get(k)!r})" for k, v in asdict(settings).items() if stored.get(k) != v]
    if changed:
        raise ValueError(
            f"{str(folder)!r} holds a run with other settings: {'; '.join(changed)}. Resume with the stored settings, "
            "or choose another --out."
        )
