"""A progress bar on standard error, for people who wait: at a terminal, and only after two seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

#: Seconds of patience: what is over sooner shows no bar.
PATIENCE = 2.0


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[str], None]]:
    """A function to call after each of `total` steps, with a word on what comes next.

    >>> with progress("running models", 2) as step:
    ...     step("cheap")
    """
    if not sys.stderr.isatty():
        yield lambda word: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # What a model prints stays where it is: the bar does not catch it.
    console = Console(stderr=True, force_terminal=True)
    bar = Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
    task = bar.add_task(what, total=total)
    timer = Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda word: bar.update(task, advance=1, description=f"{what}: {word}")
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
