"""Ctrl-C during a fit, and the end of the time it was given: heeded between evaluations, answered at once.

The fit runs beside the main thread, which waits: an interrupt inside a compilation could take the process with it, and
one inside a factorisation would wait for its end. Ctrl-C then is `KeyboardInterrupt` at once, or, where the user wants
it, the answer of those methods that are finished, within half a second; where none is, the fit itself ends at its next
evaluation with what it has. A fit that is left alone ends there, too.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

from ..runtime.clock import time_left
from ..runtime.threads import Outcome, like_the_caller, take_control

R = TypeVar("R")

#: Seconds between two looks at whether Ctrl-C was pressed, and those a fit has to end by itself when it was: no one
#: notices either, and most evaluations are over sooner.
WINK, GRACE = 0.02, 0.3


class AbandonedError(Exception):
    """Nobody waits for this fit any more."""


class Interruption:
    """Whether Ctrl-C was pressed, and whether fits should then end with what they have."""

    def __init__(self, keep_best: bool, caught: bool = False) -> None:
        self.pressed = False
        self.keep_best = keep_best
        self._caught = caught

    @property
    def stopped_early(self) -> bool:
        """Whether fits were asked to end with what they have."""
        return self.pressed and self.keep_best

    def heed(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed and the best so far is not wanted."""
        if self.pressed and not self.keep_best:
            raise KeyboardInterrupt

    def attend(self, work: Callable[[], R], best_so_far: Callable[[], R | None]) -> R:
        """The result of the work or, where Ctrl-C was pressed and it does not end soon, the best that is known."""
        if not self._caught:
            return work()
        outcomes: list[Outcome[R]] = []
        left_alone = threading.Event()

        @like_the_caller
        def run() -> None:
            _LEFT_ALONE.set(left_alone)
            take_control()
            outcomes.append(Outcome(work))

        worker = threading.Thread(target=copy_context().run, args=(run,))  # no daemon: exit waits for its end
        worker.start()
        try:
            while worker.is_alive() and not self.pressed:
                worker.join(WINK)
        except BaseException:  # of a program's own alarm, say
            left_alone.set()
            raise
        if not self.pressed:
            return outcomes[0].result()
        worker.join(GRACE if self.keep_best else 0.0)
        best = best_so_far() if self.keep_best and worker.is_alive() else None
        if best is None and self.keep_best:
            worker.join()
            return outcomes[0].result()
        left_alone.set()
        if best is None:
            raise KeyboardInterrupt
        return best


_CURRENT: ContextVar[Interruption | None] = ContextVar("interruption", default=None)
_LEFT_ALONE: ContextVar[threading.Event | None] = ContextVar("left_alone", default=None)


def stop_requested() -> bool:
    """Whether the fit that runs here should end with what it has; raises KeyboardInterrupt if it should just end."""
    current, left_alone = _CURRENT.get(), _LEFT_ALONE.get()
    if left_alone is not None and left_alone.is_set():
        raise AbandonedError
    if current is not None:
        current.heed()
    return time_left() <= 0 or (current is not None and current.stopped_early)


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
    before: Any = signal.getsignal(signal.SIGINT)
    usual = before is signal.default_int_handler or (keep_best and before is not None)
    handle = usual and threading.current_thread() is threading.main_thread()
    interruption = Interruption(keep_best, handle)

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
    if interruption.pressed and not keep_best:  # after the last evaluation
        raise KeyboardInterrupt


__all__ = ["AbandonedError", "Interruption", "interruptible", "stop_requested"]
