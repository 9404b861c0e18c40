"""Calls side by side: all of them, in order, on no more cores than there are; those that end early help the others."""

import threading
import time
from types import SimpleNamespace

import pytest

from vvcv.runtime import threads
from vvcv.runtime.once import cached_property
from vvcv.runtime.threads import side_by_side, whenever_idle


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: 2)
    monkeypatch.setattr(threads, "_IDLE", threads._IdleCores())


def at_work(calls):
    """The same calls, and the largest number of them that were at work at the same time."""
    lock, busy, most = threading.Lock(), [0], [0]

    def noted(call):
        with lock:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        try:
            return call()
        finally:
            with lock:
                busy[0] -= 1

    return [lambda call=call: noted(call) for call in calls], most


def test_outcomes_come_in_the_order_of_the_calls_errors_too(two_cores):
    outcomes = side_by_side([lambda: 1, lambda: 1 / 0, lambda: 3])
    assert [outcomes[0].result(), outcomes[2].result()] == [1, 3]
    with pytest.raises(ZeroDivisionError):
        outcomes[1].result()


def test_no_more_threads_are_at_work_than_cores_however_deep_calls_are_nested(two_cores):
    inner, most = at_work([lambda: time.sleep(0.01)] * 4)
    side_by_side([lambda: side_by_side(inner)] * 3)
    assert most[0] == 2
    assert threads._IDLE.take(5) == 1  # all cores but the caller's are idle again


def test_of_many_cores_no_more_are_at_work_than_share_a_lock_to_advantage(monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: 16)
    calls, most = at_work([lambda: time.sleep(0.02)] * 16)
    side_by_side(calls)
    assert most[0] == threads.AT_ONCE


def test_a_core_that_becomes_idle_helps_calls_that_are_under_way(two_cores):
    started, ended = threading.Event(), threading.Event()
    helpers = set()

    def long():
        started.wait(5.0)
        ended.wait(5.0)
        time.sleep(0.05)
        side_by_side([lambda: helpers.add(threading.get_ident()) or time.sleep(0.05)] * 2)

    def short():
        started.set()
        ended.set()

    side_by_side([long, short])
    assert len(helpers) == 2


def test_a_kept_attribute_of_one_object_waits_for_no_other():
    both = threading.Barrier(2, timeout=5.0)

    class Slow:
        @cached_property
        def answer(self):
            """Only if both are asked at the same time."""
            return both.wait() >= 0

    first, second = Slow(), Slow()
    helper = threading.Thread(target=lambda: second.answer)
    helper.start()
    assert first.answer
    helper.join()
    assert vars(second)["answer"] and first.answer
    assert Slow.answer.__doc__.startswith("Only")


def test_a_core_that_becomes_idle_helps_calls_that_wait_already(two_cores):
    waiting, ended, helpers = threading.Event(), threading.Event(), set()

    def first():
        helpers.add(threading.get_ident())
        waiting.set()
        ended.wait(5.0)
        time.sleep(0.05)

    def long():
        side_by_side([first, lambda: helpers.add(threading.get_ident())])

    def short():
        waiting.wait(5.0)
        threading.Timer(0.05, ended.set).start()  # when nobody asks for help any more

    side_by_side([long, short])
    assert len(helpers) == 2
    assert threads._IDLE.take(5) == 1


def test_a_call_for_idle_cores_is_made_beside_the_block_or_after_it(two_cores):
    beside, after = threading.Event(), threading.current_thread()
    with whenever_idle(threading.current_thread) as maker:
        pass
    assert maker() is after
    with whenever_idle(beside.set) as made:
        side_by_side([lambda: beside.wait(10), lambda: None])  # its second thread has nothing else to do
    assert beside.is_set() and made() is None


def test_an_error_leaves_no_call_at_work(two_cores):
    begun, ended = threading.Event(), threading.Event()

    def slow():
        begun.set()
        time.sleep(0.2)
        ended.set()

    def fail():
        side_by_side([lambda: begun.wait(10), lambda: None])
        raise KeyError

    with pytest.raises(KeyError), whenever_idle(slow):
        fail()
    assert begun.is_set() and ended.is_set()


class Library:
    """BLAS with a number of threads for the process, or, by OpenMP, for each thread."""

    def __init__(self, layer):
        self.threading_layer, self._number = layer, threading.local() if layer == "openmp" else SimpleNamespace()
        self._number.value = 4

    @property
    def num_threads(self):
        return getattr(self._number, "value", 4)

    def set_num_threads(self, number):
        self._number.value = number


def test_of_searches_in_several_threads_the_last_to_end_gives_blas_back_its_threads(monkeypatch):
    whole, each = libraries = [Library("pthreads"), Library("openmp")]
    monkeypatch.setattr(threads, "_libraries", lambda: libraries)
    inside, leave, seen = threading.Event(), threading.Event(), []

    def another():
        with threads.one_thread():
            inside.set()
            leave.wait(10)
            seen.append((whole.num_threads, each.num_threads))
        seen.append((whole.num_threads, each.num_threads))

    with threads.one_thread():
        worker = threading.Thread(target=another)
        worker.start()
        inside.wait(10)
        assert (whole.num_threads, each.num_threads) == (1, 1)
    assert (whole.num_threads, each.num_threads) == (1, 4)  # the other still works on one
    leave.set()
    worker.join()
    assert seen == [(1, 1), (4, 4)]


def test_blas_has_its_threads_again_after_an_error(monkeypatch):
    library = Library("pthreads")
    monkeypatch.setattr(threads, "_libraries", lambda: [library])
    with pytest.raises(ZeroDivisionError), threads.one_thread(), threads.one_thread():
        raise ZeroDivisionError
    assert library.num_threads == 4


def test_where_no_thread_can_be_started_the_caller_does_it_all_and_no_core_is_lost(two_cores, monkeypatch):
    def refused(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    assert [outcome.result() for outcome in side_by_side([lambda: 1, lambda: 2, lambda: 3])] == [1, 2, 3]
    assert threads._IDLE._busy == 0
