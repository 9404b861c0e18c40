"""Threads: one BLAS thread where matrices are small or several fits run at once, and never more at work than cores.

Threads of BLAS wait for each other busily, and slow everything down where others share the machine. So systems of
hundreds of rows are worked on side by side, each with one thread, and only large ones get them all.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import copy_context
from functools import cache
from typing import Any, Generic, TypeVar

import threadpoolctl

from .device import small_work_on_the_host
from .precision import float64

R = TypeVar("R")

#: Rows up to which BLAS has one thread, and several systems are worked on at once.
SMALL_SYSTEM = 2048

#: Rows from which they are: with fewer most of the time is Python's, whose lock one thread has at a time. (Two threads
#: make 1.3, 1.8 and 2 times as many searches of 20, 60 and 150 rows as one; if they are not compiled .8, 1.1 and 1.9.)
WORTH_A_THREAD = 40

#: Threads at most: more find nothing to do, and wait for Python's lock. (x86, 16 cores, fastest of three: the borehole
#: in .84 s by one thread, .63, .59 and .56 by two to four, .60 and .62 by six and eight; 300 rows in .37, .30, .31,
#: .34, .38 and .35 s; 8 tasks of 60 points in .69, .54, .55, .57, .57 and .65 s.)
AT_ONCE = 4

#: By which the user limits threads, of this library too.
LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Outcome(Generic[R]):
    """What a call gave: its result, or the error it ended with."""

    def __init__(self, call: Callable[[], R]) -> None:
        self.error: BaseException | None = None
        try:
            self._value = call()
        except BaseException as error:  # raised again where the result is asked for
            self.error = error

    def result(self) -> R:
        """The result; raises the error where there is one."""
        if self.error is not None:
            raise self.error
        return self._value


def side_by_side(calls: Sequence[Callable[[], R]]) -> list[Outcome[R]]:
    """The outcomes of all calls, in their order, made by as many threads as there are idle cores, or by AT_ONCE.

    Calls may do the same in turn: whoever asks works itself, helped by those who have nothing else to do.

    >>> [outcome.result() for outcome in side_by_side([lambda: 1, lambda: 2])]
    [1, 2]
    """
    queue = _Queue(calls)
    with one_thread() if len(calls) > 1 and cores() > 1 else nullcontext(), _IDLE.known(queue):
        try:
            queue.work()
        finally:  # nobody is left behind at work
            queue.wait()
    return queue.done()


@contextmanager
def whenever_idle(call: Callable[[], R]) -> Iterator[Callable[[], R]]:
    """A block beside which a call is made by a core that is left idle, or else after it; then gives its result.

    >>> with whenever_idle(lambda: 1) as one:
    ...     two = 2
    >>> one() + two
    3
    """
    queue = _Queue([call])
    with one_thread() if cores() > 1 else nullcontext(), _IDLE.known(queue):
        try:
            yield lambda: queue.done()[0].result()
            queue.work()
        finally:
            queue.wait()


def worth_a_thread(rows: int) -> bool:
    """Whether systems of so many rows are worked on side by side.

    >>> worth_a_thread(20), worth_a_thread(300), worth_a_thread(4000)
    (False, True, False)
    """
    return WORTH_A_THREAD <= rows <= SMALL_SYSTEM


def like_the_caller(work: Callable[[], None]) -> Callable[[], None]:
    """The same work with JAX in float64 and small arrays on the host: a thread knows nothing of its caller's settings.

    >>> like_the_caller(lambda: None)()
    """

    @float64
    def settled() -> None:
        with small_work_on_the_host():
            work()

    return settled


def cores() -> int:
    """How many threads may be at work: the cores given to this process, or fewer where the user says so."""
    given = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = [int(os.environ[name]) for name in LIMITS if os.environ.get(name, "").isdigit()]
    return max(1, min([given, *wanted]))


def one_thread() -> AbstractContextManager:
    """A context in which BLAS uses one thread: where a search runs, which magnifies what several round differently.

    >>> with one_thread():
    ...     pass
    """
    return _BLAS.on_one_thread()


def threads_for(rows: int) -> AbstractContextManager:
    """A context in which BLAS uses one thread if the system is small, and whatever the user has set otherwise."""
    return one_thread() if rows <= SMALL_SYSTEM else nullcontext()


def take_control() -> None:
    """Let this thread say how many threads BLAS has, while the one that had the word waits for it.

    Of several threads threadpoolctl heeds, from its version 3.7 on, only the first that said something.
    """
    openblas: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(openblas, "clear_controlling_thread"):
        openblas.clear_controlling_thread(force=True)


class _Queue(Generic[R]):
    """Calls that wait for a thread, and the outcomes of those that had one."""

    def __init__(self, calls: Sequence[Callable[[], R]]) -> None:
        self._outcomes: list[Outcome[R] | None] = [None] * len(calls)
        self._waiting, self._helpers = deque(enumerate(calls)), list[threading.Thread]()
        self._lock, self._context, self._closed = threading.Lock(), copy_context(), False
        self.work = like_the_caller(self._work)

    def hire(self) -> None:
        """Put threads to work on what waits, each on a core that was idle, with the context variables of who asked."""
        with self._lock:
            for _ in range(0 if self._closed else _IDLE.take(len(self._waiting))):
                helper = threading.Thread(target=self._context.copy().run, args=(self._help,))
                try:
                    helper.start()
                except RuntimeError:  # the system has no more of them: those there are do
                    _IDLE.give_back(wanted=True)
                else:
                    self._helpers.append(helper)

    def wait(self) -> None:
        """Until the helpers are done, if any are left; the caller's own core is idle meanwhile."""
        with self._lock:
            self._closed = True
        if any(helper.is_alive() for helper in self._helpers):
            with _IDLE.waiting():
                for helper in self._helpers:
                    helper.join()

    def done(self) -> list[Outcome[R]]:
        """The outcomes of calls that were made, in their order."""
        return [outcome for outcome in self._outcomes if outcome is not None]

    def _work(self) -> None:
        with suppress(IndexError):  # nothing is waiting any more
            while True:
                mine, call = self._waiting.popleft()
                self.hire()
                _IDLE.offer()
                self._outcomes[mine] = Outcome(call)

    def _help(self) -> None:
        try:
            self.work()
        finally:
            _IDLE.give_back(wanted=self._closed)  # by who waits here


