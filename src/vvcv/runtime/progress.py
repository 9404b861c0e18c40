"""A progress bar on standard error for people who wait: at a terminal, after a while, else nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Timer
from typing import TypeVar

T = TypeVar("T")

#: `step(count, word)`: so many more are done, and perhaps what comes next.
Step = Callable[..., None]


def _silent(count: int = 1, word: str = "") -> None:
    """Nobody watches."""


_STEP: ContextVar[Step] = ContextVar("step", default=_silent)

#: Seconds of patience: what is over sooner shows no bar.
PATIENCE = 2.0


@contextmanager
def progress_bar(what: str, total: int, shown: bool | None = None) -> Iterator[Step]:
    """A function to call as the work goes on; `shown` has the bar at once or never, not as patience and screen say.

    >>> with progress_bar("running models", 2) as step:
    ...     step(1, "cheap")
    """
    if not (sys.stderr.isatty() if shown is None else shown):
        yield _silent
        return
    bar = _bar()
    task = bar.add_task(what, total=total)
    timer = Timer(0.0 if shown else PATIENCE, bar.start)
    timer.daemon = True
    timer.start()

    def step(count: int = 1, word: str = "") -> None:
        bar.update(task, advance=count, description=f"{what}: {word}" if word else None)

    try:
        yield step
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


def tracked(items: Iterable[T], total: int, what: str, size: Callable[[T], int] = lambda _: 1) -> Iterator[T]:
    """The items one by one, with a bar counting their `size` up to `total`.

    >>> list(tracked(range(3), 3, "counting"))
    [0, 1, 2]
    """
    with progress_bar(what, total) as step:
        for item in items:
            yield item
            step(size(item))


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
    console = Console(stderr=True, force_terminal=True if sys.stderr.isatty() else None)
    # What the work prints stays where it is: the bar does not catch it.
    return Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
