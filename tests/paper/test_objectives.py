"""J_vv in all norms, the MCMC objective of Remark 1 against brute force, and choosing by it on chains."""

import numpy as np
import pytest

from vvcv.data import Task, Tasks
from vvcv.kernels import SquaredExponential
from vvcv.paper import Exact, fit
from vvcv.paper.objective import (
    MarkovChainVariance,
    Variance,
    asymptotic_variance,
    coregionalization_penalty,
    j_vv,
    lag_weights,
)
from vvcv.paper.variates import BasisVariate, KernelVariate, PolynomialVariate
from vvcv.runtime.precision import float64

RNG = np.random.default_rng(0)


def brute_force(residuals, weights):
    """Remark 1 letter by letter: beta is part of the residuals, the averages of f - g are taken off the products."""
    chains, draws = residuals.shape
    m, centred = chains * draws, residuals - residuals.mean()
    total = np.sum(residuals**2) / m
    for s in range(1, draws):
        for chain in centred:
            total += 2 * weights[s] / m * sum(chain[i] * chain[i + s] for i in range(draws - s))
    return total


@pytest.mark.parametrize("window", ["bartlett", "parzen"])
@pytest.mark.parametrize("shape", [(1, 30), (3, 12)])
@float64
def test_mcmc_objective_equals_brute_force(window, shape):
    residuals = np.cumsum(RNG.standard_normal(shape), axis=1)
    expected = brute_force(residuals, lag_weights(shape[1], window, 5))
    assert float(asymptotic_variance(residuals, window, 5)) == pytest.approx(expected, rel=1e-12)
    objective = MarkovChainVariance(window, 5)
    flat, precision = residuals.reshape(-1), objective.precision([shape])
    assert flat @ precision @ flat == pytest.approx(expected, rel=1e-12)
    assert np.linalg.eigvalsh(precision)[0] > 0


@float64
def test_without_a_window_the_sum_over_all_lags_vanishes_which_is_why_there_is_one():
    residuals = RNG.standard_normal((1, 20))
    assert brute_force(residuals - residuals.mean(), np.ones(20)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("norm", [1.0, 1.5, 2.0, 7.0, np.inf])
@float64
def test_j_vv_is_the_norm_of_the_variances(norm):
    residuals, task = RNG.standard_normal(9), np.repeat([0, 1, 2], [4, 3, 2])
    counts = np.bincount(task)[task]
    variances = [np.mean(residuals[task == t] ** 2) for t in range(3)]
    expected = np.linalg.norm(variances, norm)
    assert float(j_vv(residuals, task, 1 / counts, 3, norm)) == pytest.approx(expected, rel=1e-12)
    assert Variance(norm).value(residuals, [(1, 4), (1, 3), (1, 2)]) == pytest.approx(expected, rel=1e-12)


def test_norms_do_not_move_where_residuals_vanish():
    import jax

    gradient = jax.grad(lambda r: j_vv(r, np.array([0, 1]), np.ones(2), 2, 2.0))(np.zeros(2, np.float32))
    np.testing.assert_array_equal(gradient, 0.0)


def test_penalty_on_b_is_the_squared_frobenius_norm():
    assert float(coregionalization_penalty(np.array([[1.0, 2.0], [2.0, 3.0]]))) == 18.0


@float64
def test_stein_rkhs_penalty_is_the_norm_of_the_interpolant():
    x = RNG.standard_normal((8, 2))
    task = Task(x, -x, x[:, 0])
    result = fit(task, KernelVariate(SquaredExponential(1.0)), Exact(1e-2))
    c, gram = result.coefficients, np.asarray(result.problem.space.gram)
    assert float(result.problem.space.penalty(c, np.eye(1), "rkhs")) == pytest.approx(c @ gram @ c, rel=1e-12)
    assert float(result.problem.space.penalty(c, np.eye(1), "euclidean")) == pytest.approx(c @ c, rel=1e-12)


def slow_and_fast(rng, draws):
    """x_1 an autoregression of coefficient 0.9, x_2 independent draws, both N(0, 1)."""
    slow = np.empty(draws)
    slow[0] = rng.standard_normal()
    steps = rng.standard_normal(draws) * np.sqrt(1 - 0.81)
    for i in range(1, draws):
        slow[i] = 0.9 * slow[i - 1] + steps[i]
    return np.column_stack([slow, rng.standard_normal(draws)])


def test_on_autocorrelated_chains_choosing_by_the_mcmc_objective_gives_a_smaller_variance():
    # f = x_1 + 2 x_2 and one function g = x_1 - x_2: J_vv cancels x_2, the chain's variance asks to cancel x_1.
    # Means of 200 chains: true variances differ by a factor of 5; a ratio above 1 has probability below 1e-20.
    basis = BasisVariate(lambda x: (x[1] - x[0])[None])
    errors = {"variance": [], "chain": []}
    for seed in range(200):
        x = slow_and_fast(np.random.default_rng(seed), 400)
        task = Task(x[None], -x[None], (x[:, 0] + 2 * x[:, 1])[None])
        for name, objective in (("variance", Variance()), ("chain", MarkovChainVariance())):
            errors[name].append(fit(task, basis, Exact(0.0, objective=objective)).mean[0])
    assert np.var(errors["chain"]) < 0.5 * np.var(errors["variance"])


def test_chain_objective_reports_an_honest_standard_error():
    # The slow coordinate stays in the remainder, whose variance without its lags is 19 times too small. 60 chains: the
    # mean of (error / standard error)^2 lies in (0.4, 2) for a calibrated one but for 1 case in 10^4.
    basis = BasisVariate(lambda x: x[1:])
    ratios = []
    for seed in range(60):
        x = slow_and_fast(np.random.default_rng(1000 + seed), 600)
        task = Task(x[None], -x[None], (x[:, 0] + 2 * x[:, 1])[None])
        result = fit(task, basis, Exact(0.0, objective=MarkovChainVariance()))
        ratios.append(result.mean[0] / result.std_error[0])
    assert 0.4 < np.mean(np.square(ratios)) < 2


def test_closed_forms_refuse_other_norms_and_bad_ones_are_named():
    x = RNG.standard_normal((10, 1))
    with pytest.raises(ValueError, match="1-norm.*StochasticOptimisation"):
        fit(Tasks(Task(x, -x, x[:, 0])), PolynomialVariate(1), Exact(0.0, objective=Variance(2.0)))
    with pytest.raises(ValueError, match="at least 1"):
        Variance(0.5)
    with pytest.raises(ValueError, match="bandwidth"):
        lag_weights(5, "bartlett", 0)
