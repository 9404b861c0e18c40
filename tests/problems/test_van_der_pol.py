import jax
import numpy as np
import pytest
from scipy import stats
from scipy.integrate import solve_ivp

from vvcv.problems import van_der_pol

GRID = np.linspace(-2.0, 2.0, 1601)[:, None]  # eight prior standard deviations either way
N_SAMPLES = 500


@pytest.fixture(scope="module")
def log_likelihood():
    return van_der_pol.log_likelihood(GRID)


@pytest.fixture(scope="module")
def masses(log_likelihood):
    """Mass of every power posterior at the points of the grid (31, 1601)."""
    log_density = van_der_pol.TEMPERATURES[:, None] * log_likelihood + van_der_pol.log_prior(GRID)
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    return density / density.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def path():
    return van_der_pol.sample_path(seed=0, n_samples=N_SAMPLES, thin=2)


@pytest.mark.parametrize("z", [-1.0, 0.0, 0.3, 1.0])
def test_log_likelihood_agrees_with_another_solver(z):
    def field(_, u):
        return [u[1], np.exp(z) * (1 - u[0] ** 2) * u[1] - u[0]]

    times, observations = van_der_pol.TIMES, van_der_pol.OBSERVATIONS
    solution = solve_ivp(field, (0, 10), (0.0, 2.0), "DOP853", times, rtol=1e-13, atol=1e-13)
    expected = stats.norm.logpdf(observations, solution.y[0], van_der_pol.SIGMA).sum()
    assert van_der_pol.log_likelihood([[z]])[0] == pytest.approx(expected, rel=1e-8)


def test_scores_are_derivatives_in_z():
    points, e = np.linspace(-0.8, 0.8, 31)[:, None], 1e-5
    for f, score in (
        (van_der_pol.log_likelihood, van_der_pol.score_likelihood),
        (van_der_pol.log_prior, van_der_pol.score_prior),
    ):
        numerical = (f(points + e) - f(points - e)) / (2 * e)
        np.testing.assert_allclose(score(points)[:, 0], numerical, rtol=1e-5, atol=1e-5)


def test_log_evidence_is_that_of_normalised_likelihood_and_prior(log_likelihood):
    spacing = GRID[1, 0] - GRID[0, 0]
    evidence = np.exp(log_likelihood + van_der_pol.log_prior(GRID)).sum() * spacing
    assert np.log(evidence) == pytest.approx(van_der_pol.EXACT_LOG_EVIDENCE, rel=1e-9)


def test_moments_agree_with_quadrature(log_likelihood, masses):
    mean = masses @ log_likelihood
    variance = masses @ log_likelihood**2 - mean**2
    np.testing.assert_allclose(mean, van_der_pol.EXACT_MEAN, rtol=1e-8)
    np.testing.assert_allclose(variance, van_der_pol.EXACT_VARIANCE, rtol=1e-8)


def test_every_chain_follows_its_power_posterior(path, masses):
    # Midpoint of the cumulative sum at a grid point is the distribution function there.
    distribution = np.cumsum(masses, axis=1) - masses / 2
    for points, cumulated in zip(path.points[..., 0], distribution, strict=True):
        uniform = np.interp(points, GRID[:, 0], cumulated)
        # 31 Kolmogorov-Smirnov tests of nearly independent draws: together, false alarms in 1 of 10^5 runs.
        assert stats.kstest(uniform, "uniform").pvalue > 1e-5 / 31


def test_path_means_are_within_monte_carlo_error(path):
    n = path.log_likelihood.shape[1]
    z = (path.log_likelihood.mean(axis=1) - van_der_pol.EXACT_MEAN) / np.sqrt(van_der_pol.EXACT_VARIANCE / n)
    # 31 tests at six standard errors, skewness of the means 0.2 at most: false alarms in fewer than 1 of 10^5 runs.
    assert np.abs(z).max() < 6


def test_stein_identities_hold_along_the_path(path):
    x, s = path.points[..., 0], path.scores[..., 0]
    for product, exact in ((s, 0.0), (x * s, -1.0)):
        error = product.std(axis=1) / np.sqrt(product.shape[1])
        assert np.all(np.abs(product.mean(axis=1) - exact) < 6 * error)


def test_path_carries_likelihood_and_scores_of_its_points(path):
    points = path.points[:, -1]
    np.testing.assert_allclose(path.log_likelihood[:, -1], van_der_pol.log_likelihood(points), rtol=1e-12)
    np.testing.assert_allclose(path.scores_likelihood[:, -1], van_der_pol.score_likelihood(points), rtol=1e-9)
    np.testing.assert_array_equal(path.scores[0], path.scores_prior[0])
    np.testing.assert_allclose(path.scores[-1, -1:], van_der_pol.score(points[-1:]), rtol=1e-9)


def test_path_is_plain_float64_and_global_precision_stays(path):
    shapes = (31, N_SAMPLES, 1), (31, N_SAMPLES), (31, N_SAMPLES, 1), (31, N_SAMPLES, 1)
    assert tuple(a.shape for a in path) == shapes
    assert all(type(a) is np.ndarray and a.dtype == np.float64 and a.flags.writeable for a in path)
    assert jax.numpy.ones(1).dtype == (np.float64 if jax.config.jax_enable_x64 else np.float32)


def test_seeds_are_reproducible(path):
    again = van_der_pol.sample_path(seed=0, n_samples=N_SAMPLES, thin=2)
    np.testing.assert_array_equal(path.points, again.points)
    other = van_der_pol.sample_path(seed=1, n_samples=N_SAMPLES, warmup=0, thin=1)
    assert not np.any(other.points == path.points)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="thin"):
        van_der_pol.sample_path(0, 10, thin=0)
    with pytest.raises(ValueError, match="shape"):
        van_der_pol.log_likelihood(np.zeros(3))
