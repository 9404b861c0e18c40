"""Findings about points and values, and scores against a log density."""

from __future__ import annotations

import numpy as np
import pytest

from vvcv.checks import check
from vvcv.data import Task, Tasks


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(400, 3))


def codes(*args) -> tuple[str, ...]:
    return check(*args).codes


def test_repeated_points_are_a_note(x):
    x = np.concatenate([x, x[:50]])
    result = check(Task(x, -x, x[:, 0]))
    assert result.ok and "duplicates" in result.codes


def test_equal_points_with_different_scores_are_an_error(x):
    points = np.concatenate([x, x[:50]])
    scores = np.concatenate([-x, -x[50:100]])
    assert "row-order" in codes(Task(points, scores, points[:, 0]))


def test_collinear_coordinates_are_a_warning(x):
    points = np.column_stack([x, x[:, 0] + x[:, 1]])
    assert "collinear" in codes(Task(points, -points, x[:, 0]))


def test_heavy_tails_of_scores_and_values_are_warnings():
    rng = np.random.default_rng(1)
    gamma = rng.gamma(0.5, size=(3000, 1))  # score -0.5 / x - 1 has tail index 1/2
    assert "heavy-scores" in codes(Task(gamma, -0.5 / gamma - 1, gamma[:, 0]))
    x = rng.normal(size=(1000, 1))
    assert "heavy-values" in codes(Task(x, -x, rng.standard_cauchy(1000)))


def test_shared_points_are_a_note(x):
    assert "shared-points" in codes(Tasks.shared(x, -x, x))
    other = Tasks([Task(x, -x, x[:, 0]), Task(x, -x / 4, x[:, 0])])
    assert "can be draws of one target at most" in str(check(other))


@pytest.mark.parametrize(
    "log_density",
    [lambda x: -0.5 * np.sum(x**2), lambda x: -0.5 * np.sum(x**2, axis=-1), lambda x: -0.5 * x @ x],
    ids=["one point", "many points", "one point only"],
)
def test_right_scores_agree_with_the_log_density(x, log_density):
    assert codes(Task(x, -x, x[:, 0]), log_density)[0] == "gradient"
    assert check(Task(x, -x, x[:, 0]), log_density).ok


def test_points_that_are_no_draws_are_a_warning_when_the_scores_are_confirmed(x):
    result = check(Task(0.3 * x + 1, -(0.3 * x + 1), x[:, 0]), lambda x: -0.5 * np.sum(x**2, axis=-1))
    assert result.findings[0].code == "points" and result.findings[0].severity == "warning"


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("sign", lambda s: -s),
        ("parameter-order", lambda s: s[:, [2, 0, 1]]),
        ("units", lambda s: s * [1, 10, 0.1]),
        ("row-order", lambda s: s[::-1]),
        ("jacobian", lambda s: s - [0, 0, 1]),
        ("gradient", lambda s: np.tanh(s)),
    ],
)
def test_differences_name_the_mistake_from_few_points(x, code, wrong):
    x = x[:30]
    result = check(Task(x, wrong(-x), x[:, 0]), lambda x: -0.5 * np.sum(x**2, axis=-1))
    assert result.findings[0].code == code


def test_every_task_may_have_its_own_log_density(x):
    tasks = Tasks([Task(x, -x, x[:, 0], name="a"), Task(2 * x, -x / 2, x[:, 0], name="b")])
    unit, wide = (lambda x, v=v: -0.5 * np.sum(x**2, axis=-1) / v for v in (1, 4))
    assert check(tasks, [unit, wide]).ok
    assert check(tasks, {"b": wide}).ok
    assert not check(tasks, unit).ok
    with pytest.raises(ValueError, match="one per task"):
        check(tasks, [unit])
    with pytest.raises(ValueError, match="names"):
        check(tasks, {"c": unit})


def test_tasks_with_common_random_numbers_are_not_two_witnesses():
    """At 0.2 % per data set, an alarm in more than one of 30 has probability 0.2 %."""
    alarms = 0
    for seed in range(30):
        x = np.random.default_rng(seed).normal(size=(200, 2))
        alarms += not check([Task(c * x, -x / c, x[:, 0]) for c in (1.0, 2.0, 3.0, 4.0)]).ok
    assert alarms <= 1


def test_a_log_density_of_many_numbers_is_refused(x):
    with pytest.raises(ValueError, match="one number"):
        check(Task(x, -x, x[:, 0]), lambda x: -0.5 * x**2)


def test_every_log_density_of_tasks_on_one_sample_is_compared(x):
    tasks = Tasks.shared(x, -x, x[:, :2], names=["a", "b"])
    for given in ({"b": lambda z: -(z @ z)}, [lambda z: -z @ z / 2, lambda z: -(z @ z)]):
        assert "units" in codes(tasks, given)
