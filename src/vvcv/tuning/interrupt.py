"""Ctrl-C during a fit, heeded between evaluations: inside a compilation, an interrupt can take the process with it.

The fit then ends with `KeyboardInterrupt`, or, where the user wants it, with the best models found so far.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


class Interruption:
    """Whether Ctrl-C was pressed, and whether fits should then end with what they have."""

    def __init__(self, keep_best: bool) -> None:
        self.pressed = False
        self.keep_best = keep_best

    @property
    def stopped_early(self) -> bool:
        """Whether fits were asked to end with what they have."""
        return self.pressed and self.keep_best

    def heed(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed and the best so far is not wanted."""
        if self.pressed and not self.keep_best:
            raise KeyboardInterrupt


_CURRENT: ContextVar[Interruption | None] = ContextVar("interruption", default=None)


def stop_requested() -> bool:
    """Whether the fit that runs here should end with what it has; raises KeyboardInterrupt if it should just end."""
    current = _CURRENT.get()
    if current is None:
        return False
    current.heed()
    return current.stopped_early


@contextmanager
def interruptible(keep_best: bool) -> Iterator[Interruption]:
    """A block in which the first Ctrl-C waits for `stop_requested` to be asked; a second one interrupts at once.

    Python gives signals to its main thread only; elsewhere, and where a program handles Ctrl-C itself and does not
    ask for the best result, nothing is changed.

    >>> with interruptible(keep_best=True):
    ...     signal.raise_signal(signal.SIGINT)
    ...     stop_requested()
    True
    """
    interruption = Interruption(keep_best)
    before: Any = signal.getsignal(signal.SIGINT)
    usual = before is signal.default_int_handler or (keep_best and before is not None)
    handle = usual and threading.current_thread() is threading.main_thread()

    def first(number: int, frame: Any) -> None:
        interruption.pressed = True
        signal.signal(signal.SIGINT, before)

    token = _CURRENT.set(interruption)
    if handle:
        signal.signal(signal.SIGINT, first)
    try:
        yield interruption
    finally:
        _CURRENT.reset(token)
        if handle:
            signal.signal(signal.SIGINT, before)
    interruption.heed()  # pressed after the last evaluation


__all__ = ["Interruption", "interruptible", "stop_requested"]
