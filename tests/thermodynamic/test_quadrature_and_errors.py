"""Second-order quadrature, its error, and the task matrix over temperatures."""

from __future__ import annotations

import numpy as np
import pytest

from vvcv.kernels import SquaredExponential
from vvcv.linear_system.dense import DenseSystem
from vvcv.problems import van_der_pol
from vvcv.stein import task_matrix
from vvcv.thermodynamic.quadrature import quadrature_errors, quadrature_weights
from vvcv.thermodynamic.task_matrix import TemperatureKernel

PATH = np.array([0.0, 0.1, 0.35, 0.6, 1.0])


@pytest.mark.parametrize("power", range(4))
def test_the_quadrature_is_exact_for_cubics(power):
    means, variances = quadrature_weights(PATH)
    slope = power * PATH ** max(power - 1, 0)
    assert means @ PATH**power + variances @ slope == pytest.approx(1 / (power + 1), abs=1e-14)


def test_the_error_of_a_fourth_power_is_known_exactly():
    means, variances = quadrature_weights(PATH)
    error = means @ PATH**4 + variances @ (4 * PATH**3) - 1 / 5
    assert quadrature_errors(PATH, PATH**4, 4 * PATH**3).sum() == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize(("every", "most"), [(1, 1.3), (2, 2.0), (3, 3.0)])
def test_the_quadrature_error_of_van_der_pol_is_foreseen_and_not_belittled(every, most):
    t, mu, v = (a[::every] for a in (van_der_pol.TEMPERATURES, van_der_pol.EXACT_MEAN, van_der_pol.EXACT_VARIANCE))
    means, variances = quadrature_weights(t)
    error = means @ mu + variances @ v - van_der_pol.EXACT_LOG_EVIDENCE
    assert 1.0 < quadrature_errors(t, mu, v).sum() / error < most


def test_the_task_matrix_is_a_kernel_of_warped_temperatures():
    b = task_matrix(TemperatureKernel(PATH, SquaredExponential(1.5), offset=0.02, nugget=1e-3))
    tau = np.log(PATH + 0.02)
    expected = np.exp(-0.5 * ((tau[:, None] - tau[None, :]) / 1.5) ** 2) + 1e-3 * np.eye(5)
    np.testing.assert_allclose(b, expected, rtol=1e-12)


def test_leaving_rows_out_is_solving_without_them():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(12, 12))
    w, a, y = root @ root.T + np.eye(12), rng.normal(size=(12, 2)), rng.normal(size=12)
    out, kept = np.array([1, 4, 9]), np.array([0, 2, 3, 5, 6, 7, 8, 10, 11])
    rest = DenseSystem.of(w[np.ix_(kept, kept)].copy(), a[kept], y[kept])
    prediction = a[out] @ rest.coefficients + w[np.ix_(out, kept)] @ rest.weights
    ((residual, covariance),) = DenseSystem.of(w.copy(), a, y).leave_rows_out([out])
    np.testing.assert_allclose(residual, y[out] - prediction, rtol=1e-9)
    np.testing.assert_allclose(covariance, covariance.T, rtol=1e-9)
    assert (np.linalg.eigvalsh(covariance) > 0).all()
