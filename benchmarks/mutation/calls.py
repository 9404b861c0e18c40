"""Which tests call which functions, written down once by running them all, and pytest in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[2]
ROOMS = ("linear_system", "estimation", "paper")

#: Tests of properties and of processes take long and rarely see one line.
LEFT_OUT = ("fuzz", "interrupt", "memory")

#: Seconds (of CPU) after which a test is cut short while its calls are written down.
SLOW = 5.0

#: What is imported before the fork cannot have its asserts rewritten, and need not.
QUIET = ("-W", "ignore::pytest.PytestAssertRewriteWarning")

#: For every test its seconds and the functions it calls.
Calls = dict[str, dict]


def calls_of_all_tests(kept: Path) -> Calls:
    """For every test of the rooms its seconds and the functions that it calls, measured once and kept."""
    if not kept.is_file():
        kept.parent.mkdir(exist_ok=True)
        folders = [str(ROOT / "tests" / room) for room in ROOMS] + [str(ROOT / "src" / "vvcv" / room) for room in ROOMS]
        left = [f"--ignore-glob=*{word}*" for word in LEFT_OUT]
        ended(fork(lambda: pytest_of([*folders, *left, "-m", "not slow"], "calls", _Recorder(kept))))
    return json.loads(kept.read_text())


def tests_of(path: str, where: str, calls: Calls) -> list[str]:
    """Tests that call the function, or one around it, or else any of its file; the most pointed first."""
    parts = where.split(".")
    for depth in range(len(parts), -1, -1):
        name = f"{path}:{'.'.join(parts[:depth])}".removesuffix(".<locals>")
        found = [test for test in calls if any(call.startswith(name) for call in calls[test]["calls"])]
        if found:
            return sorted(found, key=lambda test: (len(calls[test]["calls"]), calls[test]["seconds"]))
    return []


def fork(work: Callable[[], int]) -> int:
    """The number of a process that runs a function and ends with what it returns."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = work()
        except BaseException:  # a change may break anything; its process must end all the same
            traceback.print_exc()
        os._exit(status)
    return child


def ended(child: int) -> int:
    """The exit status of a process, 1 where it was killed."""
    status = os.waitpid(child, 0)[1]
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1


def pytest_of(arguments: list[str], log: str, *plugins: object) -> int:
    """The exit status of pytest, what it says going to build/mutants/LOG.log."""
    import pytest

    os.chdir(ROOT)
    (ROOT / "build" / "mutants").mkdir(parents=True, exist_ok=True)
    said = os.open(ROOT / "build" / "mutants" / f"{log}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    return int(
        pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *QUIET, *arguments], plugins=list(plugins))
    )


class _Recorder:
    """A pytest plugin that writes down what every test calls and how long it takes."""

    def __init__(self, out: Path) -> None:
        self.out, self.tests = out, {}

    def pytest_runtest_protocol(self, item, nextitem):
        from _pytest.runner import runtestprotocol

        calls: set[str] = set()
        cut_short = []

        def too_slow(number, frame):
            cut_short.append(True)
            raise TimeoutError

        signal.signal(signal.SIGPROF, too_slow)
        signal.setitimer(signal.ITIMER_PROF, SLOW)
        began = time.process_time()
        sys.settrace(lambda frame, event, argument: calls.add(_name_of(frame)))
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        sys.settrace(None)
        signal.setitimer(signal.ITIMER_PROF, 0)
        if cut_short or all(report.passed for report in reports):  # a test that was cut short is slow, and asked last
            inside = tuple(f"src/vvcv/{room}/" for room in ROOMS)
            names = sorted(name for name in calls if name.startswith(inside))
            self.tests[item.nodeid] = {"seconds": round(time.process_time() - began, 3), "calls": names}
        print(item.nodeid, [report.outcome for report in reports], flush=True)
        return True

    def pytest_sessionfinish(self):
        self.out.write_text(json.dumps(self.tests, indent=0))


def _name_of(frame: FrameType) -> str:
    """FILE:FUNCTION of a call; the `__init__` that a dataclass is given has no file, but its object has a class."""
    code = frame.f_code
    if code.co_filename == "<string>" and code.co_name == "__init__":
        made = type(frame.f_locals.get("self"))
        return f"src/{made.__module__.replace('.', '/')}.py:{made.__qualname__}.__init__"
    return f"{code.co_filename.removeprefix(f'{ROOT}/')}:{code.co_qualname}"
