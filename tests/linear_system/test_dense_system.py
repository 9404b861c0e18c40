"""The dense system against its definitions: generalised least squares, likelihoods, leave-one-out by refitting."""

import numpy as np
import pytest
from scipy.linalg import LinAlgError

from vvcv.linear_system.dense import DenseSystem

N, Q = 13, 3


def a_system(columns_of_values=0, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(N, N))
    w = root @ root.T / N + 0.3 * np.eye(N)
    a = np.column_stack([np.ones(N), rng.normal(size=(N, Q - 1))])
    y = rng.normal(size=(N, columns_of_values) if columns_of_values else N)
    return w, a, y


def projection(w, a):
    inverse = np.linalg.inv(w)
    return inverse - inverse @ a @ np.linalg.solve(a.T @ inverse @ a, a.T @ inverse)


def least_squares(w, a, y):
    inverse = np.linalg.inv(w)
    covariance = np.linalg.inv(a.T @ inverse @ a)
    return covariance @ a.T @ inverse @ y, covariance


@pytest.mark.parametrize("columns", [0, 1, 4])
def test_coefficients_and_covariance_are_generalised_least_squares(columns):
    w, a, y = a_system(columns)
    beta, covariance = least_squares(w, a, y)
    system = DenseSystem.of(w.copy(), a, y)
    np.testing.assert_allclose(system.coefficients, beta, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(system.covariance, covariance, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(system.weights, projection(w, a) @ y, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("columns", [0, 4])
def test_restricted_likelihood_is_its_definition(columns):
    w, a, y = a_system(columns)
    inverse, count = np.linalg.inv(w), max(columns, 1)
    determinants = np.linalg.slogdet(w)[1] + np.linalg.slogdet(a.T @ inverse @ a)[1]
    expected = 0.5 * (np.sum(y * (projection(w, a) @ y)) + count * determinants)
    assert DenseSystem.of(w.copy(), a, y).restricted_likelihood() == pytest.approx(expected, rel=1e-12)


def test_restricted_likelihood_depends_only_on_contrasts_of_the_values():
    w, a, y = a_system()
    shifted = DenseSystem.of(w.copy(), a, y + a @ np.array([5.0, -2.0, 1.0])).restricted_likelihood()
    assert DenseSystem.of(w.copy(), a, y).restricted_likelihood() == pytest.approx(shifted, rel=1e-10)


@pytest.mark.parametrize("columns", [0, 4])
def test_leave_one_out_equals_refitting_without_each_row(columns):
    w, a, y = a_system(columns)
    residual, variance = DenseSystem.of(w.copy(), a, y).leave_one_out()
    for i in range(N):
        rest = np.arange(N) != i
        inner, cross = w[np.ix_(rest, rest)], w[rest, i]
        beta, covariance = least_squares(inner, a[rest], y[rest])
        predicted = a[i] @ beta + cross @ np.linalg.solve(inner, y[rest] - a[rest] @ beta)
        gap = a[i] - a[rest].T @ np.linalg.solve(inner, cross)
        spread = w[i, i] - cross @ np.linalg.solve(inner, cross) + gap @ covariance @ gap
        np.testing.assert_allclose(residual[i], y[i] - predicted, rtol=1e-9)
        np.testing.assert_allclose(variance[i], spread, rtol=1e-9)


def test_leave_one_out_likelihood_is_the_sum_of_log_densities():
    w, a, y = a_system(2)
    system = DenseSystem.of(w.copy(), a, y)
    residual, variance = system.leave_one_out()
    expected = np.sum(0.5 * np.log(variance) + 0.5 * residual**2 / variance)
    assert system.leave_one_out_likelihood() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("columns", [0, 3])
@pytest.mark.parametrize("criterion", ["restricted_likelihood", "leave_one_out"])
def test_cotangents_equal_finite_differences(criterion, columns):
    w, a, y = a_system(columns)
    value = "restricted_likelihood" if criterion == "restricted_likelihood" else "leave_one_out_likelihood"
    upper = np.triu(getattr(DenseSystem.of(w.copy(), a, y), f"{criterion}_cotangent")())
    cotangent = upper + np.triu(upper, 1).T
    rng = np.random.default_rng(7)
    for _ in range(5):
        step = rng.normal(size=(N, N))
        step = 1e-6 * (step + step.T)
        ahead, behind = (getattr(DenseSystem.of(w + sign * step, a, y), value)() for sign in (1, -1))
        assert np.sum(cotangent * step) == pytest.approx((ahead - behind) / 2, rel=1e-5)


@pytest.mark.parametrize("b", [np.eye(3), np.array([[2.0, 0.9, 0.1], [0.9, 1.0, -0.4], [0.1, -0.4, 0.7]])])
def test_columns_of_values_are_tasks_on_shared_points_whatever_b(b):
    w, a, y = a_system(3)
    pooled = DenseSystem.of(w.copy(), a, y)
    # Task-major: all rows of the first task, then all of the second.
    dense = DenseSystem.of(np.kron(b, w), np.kron(np.eye(3), a), y.T.reshape(-1))
    np.testing.assert_allclose(dense.coefficients.reshape(3, Q).T, pooled.coefficients, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(dense.covariance, np.kron(b, pooled.covariance), rtol=1e-9, atol=1e-11)
    residual, variance = dense.leave_one_out()
    if np.array_equal(b, np.eye(3)):
        assert dense.restricted_likelihood() == pytest.approx(pooled.restricted_likelihood(), rel=1e-11)
        np.testing.assert_allclose(residual.reshape(3, N).T, pooled.leave_one_out()[0], rtol=1e-9)
        np.testing.assert_allclose(variance.reshape(3, N).T, pooled.leave_one_out()[1], rtol=1e-9)


def test_only_the_upper_triangle_of_the_covariance_is_read():
    w, a, y = a_system()
    garbage = np.where(np.tril(np.ones((N, N)), -1) > 0, np.nan, w)
    np.testing.assert_allclose(DenseSystem.of(garbage, a, y).coefficients, least_squares(w, a, y)[0], rtol=1e-10)


def test_an_indefinite_covariance_has_a_named_failure():
    w, a, y = a_system()
    with pytest.raises(LinAlgError, match="not positive definite"):
        DenseSystem.of(w - 5 * np.eye(N), a, y)


@pytest.mark.parametrize("columns", [0, 2])
def test_a_row_that_no_other_row_predicts_has_no_negative_or_undefined_left_out_variance(columns):
    for seed in range(20):
        w, a, y = a_system(columns, seed)
        a[:, 1] = np.eye(N)[0]  # its own column: P_00 is zero up to a rounding error of either sign
        residual, variance = DenseSystem.of(w, a, y).leave_one_out()
        assert (variance > 0).all() and not np.isnan(residual**2 / variance).any()
