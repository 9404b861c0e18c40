"""Mutation testing: one small change to the code at a time, and whether the tests notice.

    python -m benchmarks.mutation.run [--sample 200] [--seed 0] [--out benchmarks/mutants.json]

Once, every fast test of the rooms runs by itself, and which functions it calls is kept in build/. Then a sample of all
changes is drawn. Each runs in a process of its own, forked after the heavy imports: the tests that call the changed
function, quickest first, until one fails. Survivors are written with the reasons that the file already has for them.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from importlib.abc import MetaPathFinder
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path

import numpy as np

from .by_hand import MISTAKES, Mistake
from .changes import Change, changed, described, places_of

ROOT = Path(__file__).parents[2]
ROOMS = ("linear_system", "estimation", "paper")

#: Tests of properties, of processes and of data that only must be refused take long and rarely see one line.
LEFT_OUT = ("fuzz", "bad_input", "interrupt", "memory", "precision", "high_dimension", "invariance")

#: Seconds (of CPU) that a test may take to be among those asked, that all tests of one change may take, and after
#: which it counts as an endless loop.
SLOW, ENOUGH, ENDLESS = 5.0, 12.0, 60

#: What is imported before the fork cannot have its asserts rewritten, and need not.
QUIET = ("-W", "ignore::pytest.PytestAssertRewriteWarning")

#: Imported before the fork; none of them starts a thread that a fork would lose.
HEAVY = "numpy scipy.stats scipy.optimize jax equinox optax jaxtyping hypothesis pytest xarray pandas rich.progress"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sample", type=int, default=200)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "mutants.json")
    given = options.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    warnings.filterwarnings("ignore", message=".*fork.*")
    for name in HEAVY.split():
        __import__(name)
    calls = _calls()
    sources = {str(p.relative_to(ROOT)): p.read_text() for room in ROOMS for p in _files(room)}
    everything = [(path, index) for path, text in sources.items() for index in range(len(places_of(text)))]
    chosen = np.random.default_rng(given.seed).permutation(len(everything))[: given.sample]
    by_hand = {mistake.what: _by_hand(mistake, sources[mistake.path], calls) for mistake in MISTAKES}
    print(json.dumps(by_hand, indent=1), flush=True)
    outcomes = []
    for count, (path, index) in enumerate((everything[i] for i in sorted(chosen)), 1):
        change = described(path, sources[path], index)
        outcomes.append((change, _outcome(path, change.where, changed(sources[path], index), calls)))
        print(f"{count}/{len(chosen)} {outcomes[-1][1]:8} {path}:{change.line} {change.after}", flush=True)
    _write(given, len(everything), by_hand, outcomes)


def _files(room: str) -> list[Path]:
    return sorted((ROOT / "src" / "vvcv" / room).rglob("*.py"))


def _calls() -> dict[str, dict]:
    """For every test its seconds and the functions of the rooms that it calls, measured once and kept."""
    kept = ROOT / "build" / "mutants_calls.json"
    if not kept.is_file():
        kept.parent.mkdir(exist_ok=True)
        folders = [str(ROOT / "tests" / room) for room in ROOMS] + [str(ROOT / "src" / "vvcv" / room) for room in ROOMS]
        left = [f"--ignore-glob=*{word}*" for word in LEFT_OUT]
        _in_fork(lambda: _pytest([*folders, *left, "-m", "not slow"], _Recorder(kept)))
    return json.loads(kept.read_text())


def _by_hand(mistake: Mistake, source: str, calls: dict[str, dict]) -> str:
    assert source.count(mistake.before) >= 1, f"{mistake.path} no longer says {mistake.before!r}"
    tree = ast.parse(source.replace(mistake.before, mistake.after, 1))
    return _outcome(mistake.path, mistake.where, tree, calls)


def _outcome(path: str, where: str, tree: ast.Module, calls: dict[str, dict]) -> str:
    asked, seconds = [], 0.0
    for test in _tests_of(path, where, calls):
        seconds += calls[test]["seconds"]
        if asked and seconds > ENOUGH:
            break
        asked.append(test)
    if not asked:
        return "untested"

    def run() -> int:
        resource.setrlimit(resource.RLIMIT_CPU, (ENDLESS, ENDLESS))
        sys.meta_path.insert(0, _Changed(path, tree))
        return _pytest(["-x", *asked])

    return "survived" if _in_fork(run) == 0 else "killed"


def _tests_of(path: str, where: str, calls: dict[str, dict]) -> list[str]:
    """Tests that call the function, or one around it, or else any of its file; quickest first."""
    parts = where.removesuffix(".__init__").split(".")
    for depth in range(len(parts), -1, -1):
        name = f"{path}:{'.'.join(parts[:depth])}".removesuffix(".<locals>")
        found = [test for test in calls if any(call.startswith(name) for call in calls[test]["calls"])]
        if found:
            return sorted(found, key=lambda test: calls[test]["seconds"])
    return []


def _in_fork(work) -> int:
    """The exit status of a function that runs in a process of its own; 1 where it was killed."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = work()
        except BaseException:  # a change may break anything; its process must end all the same
            traceback.print_exc()
        os._exit(status)
    status = os.waitpid(child, 0)[1]
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1


def _pytest(arguments: list[str], *plugins) -> int:
    import pytest

    os.chdir(ROOT)
    log = os.open(ROOT / "build" / "mutants.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    return int(
        pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *QUIET, *arguments], plugins=list(plugins))
    )


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


class _Recorder:
    """A pytest plugin that writes down what every test calls and how long it takes."""

    def __init__(self, out: Path) -> None:
        self.out, self.tests = out, {}
        self.inside = tuple(str(ROOT / "src" / "vvcv" / room) for room in ROOMS)

    def pytest_runtest_protocol(self, item, nextitem):
        from _pytest.runner import runtestprotocol

        calls: set[tuple[str, str]] = set()

        def note(frame, event, argument):
            code = frame.f_code
            if code.co_filename.startswith(self.inside):
                calls.add((code.co_filename, code.co_qualname))

        def too_slow(number, frame):
            raise TimeoutError

        signal.signal(signal.SIGPROF, too_slow)
        signal.setitimer(signal.ITIMER_PROF, SLOW)
        began = time.process_time()
        sys.settrace(note)
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        sys.settrace(None)
        signal.setitimer(signal.ITIMER_PROF, 0)
        if all(report.passed for report in reports):
            names = sorted(f"{Path(file).relative_to(ROOT)}:{name}" for file, name in calls)
            self.tests[item.nodeid] = {"seconds": round(time.process_time() - began, 3), "calls": names}
        print(item.nodeid, [report.outcome for report in reports], flush=True)
        return True

    def pytest_sessionfinish(self):
        self.out.write_text(json.dumps(self.tests, indent=0))


def _write(given, possible: int, by_hand: dict[str, str], outcomes: list[tuple[Change, str]]) -> None:
    old = json.loads(given.out.read_text())["survivors"] if given.out.is_file() else []
    reasons = {(s["path"], s["before"], s["after"]): s["reason"] for s in old}
    lived = [(change, outcome) for change, outcome in outcomes if outcome != "killed"]
    rooms = {room: [outcome for change, outcome in outcomes if f"/{room}/" in change.path] for room in ROOMS}
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
            for c, outcome in lived
        ],
    }
    given.out.write_text(json.dumps(record, indent=1) + "\n")
    print(f"{record['killed']} of {record['tried']} killed; {len(lived)} survivors in {given.out}")


if __name__ == "__main__":
    main()
