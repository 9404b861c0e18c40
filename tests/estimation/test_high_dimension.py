"""Moments of single parameters in many dimensions, and samples on which a candidate fails."""

import numpy as np
import pytest

import vvcv
from vvcv import Task


@pytest.mark.parametrize(("d", "n"), [(30, 100), (60, 200)])
def test_additive_integrands_are_a_thousand_times_better_than_averages(d, n):
    x = np.random.default_rng(0).normal(size=(n, d))
    estimate = vvcv.estimate(Task(x, -x, np.mean(x**2, axis=1)), check=False)
    assert abs(estimate.mean[0] - 1) < 1e-3 * abs(np.mean(x**2) - 1)


def test_means_of_correlated_parameters_are_exact_from_few_points():
    """The slope of scores on points is the precision, from d + 2 points on."""
    rng = np.random.default_rng(1)
    factor = rng.normal(size=(20, 20)) / 4 + np.eye(20)
    x = rng.normal(size=(60, 20)) @ factor.T
    estimate = vvcv.estimate(Task(x, -x @ np.linalg.inv(factor @ factor.T), x[:, 0] + x[:, 3] ** 2), check=False)
    exact = (factor @ factor.T)[3, 3]
    assert abs(estimate.mean[0] - exact) < 1e-3 * abs(np.mean(x[:, 0] + x[:, 3] ** 2) - exact)


def test_more_quadratic_columns_than_tuning_rows_are_no_error():
    x = np.random.default_rng(0).normal(size=(1500, 45))
    estimate = vvcv.estimate(Task(x, -x, np.cos(x[:, 0]) + x[:, 1]), check=False)
    assert abs(estimate.mean[0] - np.exp(-0.5)) < 5 * estimate.std_error[0] < 0.01


def test_an_answer_far_from_its_witness_is_not_believed():
    """A funnel: kernels fit the bulk and extrapolate badly; what they leave of unseen values shows it."""
    rng = np.random.default_rng(20001)
    v = rng.normal(size=250)
    x = np.exp(v / 2)[:, None] * rng.normal(size=(250, 9))
    scores = np.column_stack([-v - 4.5 + 0.5 * np.sum(x**2, axis=1) * np.exp(-v), -x * np.exp(-v)[:, None]])
    estimate = vvcv.estimate(
        vvcv.Tasks.shared(np.column_stack([v, x]), scores, np.column_stack([v**2, x[:, 0] ** 2])), check=False
    )
    low, high = estimate.interval()
    exact = np.array([1.0, np.exp(0.5)])
    assert ((low <= exact) & (exact <= high)).all()
