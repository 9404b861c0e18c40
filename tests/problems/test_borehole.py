import numpy as np
import pytest
from scipy import stats

from vvcv.problems import borehole


def test_score_is_the_gradient_of_the_log_density():
    points = borehole.sample(np.random.default_rng(0), 5)
    sd = np.sqrt(borehole.VARIANCE)

    def log_density(x):
        return stats.norm.logpdf(x, borehole.MEAN, sd).sum(axis=-1)

    step = 1e-4 * sd
    numerical = [(log_density(points + e) - log_density(points - e)) / (2 * e.sum()) for e in np.diag(step)]
    np.testing.assert_allclose(borehole.score(points), np.stack(numerical, axis=1), rtol=1e-5, atol=1e-5 / sd.max())


def test_exact_means_agree_with_quadrature():
    points, weights = _tensor_rule()
    assert weights @ borehole.low(points) == pytest.approx(borehole.EXACT_LOW, abs=1e-6)
    assert weights @ borehole.high(points) == pytest.approx(borehole.EXACT_HIGH, abs=1e-6)


def test_samples_are_reproducible_and_have_the_stated_moments():
    points = borehole.sample(np.random.default_rng(1), 20_000)
    np.testing.assert_array_equal(points, borehole.sample(np.random.default_rng(1), 20_000))
    z = (points - borehole.MEAN) / np.sqrt(borehole.VARIANCE)
    # Sixteen two-sided tests at five standard errors: false alarms in 1 of 10^5 runs.
    assert np.all(np.abs(z.mean(axis=0)) < 5 / np.sqrt(len(z)))
    assert np.all(np.abs((z**2).mean(axis=0) - 1) < 5 * np.sqrt(2 / len(z)))


def _tensor_rule():
    """Equal steps in r_w up to 6 sd (the models fail at 0), one node in the linear H_u and H_l, else Gauss-Hermite."""
    wide = np.linspace(-6, 6, 61)
    wide = (wide, np.exp(-(wide**2) / 2))
    gauss = np.polynomial.hermite_e.hermegauss(3)
    single = (np.zeros(1), np.ones(1))
    rules = [single if name in ("H_u", "H_l") else wide if name == "r_w" else gauss for name in borehole.NAMES]
    z = np.stack(np.meshgrid(*(nodes for nodes, _ in rules), indexing="ij"), axis=-1).reshape(-1, 8)
    weights = np.prod(np.meshgrid(*(w / w.sum() for _, w in rules), indexing="ij"), axis=0).ravel()
    return borehole.MEAN + np.sqrt(borehole.VARIANCE) * z, weights
