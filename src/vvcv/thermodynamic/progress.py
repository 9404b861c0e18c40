"""A progress bar for the tuning of hyperparameters, where one was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .moments import EVALUATIONS, Tick


@contextmanager
def progress_of(shown: bool) -> Iterator[Tick]:
    """A function to call at each evaluation; two stages of at most `EVALUATIONS` each, more in several dimensions."""
    if not shown:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("tuning the control variate", total=2 * EVALUATIONS)
        yield lambda: bar.advance(task)
