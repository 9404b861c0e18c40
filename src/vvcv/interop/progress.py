"""A progress bar on stderr for work that turns out to take long, and silence for the rest."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

#: Seconds of work before a bar appears.
PATIENCE = 2.0


def tracked(items: Iterable[T], total: int, what: str, size: Callable[[T], int] = lambda _: 1) -> Iterator[T]:
    """The items one by one, with a bar counting their `size` up to `total` if it takes long and a person watches.

    >>> list(tracked(range(3), 3, "counting"))
    [0, 1, 2]
    """
    started, done, bar = time.perf_counter(), 0, None
    try:
        for item in items:
            yield item
            done += size(item)
            if bar is None and time.perf_counter() - started > PATIENCE and done < total and sys.stderr.isatty():
                bar, line = _bar(total, what)
            if bar is not None:
                bar.update(line, completed=done)
    finally:
        if bar is not None:
            bar.stop()


def _bar(total: int, what: str):
    from rich.console import Console
    from rich.progress import Progress  # takes a tenth of a second

    bar = Progress(console=Console(stderr=True), transient=True)
    bar.start()
    return bar, bar.add_task(what, total=total)
