"""Mutation testing: one small change to the code at a time, and whether the tests notice.

    python -m benchmarks.mutation.run [--sample 200] [--seed 0] [--jobs 1] [--out benchmarks/mutants.json]

Once, every test of the rooms runs, and which functions it calls is kept in build/. Then a sample of all changes is
drawn. Each runs in a process of its own, forked after the heavy imports: the tests that call the changed function, the
most pointed first, until one fails. What was noticed is kept in build/ and not asked again when a run that was stopped
begins anew; `make mutants` begins from nothing. Survivors are written with the reasons that the file has for them.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import resource
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .by_hand import MISTAKES
from .calls import ROOMS, ROOT, Calls, calls_of_all_tests, ended, fork, pytest_of, tests_of
from .changes import Change, changed, described, places_of

#: Seconds (of CPU, as they were written down) that all tests of one change may take, how many they are at most, and
#: seconds after which a change counts as an endless loop.
ENOUGH, MOST, ENDLESS = 60.0, 100, 300

#: Imported before the fork; none of them starts a thread that a fork would lose.
HEAVY = "numpy scipy.stats scipy.optimize jax equinox optax jaxtyping hypothesis pytest xarray pandas rich.progress"


class Trial(NamedTuple):
    """A changed file: its name among the logs, its path, the function that changed, and its tree."""

    name: str
    path: str
    where: str
    tree: ast.Module


def main() -> None:
    given = _options()
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    warnings.filterwarnings("ignore", message=".*fork.*")
    for name in HEAVY.split():
        __import__(name)
    calls = calls_of_all_tests(ROOT / "build" / "mutants_calls.json")
    sources = {str(p.relative_to(ROOT)): p.read_text() for room in ROOMS for p in _files(room)}
    everything = [(path, index) for path, text in sources.items() for index in range(len(places_of(text)))]
    chosen = np.random.default_rng(given.seed).permutation(len(everything))[: given.sample]
    changes = [described(path, sources[path], index) for path, index in (everything[i] for i in chosen)]
    trials = [Trial(f"{n:03}", c.path, c.where, changed(sources[c.path], c.index)) for n, c in enumerate(changes)]
    by_hand = {}
    for what, outcome in _outcomes(list(_by_hand(sources)), calls, given.jobs):
        by_hand[what] = outcome
        print(f"{outcome:8} {what}", flush=True)
    outcomes = {}
    for name, outcome in _outcomes(trials, calls, given.jobs):
        change = changes[int(name)]
        outcomes[change] = outcome
        print(
            f"{len(outcomes)}/{len(trials)} {outcome:8} {name} {change.path}:{change.line} {change.after}", flush=True
        )
        _write(given, len(everything), by_hand, outcomes)  # a run that is stopped leaves what it has


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sample", type=int, default=200)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "mutants.json")
    return options.parse_args()


def _files(room: str) -> list[Path]:
    return sorted((ROOT / "src" / "vvcv" / room).rglob("*.py"))


def _by_hand(sources: dict[str, str]) -> Iterator[Trial]:
    for mistake in MISTAKES:
        source = sources[mistake.path]
        assert mistake.before in source, f"{mistake.path} no longer says {mistake.before!r}"
        tree = ast.parse(source.replace(mistake.before, mistake.after, 1))
        yield Trial(mistake.what, mistake.path, mistake.where, tree)


def _outcomes(trials: list[Trial], calls: Calls, jobs: int) -> Iterator[tuple[str, str]]:
    """The name and the outcome of every trial, as they end; so many run at a time."""
    kept = ROOT / "build" / "mutants_killed"
    kept.mkdir(parents=True, exist_ok=True)
    waiting, running = list(trials), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            trial = waiting.pop(0)
            tests = _asked(trial, calls)
            mark = kept / hashlib.sha256((trial.path + ast.dump(trial.tree)).encode()).hexdigest()
            if mark.exists() or not tests:
                yield trial.name, "killed" if tests else "untested"
            else:
                running[fork(lambda trial=trial, tests=tests: _run(trial, tests))] = trial, mark  # type: ignore[misc]
        if running:
            child = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT).si_pid
            (trial, mark), status = running.pop(child), ended(child)
            if status:
                mark.touch()
            yield trial.name, "killed" if status else "survived"


def _asked(trial: Trial, calls: Calls) -> list[str]:
    """The tests of a change that fit in the time there is, and one at least."""
    tests = tests_of(trial.path, trial.where, calls)[:MOST]
    seconds = np.cumsum([calls[test]["seconds"] for test in tests])
    return tests[: max(1, int(np.sum(seconds <= ENOUGH)))]


def _run(trial: Trial, tests: list[str]) -> int:
    resource.setrlimit(resource.RLIMIT_CPU, (ENDLESS, ENDLESS))
    finder = _Changed(trial.path, trial.tree)
    sys.meta_path.insert(0, finder)
    import_module(finder.name)  # before pytest, which would take a file with doctests from the disk
    return pytest_of(["-x", *tests], trial.name)


class _Changed(MetaPathFinder):
    """Finds the changed file in place of the one on disk."""

    def __init__(self, path: str, tree: ast.Module) -> None:
        self.path, self.code = ROOT / path, compile(tree, ROOT / path, "exec")
        self.name = ".".join(Path(path).relative_to("src").with_suffix("").parts).removesuffix(".__init__")

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.name:
            return None
        loader = SourceFileLoader(fullname, str(self.path))
        loader.get_code = lambda _: self.code  # type: ignore[method-assign]
        return spec_from_file_location(fullname, self.path, loader=loader)


def _write(given: argparse.Namespace, possible: int, by_hand: dict[str, str], outcomes: dict[Change, str]) -> None:
    old = json.loads(given.out.read_text()) if given.out.is_file() else {}
    reasons = {(s["path"], s["before"], s["after"]): s["reason"] for s in old.get("survivors", [])}
    lived = {change: outcome for change, outcome in outcomes.items() if outcome != "killed"}
    rooms = {room: [outcome for change, outcome in outcomes.items() if f"/{room}/" in change.path] for room in ROOMS}
    record = {
        "command": f"python -m benchmarks.mutation.run --sample {given.sample} --seed {given.seed}",
        "possible": possible,
        "tried": len(outcomes),
        "killed": len(outcomes) - len(lived),
        "killed_of_room": {room: f"{found.count('killed')} of {len(found)}" for room, found in rooms.items()},
        "by_hand": by_hand,
        "survivors": [
            {"path": c.path, "line": c.line, "before": c.before, "after": c.after, "outcome": outcome}
            | {"reason": reasons.get((c.path, c.before, c.after), "")}
            for c, outcome in lived.items()
        ],
    } | {name: old[name] for name in ("other_samples",) if name in old}
    given.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
