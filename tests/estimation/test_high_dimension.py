"""Moments of single parameters in many dimensions, and columns that outnumber the rows they are tuned on."""

import numpy as np
import pytest
from scipy.special import digamma, polygamma

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


@pytest.mark.parametrize(("d", "n"), [(60, 110), (40, 72)])
def test_a_variance_is_found_from_fewer_than_two_points_for_each_coordinate(d, n):
    x = 3.0 + np.random.default_rng(d).normal(size=(n, d))
    found = vvcv.estimate(vvcv.Tasks.shared(x, 3.0 - x, np.mean((x - 3.0) ** 2, axis=1)[:, None]), check=False)
    assert abs(found.mean[0] - 1.0) < 1e-5  # plain averages are off by about .02
    assert found.std_error[0] < 1e-2 * found.monte_carlo.std_error[0]


def test_two_of_a_hundred_axes_are_found_where_values_allow_each_its_lengthscale():
    """With a common lengthscale of all axes the error is some 40 times as large."""
    x = np.random.default_rng(20950).normal(size=(400, 100))
    found = vvcv.estimate(vvcv.Task(x, -x, np.exp(x[:, 0] / 5) + np.sin(x[:, 1])), "cf", check=False)
    assert abs(found.mean[0] - np.exp(1 / 50)) < 0.01 * found.monte_carlo.std_error[0]


def test_parameters_tuned_for_every_axis_do_not_make_an_average_surer():
    """200 numbers chosen by 400 values leave residuals too small; on this sample they led 3.2 plain errors astray."""
    covariance = 0.6 ** np.abs(np.subtract.outer(np.arange(100), np.arange(100)))
    x = np.random.default_rng(56008).multivariate_normal(np.zeros(100), covariance, size=400, method="cholesky")
    found = vvcv.estimate(vvcv.Task(x, -x @ np.linalg.inv(covariance), x[:, 0] * x[:, 1]), check=False)
    assert abs(found.mean[0] - 0.6) < 2 * found.std_error[0]
    assert abs(found.mean[0] - 0.6) < 2.5 * found.monte_carlo.std_error[0]


@pytest.mark.parametrize("power", [1, 2])
def test_totals_over_independent_parameters_are_one_curve(power):
    """Of log-gamma variables; without curves errors are .06 to .26 of plain, those of squares two to four bars long."""
    x = np.log(np.random.default_rng(power).gamma(4.0, size=(120, 20)))
    est = vvcv.estimate(vvcv.Tasks.shared(x, 4 - np.exp(x), np.sum(x**power, axis=1)), check=False)
    exact = 20 * (digamma(4.0) if power == 1 else digamma(4.0) ** 2 + polygamma(1, 4.0))
    error, plain = abs(est.mean[0] - exact), est.monte_carlo.std_error[0]
    assert error < 0.02 * plain and error < 4 * est.std_error[0] < 0.2 * plain
