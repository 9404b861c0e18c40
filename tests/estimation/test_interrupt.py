"""Ctrl-C ends a fit at once, or, on request, with the best result so far."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import vvcv
from vvcv.tuning.interrupt import AbandonedError, interruptible, stop_requested

#: Says when a covariance of so many rows is factorised for the first time, however long it takes to get there.
ANNOUNCED = """
import sys
import numpy as np, vvcv
from vvcv.linear_system import dense

def announced(matrix, what, cholesky=dense.cholesky):
    if len(matrix) >= {rows}:
        print("factorising", flush=True)
        dense.cholesky = cholesky
    return cholesky(matrix, what)

dense.cholesky = announced
"""

#: A search of which hardly anything is done by its first factorisation.
LONG_FIT = (
    ANNOUNCED.format(rows=100)
    + """
x = np.random.default_rng(0).normal(size=(3000, 8))
f = np.exp(0.3 * x.sum(axis=1)) * np.sin(3 * x[:, 0])
est = vvcv.estimate(vvcv.Task(x, -x, f), "cf", kernel="squared-exponential", on_interrupt=sys.argv[1])
print("interrupted" in est.check.codes, np.isfinite(est.mean).all(), est.std_error[0] > 0, flush=True)
"""
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")


def interrupted_fit(mode: str) -> tuple[int, str, str, float]:
    process = subprocess.Popen(
        [sys.executable, "-c", LONG_FIT, mode], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "factorising\n"
    started = time.perf_counter()
    process.send_signal(signal.SIGINT)
    try:
        out, error = process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode, out, error, time.perf_counter() - started


def test_the_first_interrupt_gives_the_best_result_so_far():
    code, out, error, _ = interrupted_fit("best")
    assert (code, out.split()) == (0, ["True", "True", "True"]), error


def test_an_interrupt_otherwise_ends_the_program_as_in_any_other():
    code, out, error, seconds = interrupted_fit("raise")
    assert code in (-signal.SIGINT, 128 + signal.SIGINT) and out == ""
    assert error.rstrip().endswith("KeyboardInterrupt") and seconds < 30


def test_a_second_interrupt_is_not_caught():
    with pytest.raises(KeyboardInterrupt), interruptible(keep_best=True) as interruption:
        signal.raise_signal(signal.SIGINT)
        assert interruption.stopped_early and stop_requested()
        signal.raise_signal(signal.SIGINT)
    assert not stop_requested()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_after_the_last_evaluation_is_not_swallowed():
    with pytest.raises(KeyboardInterrupt), interruptible(keep_best=False):
        signal.raise_signal(signal.SIGINT)


def test_a_program_that_handles_interrupts_itself_is_left_to_do_so():
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with interruptible(keep_best=False):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]


def test_an_unknown_wish_is_refused():
    x = np.linspace(-1, 1, 9)
    with pytest.raises(ValueError, match="'raise' or 'best'"):
        vvcv.estimate(vvcv.Task(x, -x, x), "mc", on_interrupt="shrug")


#: A fit of thousands of rows, in the middle of whose factorisations no one would wait for an answer.
LARGE_FIT = (
    ANNOUNCED.format(rows=3000)
    + """
x = np.random.default_rng(0).normal(size=(3000, 4))
f = np.exp(0.3 * x.sum(axis=1)) * np.sin(3 * x[:, 0])
est = vvcv.estimate(vvcv.Task(x, -x, f), check=False, on_interrupt="best")
print("interrupted" in est.check.codes, 0 < est.seconds < 60, flush=True)
"""
)


def test_a_large_fit_answers_from_the_methods_that_are_finished():
    process = subprocess.Popen(
        [sys.executable, "-c", LARGE_FIT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "factorising\n"
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 0 and out.split() == ["True", "True"], error


def test_work_that_does_not_end_is_left_alone_once_there_is_an_answer():
    ended = []

    def never() -> None:
        try:
            while True:
                stop_requested()
                time.sleep(0.01)
        except AbandonedError:
            ended.append(True)

    with interruptible(keep_best=True) as interruption:
        threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
        assert interruption.attend(never, lambda: "best so far") == "best so far"
    for _ in range(500):
        if not ended:
            time.sleep(0.01)
    assert ended == [True]


def test_an_interrupt_while_the_data_are_looked_at_is_answered_by_what_is_known(monkeypatch):
    """Other coordinates may take seconds to find; nobody waits for them."""
    release = threading.Event()

    def slow(prepared):
        signal.raise_signal(signal.SIGINT)
        release.wait(30)
        return []

    monkeypatch.setattr("vvcv.estimation.run.other_looks", slow)
    x = np.random.default_rng(0).normal(size=(60, 2))
    try:
        found = vvcv.estimate(vvcv.Task(x, -x, x[:, 0] ** 2), on_interrupt="best", check=False)
    finally:
        release.set()
    assert "interrupted" in found.check.codes and np.isfinite(found.mean).all()


def test_an_alarm_of_the_programs_own_leaves_no_work_behind():
    """Any exception that reaches a program while it waits ends the work, as Ctrl-C does."""
    ended = threading.Event()

    def work():
        try:
            while not stop_requested():
                time.sleep(0.01)
        finally:
            ended.set()

    class Alarm(Exception):
        pass

    def ring(*_):
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(Alarm), interruptible(keep_best=False) as interruption:
            interruption.attend(work, lambda: None)
        assert ended.wait(5)
    finally:
        signal.signal(signal.SIGALRM, before)
