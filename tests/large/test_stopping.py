"""Passes over all rows end when the time is up, or Ctrl-C was pressed: plain averages are known by then."""

import signal
import threading
import time

import numpy as np
import pytest

import vvcv
from vvcv.estimation.streamed import NO_TIME
from vvcv.large import fits, inducing, normal_equations
from vvcv.large.fits import LargeFits
from vvcv.runtime.clock import limited
from vvcv.tuning.attempts import TooLateError

da = pytest.importorskip("dask.array")

KERNEL = {"kernel": "squared-exponential", "check": False}


def in_memory(arrays):
    return vvcv.Tasks.shared(*arrays)


def by_threads(arrays):
    return vvcv.Tasks.shared(*(da.from_array(array, chunks=(600, -1)) for array in arrays))


@pytest.fixture
def slow_strips(monkeypatch):
    """Strips of 40 rows that take a tenth of a second each: 6 s for a pass; and word that one was begun."""
    begun, sums = threading.Event(), normal_equations.Summing._sums

    def slow(self, features, strip):
        begun.set()
        time.sleep(0.1)
        return sums(self, features, strip)

    monkeypatch.setattr(normal_equations, "STRIP", 40)
    monkeypatch.setattr(normal_equations.Summing, "_sums", slow)
    return begun


@pytest.fixture
def foreseen_wrong(monkeypatch):
    monkeypatch.setattr(LargeFits, "_seconds_on_trial", lambda self, methods: 0.0)
    monkeypatch.setattr(fits, "_seconds_to_sum", lambda rows, columns: 0.0)


def seconds_of(call):
    began = time.perf_counter()
    result = call()
    return result, time.perf_counter() - began


@pytest.mark.parametrize("method", ["auto", "zv", "inducing"])
def test_what_would_not_end_in_time_is_not_begun(small_machine, sample, monkeypatch, method):
    monkeypatch.setattr(LargeFits, "_seconds_on_trial", lambda self, methods: 1e5)
    monkeypatch.setattr(fits, "_seconds_to_sum", lambda rows, columns: 1e5)
    monkeypatch.setattr(fits, "solve_normal_equations", lambda *_: pytest.fail("a pass was begun"))
    found = vvcv.estimate(in_memory(sample), method, seconds=1e4, **KERNEL)
    np.testing.assert_array_equal(found.mean, found.monte_carlo.mean)
    assert set(found.methods) == {"mc"} and "time" in found.check.codes
    assert (found.kernel[0] == NO_TIME) is (method != "auto")


def test_inducing_points_are_left_out_before_polynomials(small_machine, sample, monkeypatch):
    monkeypatch.setattr(fits, "_seconds_to_sum", lambda rows, columns: 1e5)
    monkeypatch.setattr(fits, "tuned_kernel", lambda *_: pytest.fail("a kernel was tuned"))
    found = vvcv.estimate(in_memory(sample), seconds=1e4, **KERNEL)
    assert set(found.methods) == {"zv"} and "time" in found.check.codes
    polynomials = vvcv.estimate(in_memory(sample), "zv", **KERNEL)
    assert (found.std_error < 1.5 * polynomials.std_error + 1e-12).all()


def test_plenty_of_time_changes_nothing(small_machine, sample):
    alone, limited_ = (vvcv.estimate(in_memory(sample), seconds=seconds, **KERNEL) for seconds in (None, 1e6))
    np.testing.assert_array_equal(limited_.mean, alone.mean)
    np.testing.assert_array_equal(limited_.covariance, alone.covariance)
    assert "time" not in (limited_.check.codes if limited_.check else ())


@pytest.mark.parametrize("rows", [in_memory, by_threads])
def test_a_wrong_forecast_ends_when_the_time_is_up(small_machine, sample, slow_strips, foreseen_wrong, rows):
    found, seconds = seconds_of(lambda: vvcv.estimate(rows(sample), "zv", seconds=1.0, **KERNEL))
    assert slow_strips.is_set() and seconds < 3
    assert set(found.methods) == {"mc"} and "time" in found.check.codes


def test_a_forecast_is_about_right(small_machine, sample, slow_strips):
    tasks = in_memory(sample)
    large = LargeFits(fits.Rows.of(list(tasks), tasks.names), vvcv.estimation.run._options(None, "reml", 1))
    assert large.look is not None and 3 < large._seconds_on_trial(("zv",)) < 12
    with limited(2.0), pytest.raises(TooLateError):
        large.of_task(0, ("zv",))


def test_no_more_inducing_points_are_chosen_when_the_time_is_up():
    with limited(-1.0), pytest.raises(TooLateError):
        inducing.pivoted_cholesky(np.eye(3), 2)


def interrupted(begun):
    """Ctrl-C, a moment after the first strip was begun."""

    def press():
        assert begun.wait(60)
        time.sleep(0.2)
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    return thread


@pytest.mark.parametrize("rows", [in_memory, by_threads])
def test_an_interrupt_is_answered_by_plain_averages(small_machine, sample, slow_strips, rows):
    pressing = interrupted(slow_strips)
    found, seconds = seconds_of(lambda: vvcv.estimate(rows(sample), on_interrupt="best", **KERNEL))
    pressing.join()
    assert set(found.methods) == {"mc"} and "interrupted" in found.check.codes
    np.testing.assert_array_equal(found.mean, found.monte_carlo.mean)


@pytest.mark.parametrize("rows", [in_memory, by_threads])
def test_after_an_interrupt_no_thread_goes_on_for_long(small_machine, sample, slow_strips, rows, monkeypatch):
    before, pressing = set(threading.enumerate()), interrupted(slow_strips)
    with pytest.raises(KeyboardInterrupt):
        vvcv.estimate(rows(sample), "zv", **KERNEL)
    began = time.perf_counter()
    slow_strips.clear()
    for thread in set(threading.enumerate()) - before - {pressing}:
        if not thread.name.startswith("ThreadPool"):  # those of Dask wait for more work
            thread.join(30)
    assert time.perf_counter() - began < 2
    slow_strips.clear()
    time.sleep(0.3)
    assert not slow_strips.is_set()
    slow_strips.set()
    pressing.join()
