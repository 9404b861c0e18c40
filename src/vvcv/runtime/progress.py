"""Progress on standard error for people who wait: at a terminal a bar, after a while; elsewhere lines, if asked for.

There is one bar at a time: work that begins within other work takes its place, and gives it back.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from threading import Timer
from typing import Any, NamedTuple

#: `step(count, word)`: so many more are done, and perhaps what comes next.
Step = Callable[..., None]


def _silent(count: int = 1, word: str = "") -> None:
    """Nobody watches."""


_STEP: ContextVar[Step] = ContextVar("step", default=_silent)

#: Seconds of patience: what is over sooner shows no bar, and lines are so far apart.
PATIENCE = 2.0


class _Shown(NamedTuple):
    """What is shown, and the work on it that goes on."""

    bar: Any
    task: Any


_WISH: ContextVar[bool | None] = ContextVar("wish", default=None)
_SHOWN: ContextVar[_Shown | None] = ContextVar("shown", default=None)


def at_terminal() -> bool:
    """Whether a person sees standard error: a service has none, or another thing in its place."""
    try:
        return bool(sys.stderr.isatty())
    except (AttributeError, ValueError):  # none, something that only takes what is written, or closed
        return False


@contextmanager
def wished(shown: bool | None) -> Iterator[None]:
    """A block in which all work shows its progress, or none does, unless told otherwise."""
    token = _WISH.set(shown)
    try:
        yield
    finally:
        _WISH.reset(token)


@contextmanager
def progress_bar(what: str, total: int, shown: bool | None = None) -> Iterator[Step]:
    """A function to call as the work goes on; `shown` has the bar at once or never, not as patience and screen say.

    >>> with progress_bar("running models", 2) as step:
    ...     step(1, "cheap")
    """
    shown = _WISH.get() if shown is None else shown
    if not (at_terminal() if shown is None else shown):
        yield _silent
        return
    outer = _SHOWN.get()
    with nullcontext(outer.bar) if outer is not None else _begun(0.0 if shown else PATIENCE) as bar:
        if outer is not None:
            bar.update(outer.task, visible=False)
        task = bar.add_task(what, total=total)
        token = _SHOWN.set(_Shown(bar, task))

        def step(count: int = 1, word: str = "") -> None:
            bar.update(task, advance=count, description=f"{what}: {word}" if word else None)

        try:
            yield step
        finally:
            _SHOWN.reset(token)
            if outer is not None:
                bar.remove_task(task)
                bar.update(outer.task, visible=True)


@contextmanager
def _begun(patience: float) -> Iterator[Any]:
    """A bar, or lines where there is no terminal, that begin after so many seconds."""
    bar = _bar() if at_terminal() else _Lines()
    timer = Timer(patience, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield bar
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


@contextmanager
def ticking(step: Step) -> Iterator[None]:
    """A block in which `tick` and `announce` go to a bar."""
    token = _STEP.set(step)
    try:
        yield
    finally:
        _STEP.reset(token)


def tick(count: int = 1) -> None:
    """So many more steps of whatever bar is there are done."""
    _STEP.get()(count)


def announce(word: str) -> None:
    """Say on whatever bar is there what comes next.

    >>> announce("nobody watches")
    """
    _STEP.get()(0, word)


class _Lines:
    """What a bar of rich is told, in a line now and then: for files, and for notebooks and jobs without a terminal."""

    def __init__(self) -> None:
        self._tasks: dict[int, list[Any]] = {}
        self._last = -float("inf")

    def start(self) -> None:
        """There is nothing to prepare."""

    def stop(self) -> None:
        """Nor anything to take away."""

    def add_task(self, what: str, total: int) -> int:
        """Work begins, of which a line tells."""
        number = max(self._tasks, default=0) + 1
        self._tasks[number] = [what, 0, total]
        self._print(number)
        return number

    def update(self, number: int, advance: int = 0, description: str | None = None, visible: bool = True) -> None:
        """Work goes on: a line tells of it if the last one was some time ago."""
        task = self._tasks[number]
        task[0], task[1] = description or task[0], task[1] + advance
        if advance and time.monotonic() > self._last + PATIENCE:
            self._print(number)

    def remove_task(self, number: int) -> None:
        """Work has ended."""
        del self._tasks[number]

    def _print(self, number: int) -> None:
        self._last = time.monotonic()
        print("{}: {}/{}".format(*self._tasks[number]), file=sys.stderr, flush=True)


def _bar():
    from rich.console import Console  # takes a tenth of a second
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    times = TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *times)
    console = Console(stderr=True, force_terminal=True if at_terminal() else None)
    # What the work prints stays where it is: the bar does not catch it.
    return Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
