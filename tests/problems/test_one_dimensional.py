"""The step functions and South's synthetic example."""

import numpy as np
import pytest
from scipy import stats

from vvcv.problems import step, synthetic


@pytest.mark.parametrize(("f", "exact"), [(step.low, step.EXACT_LOW), (step.high, step.EXACT_HIGH)])
def test_step_means_are_the_mass_on_either_side(f, exact):
    left, right = f(np.array([[-1e-9], [0.0]]))
    assert 0.5 * (left + right) == exact


@pytest.mark.parametrize("variance", synthetic.VARIANCES)
@pytest.mark.parametrize(("f", "exact"), [(synthetic.f_1, synthetic.exact_1), (synthetic.f_2, synthetic.exact_2)])
def test_synthetic_means_agree_with_quadrature(f, exact, variance):
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    quadrature = weights @ f(np.sqrt(variance) * nodes[:, None]) / weights.sum()
    assert quadrature == pytest.approx(exact(variance), abs=1e-12)


@pytest.mark.parametrize("variance", [1.0, 1.25])
def test_scores_are_derivatives_of_the_log_density(variance):
    points = synthetic.sample(np.random.default_rng(0), 10, variance)
    e = 1e-5
    log_density = stats.norm(scale=np.sqrt(variance)).logpdf
    numerical = (log_density(points + e) - log_density(points - e)) / (2 * e)
    np.testing.assert_allclose(synthetic.score(points, variance), numerical, rtol=1e-7, atol=1e-9)
    if variance == 1.0:
        np.testing.assert_array_equal(step.score(points), synthetic.score(points, variance))


@pytest.mark.parametrize("sample", [step.sample, synthetic.sample])
def test_samples_are_columns_and_reproducible(sample):
    points = sample(np.random.default_rng(3), 7)
    assert points.shape == (7, 1)
    np.testing.assert_array_equal(points, sample(np.random.default_rng(3), 7))


def test_sample_variance_is_the_one_asked_for():
    points = synthetic.sample(np.random.default_rng(4), 20_000, 1.25)
    # Five standard errors: false alarms in 1 of 10^6 runs.
    assert abs((points**2).mean() / 1.25 - 1) < 5 * np.sqrt(2 / len(points))


def test_pairings_of_integrands_and_targets():
    assert synthetic.variances(1.25) == (1.25, 1.0)
    assert synthetic.variances(1.25, "text") == (1.0, 1.25)
    with pytest.raises(ValueError, match="pairing"):
        synthetic.variances(1.25, "paper")
