import numpy as np
import pytest

from vvcv.problems.cross_fit import cross_fitted


def test_polynomials_of_a_gaussian_lose_all_their_variance():
    x = np.random.default_rng(0).normal(size=(3, 200, 2))
    values = np.stack([x[..., 0] ** 3 + 2.0, x[..., 0] * x[..., 1] - x[..., 1] ** 2], axis=-1)
    residual = cross_fitted(x, -x, values, degree=3)
    np.testing.assert_allclose(residual, np.broadcast_to([2.0, -1.0], residual.shape), atol=1e-8)


def test_residuals_of_a_chain_do_not_depend_on_its_own_values_through_the_fit():
    x = np.random.default_rng(1).normal(size=(2, 60, 1))
    values = np.exp(x)
    disturbed = values.copy()
    disturbed[0] += np.random.default_rng(2).normal(size=(60, 1))
    change = cross_fitted(x, -x, disturbed, 2)[0] - cross_fitted(x, -x, values, 2)[0]
    np.testing.assert_allclose(change, disturbed[0] - values[0], atol=1e-12)


def test_blocks_of_rows_change_nothing(monkeypatch):
    x = np.random.default_rng(3).normal(size=(2, 70, 2))
    values = np.sin(x)
    whole = cross_fitted(x, -x, values, 2)
    monkeypatch.setattr("vvcv.problems.cross_fit._BLOCK", 16)
    np.testing.assert_allclose(cross_fitted(x, -x, values, 2), whole, atol=1e-11)


def test_the_spread_of_residuals_is_the_error_of_their_mean():
    rng, runs = np.random.default_rng(4), 200
    z = []
    for _ in range(runs):
        x = rng.normal(size=(4, 100, 1))
        residual = cross_fitted(x, -x, np.cos(2 * x), 2)
        z.append((residual.mean() - np.exp(-2)) / (residual.std() / np.sqrt(residual.size)))
    # Mean square of 200 nearly normal numbers: 1 with standard deviation 0.1; false alarms below 1 of 10^4.
    assert 0.6 < np.mean(np.square(z)) < 1.4


def test_one_chain_is_refused():
    x = np.zeros((1, 5, 1))
    with pytest.raises(ValueError, match="two chains"):
        cross_fitted(x, x, x, 1)
