"""`seconds=`: what does not fit into the time is left out, and the estimate says so."""

import numpy as np
import pytest

import vvcv
from vvcv.candidates import cost
from vvcv.estimation import ladder
from vvcv.runtime.clock import limited, time_left
from vvcv.tuning.attempts import those_that_work

X = np.random.default_rng(0).normal(size=(120, 2))
TASK = vvcv.Task(X, -X, np.exp(X.sum(axis=1) / 2), name="f")


def test_plenty_of_time_changes_nothing():
    assert vvcv.estimate(TASK, seconds=1e6).mean == vvcv.estimate(TASK).mean


def test_with_next_to_no_time_the_plain_average_answers_and_says_why():
    estimate = vvcv.estimate(TASK, seconds=1e-9)
    assert estimate.methods == ("mc",)
    assert estimate.mean[0] == pytest.approx(TASK.values.mean())
    assert "time" in estimate.check.codes


def test_a_system_that_would_not_be_solved_in_time_is_not_begun(monkeypatch):
    monkeypatch.setattr(ladder, "seconds_to_solve", lambda rows: 1e5)
    estimate = vvcv.estimate(TASK, seconds=1e4)
    assert estimate.methods == ("zv",) and "time" in estimate.check.codes


def test_a_search_that_left_time_to_solve_and_so_ended_early_is_noted(monkeypatch):
    monkeypatch.setattr(ladder, "seconds_to_solve", lambda rows: 1e5)
    assert "time" in vvcv.estimate(TASK, "cf", seconds=1e4).check.codes  # which it did not use up
    assert "time" not in vvcv.estimate(TASK, "cf", seconds=1e6).check.codes


def test_a_named_method_answers_whatever_the_time():
    estimate = vvcv.estimate(TASK, "cf", seconds=1e-9)
    assert estimate.methods == ("cf",) and abs(estimate.mean[0] - np.exp(0.25)) < 5 * estimate.std_error[0]


@pytest.mark.parametrize("method", ["cf", "secf", "vv", "vv-secf"])
@pytest.mark.parametrize("apart", [False, True])
def test_a_named_method_answers_for_every_task_whatever_the_time(method, apart):
    values = np.column_stack([np.exp(X.sum(axis=1) / 2), X[:, 0] ** 2 * X[:, 1], np.cos(X[:, 0])])
    rows = [slice(40 * t, 40 * t + 40) if apart else slice(None) for t in range(3)]
    tasks = [vvcv.Task(X[part], -X[part], values[part, t]) for t, part in enumerate(rows)]
    estimate = vvcv.estimate(tasks, method, seconds=1e-9)
    assert estimate.methods == (method,) * 3 and "time" in estimate.check.codes
    np.testing.assert_array_less(abs(estimate.mean - [np.exp(0.25), 0.0, np.exp(-0.5)]), 5 * estimate.std_error)


def test_solving_takes_longer_for_more_rows():
    assert cost.seconds_to_solve(500) < cost.seconds_to_solve(3000) < cost.seconds_to_solve(9000)


def test_limits_nest_and_end():
    with limited(100.0):
        with limited(1000.0):
            assert time_left() <= 100
        with limited(-1.0):
            assert time_left() < 0
            assert those_that_work([lambda: 1, lambda: 2]) == [1]
        assert those_that_work([lambda: 1, lambda: 2]) == [1, 2]
    assert time_left() == np.inf


def test_a_time_that_is_none_is_refused():
    with pytest.raises(ValueError, match="positive"):
        vvcv.estimate(TASK, seconds=0)
