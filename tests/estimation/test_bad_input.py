"""Difficult data get a right answer or a ValueError that says the rule, what was found and what to do: never a nan."""

import numpy as np
import pytest

import vvcv
from vvcv import Task, Tasks
from vvcv.estimation import METHODS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(14, 2))
KERNEL = {"kernel": "squared-exponential"}


def finite(estimate):
    """Every number of an estimate is one."""
    assert np.isfinite(estimate.mean).all() and np.isfinite(estimate.std_error).all()
    assert (estimate.std_error >= 0).all() and not np.isnan(estimate.gain).any()
    assert np.isfinite(estimate.task_correlation).all()
    assert str(estimate) and "nan" not in str(estimate)
    return estimate


def test_one_point_is_refused_with_the_remedy():
    with pytest.raises(ValueError, match="at least two points.*'lonely' has 1.*Add points"):
        vvcv.estimate(Task(X[:1], -X[:1], X[:1, 0], name="lonely"))


@pytest.mark.parametrize("scale", [1e-155, 1e-300])
def test_values_whose_squares_vanish_are_refused_since_their_error_bar_would(scale):
    """As likelihoods are, whose mean is the evidence."""
    with pytest.raises(ValueError, match="values of task 'likelihood' must not all be below 1e-152.*Change the unit"):
        Task(X, -X, scale * np.exp(X[:, 0]), name="likelihood")
    with pytest.raises(ValueError, match="values of task 'task 2' must not all be below"):
        Tasks.shared(X, -X, np.column_stack([X[:, 0], scale * X[:, 0]]))
    with pytest.raises(ValueError, match="must not all be below"):
        vvcv.summary(Task(X, -X, 1e-80 * X[:, 0]), method="zv")
    finite(vvcv.estimate(Task(X, -X, 1e-149 * np.exp(X[:, 0])), "zv"))
    finite(vvcv.estimate(Task(X, -X, np.zeros(len(X)))))


def test_a_comparison_of_nothing_is_refused():
    x = np.random.default_rng(0).normal(size=(30, 1))
    with pytest.raises(ValueError, match="methods must name at least one"):
        vvcv.compare(vvcv.Task(x, -x, x[:, 0]), [])


def test_no_tasks_are_refused():
    with pytest.raises(ValueError, match="at least one task"):
        vvcv.estimate([])


@pytest.mark.parametrize("bad", [None, 3.0, "tasks", X])
def test_what_is_not_a_task_is_refused(bad):
    with pytest.raises(ValueError, match="Task"):
        vvcv.estimate(bad)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("d", [1, 2, 8])
def test_very_few_points_are_answered_by_auto(n, d):
    x = np.random.default_rng(n * d).normal(size=(n, d))
    finite(vvcv.estimate(Task(x, -x, np.exp(x[:, 0])), **KERNEL))


def test_a_rung_that_needs_more_points_says_so():
    for method in ("zv", "cf", "secf", "vv", "vv-secf"):
        with pytest.raises(ValueError, match=f"{method}.*needs more points.*Add points"):
            vvcv.estimate(Task(X[:3], -X[:3], X[:3, 0]), method)


@pytest.mark.parametrize("method", [*METHODS, "auto"])
def test_constant_values_have_their_value_as_mean_and_no_error(method):
    varying = Task(X, -X, X[:, 0] ** 2, name="varying")
    estimate = finite(vvcv.estimate([Task(X, -X, np.full(14, 2.5), name="constant"), varying], method, **KERNEL))
    assert estimate.mean[0] == 2.5 and estimate.std_error[0] == 0


@pytest.mark.parametrize("method", ["zv", "cf", "vv", "auto"])
def test_all_tasks_may_be_constant(method):
    estimate = finite(vvcv.estimate(Tasks.shared(X, -X, np.ones((14, 2)) * [1.0, -3.0]), method, **KERNEL))
    np.testing.assert_array_equal(estimate.mean, [1.0, -3.0])


@pytest.mark.parametrize("method", ["zv", "cf", "secf", "auto"])
@pytest.mark.parametrize("magnitude", [1e-150, 1e-100, 1e100, 1e150])
def test_huge_and_tiny_values_are_estimated_in_their_own_unit(method, magnitude):
    values = np.exp(X[:, 0] / 2) / 4
    estimate = finite(vvcv.estimate(Task(X, -X, magnitude * values), method, **KERNEL))
    expected = vvcv.estimate(Task(X, -X, values), method, **KERNEL)
    assert estimate.mean[0] / magnitude == pytest.approx(expected.mean[0], rel=1e-6)


@pytest.mark.parametrize("method", ["zv", "cf"])
@pytest.mark.parametrize("unit", [1e-140, 1e140])
def test_huge_and_tiny_points_are_read_in_their_own_unit(method, unit):
    values = np.exp(X[:, 0] / 2)
    estimate = finite(vvcv.estimate(Task(X * unit, -X / unit, values), method, **KERNEL))
    expected = vvcv.estimate(Task(X, -X, values), method, **KERNEL)
    assert estimate.mean[0] == pytest.approx(expected.mean[0], rel=1e-6)


def test_numbers_whose_squares_overflow_are_refused():
    with pytest.raises(ValueError, match="Change the unit"):
        vvcv.estimate(Task(X, -X, 1e160 * X[:, 0]))


DEGENERATE = {
    "points on a line": np.column_stack([X[:, 0], 2 * X[:, 0]]),
    "a coordinate that never varies": np.column_stack([X[:, 0], np.full(14, 3.0)]),
    "more dimensions than points": RNG.normal(size=(8, 12)),
    "two distinct points": np.repeat(X[:2], 7, axis=0),
    "one distinct point": np.repeat(X[:1], 14, axis=0),
    "nearly equal points": X[:1] + 1e-9 * X,
    "one far outlier": np.vstack([X, [[1e6, 0.0]]]),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_points_are_answered_by_auto(name):
    x = DEGENERATE[name]
    finite(
        vvcv.estimate(
            Task(x, -x, np.sin(np.arange(len(x)) * 1.0) if "distinct" in name else x[:, 0] ** 2),
            **KERNEL,
            on_alarm="ignore",
        )
    )


def test_scores_that_are_all_zero_are_answered_by_auto():
    finite(vvcv.estimate(Task(X, np.zeros_like(X), X[:, 0] ** 2), **KERNEL, on_alarm="ignore"))


def test_one_point_with_two_scores_is_refused():
    x = np.vstack([X, X[:1]])
    scores = np.vstack([-X, X[:1]])
    with pytest.raises(ValueError, match="function of the point"):
        vvcv.estimate(Task(x, scores, x[:, 0]), "zv")


def test_unequal_sizes_with_a_task_too_small_for_a_kernel_are_answered_together():
    small = Task(X[:3], -X[:3], X[:3, 0] ** 2, name="small")
    estimate = finite(vvcv.estimate([Task(X, -X, X[:, 0] ** 2, name="large"), small], **KERNEL))
    assert estimate.methods[1] == "mc"


def test_tasks_of_very_different_extents_are_answered_together():
    # In common coordinates the points of the second task all but coincide.
    extents = (1e2, 1e-6, 1e6)
    tasks = [Task(a * X[:8, :1], -X[:8, :1] / a, X[:8, 0] ** 2) for a in extents]
    finite(vvcv.estimate(tasks, "vv", **KERNEL))