class _IdleCores:
    """Cores that no thread of this process works on, the caller's own not counted, and who could use them."""

    def __init__(self) -> None:
        self._busy, self._lock, self._queues = 0, threading.Lock(), list[_Queue]()

    def take(self, most: int) -> int:
        with self._lock:
            taken = max(0, min(most, min(cores(), AT_ONCE) - 1 - self._busy))
            self._busy += taken
            return taken

    def give_back(self, wanted: bool = False) -> None:
        """A core is idle: if it is not wanted back, it goes to whoever has calls waiting, the first who asked first."""
        with self._lock:
            self._busy -= 1
        if not wanted:
            self.offer()

    def offer(self) -> None:
        """Cores that are idle go to whoever has calls waiting."""
        with self._lock:
            queues = tuple(self._queues)
        for queue in queues:
            queue.hire()

    @contextmanager
    def known(self, queue: _Queue) -> Iterator[None]:
        """A block in which a queue is heard of by cores that become idle."""
        with self._lock:
            self._queues.append(queue)
        try:
            yield
        finally:
            with self._lock:
                self._queues.remove(queue)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A block in which the caller's own core is idle, too."""
        self.give_back()
        try:
            yield
        finally:
            with self._lock:
                self._busy += 1


_IDLE = _IdleCores()


class _Blas:
    """The threads of BLAS, of which most libraries have one number for the whole process."""

    def __init__(self) -> None:
        self._lock, self._inside, self._before = threading.Lock(), 0, list[int]()

    @contextmanager
    def on_one_thread(self) -> Iterator[None]:
        """A block with one; of several at once the first knows what the user has set, the last restores it."""
        libraries = _libraries()
        with self._heard():
            own = [library.num_threads for library in libraries]
            self._before = self._before if self._inside else own
            self._inside += 1
            for library in libraries:
                library.set_num_threads(1)
        try:
            yield
        finally:
            with self._heard():
                self._inside -= 1
                for library, mine, before in zip(libraries, own, self._before, strict=True):
                    if getattr(library, "threading_layer", None) == "openmp":  # a number for each thread
                        library.set_num_threads(mine)
                    elif not self._inside:
                        library.set_num_threads(before)

    @contextmanager
    def _heard(self) -> Iterator[None]:
        """A block in which this thread, and no other, says how many there are; afterwards anyone may."""
        with self._lock:
            take_control()
            yield
            take_control()


_BLAS = _Blas()


@cache
def _libraries() -> list[Any]:
    """The BLAS libraries that are loaded; looking for them takes milliseconds."""
    return threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers
