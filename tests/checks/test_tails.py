"""Heavy tails are told by scores and values where error bars fail, and not where they hold."""

from __future__ import annotations

import numpy as np
import pytest

from vvcv.checks import check
from vvcv.data import Task, Tasks
from vvcv.data.tails import StudentTail

RUNS = 30


def student(seed, n, d, freedom):
    rng = np.random.default_rng([seed, n, d])
    x = rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(freedom, size=(n, 1)) / freedom)
    return x, -(freedom + d) * x / (freedom + np.sum(x**2, axis=1, keepdims=True))


def heavy(x, scores, values) -> bool:
    return "heavy-tails" in {f.code for f in check(Task(x, scores, values)) if f.severity == "warning"}


@pytest.mark.parametrize(
    ("freedom", "n", "d"), [(3, 50, 4), (3, 50, 8), (3, 100, 1), (3, 100, 4), (3, 400, 8), (5, 50, 4), (5, 200, 4)]
)
def test_growing_integrands_under_student_targets_raise_an_alarm(freedom, n, d):
    """Power above 95 %: four misses in 30 have probability below 6 %."""
    runs = [student(seed, n, d, freedom) for seed in range(RUNS)]
    assert sum(heavy(x, s, np.abs(x[:, 0]) + x[:, -1]) for x, s in runs) >= RUNS - 3


def test_bounded_integrands_under_student_targets_raise_none():
    runs = [student(seed, 100, 4, 3) for seed in range(RUNS)]
    assert sum(heavy(x, s, np.tanh(x[:, 0])) for x, s in runs) <= 1


def light_targets(seed, n, d):
    rng = np.random.default_rng([seed, n, d])
    x, g, u = rng.normal(size=(n, d)), rng.gamma(1.0, size=(n, d)), rng.logistic(size=(n, d))
    return {"normal": (x, -x), "log-gamma": (np.log(g), 1 - g), "logistic": (u, -np.tanh(u / 2))}


@pytest.mark.parametrize("target", ["normal", "log-gamma", "logistic"])
@pytest.mark.parametrize(("n", "d"), [(50, 2), (100, 4), (400, 1)])
def test_light_and_skewed_targets_raise_none(target, n, d):
    """False alarms of any kind below 2 %: three in 30 have probability below 3 %."""
    alarms = 0
    for seed in range(RUNS):
        x, s = light_targets(seed, n, d)[target]
        alarms += not check(Tasks.shared(x, s, np.column_stack([x[:, 0], np.abs(x[:, 0]) + x[:, -1]]))).ok
    assert alarms <= 2


def test_the_degrees_of_freedom_are_those_of_the_target():
    for freedom in (3, 5):
        x, s = student(0, 2000, 3, freedom)
        tail = StudentTail.of(x, s)
        assert tail.freedom == pytest.approx(freedom, rel=1e-9) and tail.at_most == freedom
    x = np.random.default_rng(0).normal(size=(500, 3))
    tail = StudentTail.of(x, -x)
    assert tail is None or tail.at_most > 50


def test_values_like_a_wide_lognormal_raise_an_alarm_and_squares_none():
    """exp(2x) in nine of ten samples of 200, x^2 in none of 200."""
    wide, square = 0, 0
    for seed in range(RUNS):
        x = np.random.default_rng(seed).normal(size=(200, 1))
        wide += not check(Task(x, -x, np.exp(2 * x[:, 0]))).ok
        square += not check(Task(x, -x, x[:, 0] ** 2)).ok
    assert wide >= RUNS - 7 and square <= 1


def test_uniform_inputs_with_scores_of_zero_are_told_of_their_bounds():
    x = np.random.default_rng(0).random((60, 2))
    finding = check(Task(x, 0 * x, x[:, 0])).findings[0]
    assert finding.code == "bounds" and "vvcv.unconstrain" in finding.remedy and "posterior" not in finding.sentence
