"""Both error bars behind the one that covers: what the model believes, and what values left out say."""

import numpy as np
import pytest

import vvcv
from vvcv import Task, Tasks

X = np.random.default_rng(11).normal(size=(60, 2))
VALUES = np.sin(X[:, 0]) + np.abs(X[:, 1])


def test_the_cross_fitted_error_is_that_of_residuals_predicted_without_their_own_value():
    """Polynomials of degree one, fitted anew without each row; false alarms: none, nothing is random."""
    columns = np.hstack([np.ones((60, 1)), -X])
    residuals = []
    for i in range(60):
        others = np.arange(60) != i
        solution = np.linalg.lstsq(columns[others], VALUES[others], rcond=None)[0]
        residuals.append(VALUES[i] - columns[i] @ solution)
    prepared = vvcv.data.Prepared.of(Tasks([Task(X, -X, VALUES)]))
    offered = vvcv.candidates.polynomial.fit_polynomials(prepared, (0,), 1)
    np.testing.assert_allclose(offered[0].leave_one_out[prepared.distinct[0].row], residuals, rtol=1e-9)
    whole = np.linalg.lstsq(columns, VALUES, rcond=None)
    believed = np.sqrt(whole[1][0] / 57 * np.linalg.inv(columns.T @ columns)[0, 0])
    assert offered[0].model_error == pytest.approx(believed, rel=1e-9)


@pytest.mark.parametrize("method", ["mc", "zv", "cf", "auto"])
def test_both_error_bars_are_reported(method):
    estimate = vvcv.estimate(Task(X, -X, VALUES), method)
    for error in (estimate.model_std_error, estimate.cross_fitted_std_error):
        assert 0 < error[0] <= 1.05 * estimate.monte_carlo.std_error[0]
    dataset = estimate.to_xarray()
    assert float(dataset.model_std_error[0]) == estimate.model_std_error[0]
    assert float(dataset.cross_fitted_std_error[0]) == estimate.cross_fitted_std_error[0]
    assert "on values left out" in estimate.explain()


def test_a_chain_that_stands_still_has_no_smaller_cross_fitted_error():
    """Every draw four times over is four times the rows and nothing new: the effective size knows."""
    once = vvcv.estimate(Tasks.shared(X[None], -X[None], VALUES[None, :, None]), "zv", on_alarm="ignore")
    still = np.repeat(X, 4, axis=0)[None]
    often = vvcv.estimate(Tasks.shared(still, -still, np.repeat(VALUES, 4)[None, :, None]), "zv", on_alarm="ignore")
    ratio = often.cross_fitted_std_error[0] / once.cross_fitted_std_error[0]
    assert 0.8 < ratio < 1.6  # half, if rows were counted
