import sys

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import solve_ivp

import vvcv
from vvcv.problems import lotka_volterra, lotka_volterra_reference

POINTS = lotka_volterra_reference.load_points()[:6]
N_CHAINS, N_DRAWS, WARMUP = 2, 150, 120


@pytest.fixture(scope="module")
def draws():
    pytest.importorskip("blackjax")
    return lotka_volterra.sample(0, N_DRAWS, N_CHAINS, WARMUP)


def test_log_posterior_agrees_with_the_model_written_out():
    expected = [_log_posterior(x) for x in POINTS]
    found = lotka_volterra.log_posterior(POINTS)
    # The library drops constants, so differences are compared.
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-6, atol=1e-6)


def test_score_is_the_gradient_of_the_log_posterior():
    e = 1e-5
    f = lotka_volterra.log_posterior
    numerical = [(f(POINTS + e * axis) - f(POINTS - e * axis)) / (2 * e) for axis in np.eye(8)]
    np.testing.assert_allclose(lotka_volterra.score(POINTS), np.stack(numerical, axis=1), rtol=1e-5, atol=1e-5)


def test_abundance_agrees_with_another_solver_at_unordered_times():
    times = [1913.2, 1900.0, 1912.0, 1919.9]
    expected = [_orbit(x, np.sort(times) - 1900)[0][np.argsort(np.argsort(times))] for x in POINTS]
    np.testing.assert_allclose(lotka_volterra.abundance(POINTS, times), expected, rtol=1e-7)


def test_observations_start_in_1900():
    assert lotka_volterra.YEARS[0] == 1900
    assert lotka_volterra.OBSERVATIONS.shape == (21, 2)
    assert tuple(lotka_volterra.OBSERVATIONS[0]) == (30.0, 4.0)


def test_draws_carry_their_scores(draws):
    assert draws.points.shape == draws.scores.shape == (N_CHAINS * N_DRAWS, 8)
    assert draws.points.dtype == draws.scores.dtype == np.float64
    np.testing.assert_allclose(draws.scores[-6:], lotka_volterra.score(draws.points[-6:]), rtol=1e-8, atol=1e-8)


def test_draws_agree_with_the_reference(draws):
    times = lotka_volterra.TASK_TIMES[10] + lotka_volterra.ADDITIONAL_TASK_TIMES[10]
    reference = lotka_volterra_reference.load(times)
    values = lotka_volterra.abundance(draws.points, times)
    chain_values = values.reshape(N_CHAINS, N_DRAWS, -1)
    error = lotka_volterra_reference.batch_standard_error(chain_values, batches_per_chain=10)
    z = (values.mean(axis=0) - reference.mean) / np.hypot(error, reference.standard_error)
    # Twenty tests, Student t with 19 degrees of freedom: false alarms in fewer than 1 of 10^4 runs.
    assert np.abs(z).max() < 7


def test_seeds_are_reproducible(draws):
    again = lotka_volterra.sample(0, N_DRAWS, N_CHAINS, WARMUP)
    np.testing.assert_array_equal(draws.points, again.points)


def test_missing_blackjax_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "blackjax", None)
    with pytest.raises(ImportError, match=r"vvcv\[blackjax\]"):
        lotka_volterra.sample(0, n_draws=3, n_chains=1, warmup=7)


def test_missing_stan_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "stan", None)
    with pytest.raises(ImportError, match=r"vvcv\[stan\]"):
        lotka_volterra.sample(0, n_draws=3, n_chains=1, warmup=7, sampler="stan")


def test_stan_draws_from_the_same_posterior():
    pytest.importorskip("stan")
    draws = lotka_volterra.sample(1, 100, 2, 200, sampler="stan")
    # Sharpened, so that even a small difference of the two models would show.
    tasks = vvcv.Tasks.shared(draws.points, draws.scores, lotka_volterra.abundance(draws.points, [1912.0, 1915.0]))
    found, reference = vvcv.estimate(tasks, method="zv"), lotka_volterra_reference.load([1912.0, 1915.0])
    # Two tests at six standard errors, which are known to 5 %: false alarms below 1 of 10^4.
    assert np.all(np.abs(found.mean - reference.mean) < 6 * found.std_error)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="sampler"):
        lotka_volterra.sample(0, n_draws=3, sampler="gibbs")
    with pytest.raises(ValueError, match="1900"):
        lotka_volterra.abundance(POINTS, [12.2])
    with pytest.raises(ValueError, match=r"\(n, 8\)"):
        lotka_volterra.score(POINTS.T)
    with pytest.raises(ValueError, match="n_draws"):
        lotka_volterra.sample(0, n_draws=0)


def _orbit(x, times):
    alpha, beta, delta, gamma = np.exp(x[:4])

    def field(_, v):
        return [alpha * v[0] - beta * v[0] * v[1], delta * v[0] * v[1] - gamma * v[1]]

    return solve_ivp(field, (0, 20), np.exp(x[4:6]), "DOP853", times, rtol=1e-12, atol=1e-12).y


def _log_posterior(x):
    log_sd = x[6:]
    prey, predators = np.log(_orbit(x, lotka_volterra.YEARS - 1900))
    hare, lynx = lotka_volterra.OBSERVATIONS.T
    likelihood = stats.lognorm.logpdf(hare, np.exp(log_sd[0]), scale=np.exp(prey)).sum()
    likelihood += stats.lognorm.logpdf(lynx, np.exp(log_sd[1]), scale=np.exp(predators)).sum()
    means = [0, -3, -3, 0, np.log(10), np.log(10), -1, -1]
    return likelihood + stats.norm.logpdf(x, means, [0.5] * 4 + [1.0] * 4).sum()
