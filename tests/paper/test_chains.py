"""Chains stay chains: honest error bars of every estimator, parts that keep the shape, blocks left out."""

import numpy as np
import pytest
from scipy.signal import lfilter

from vvcv.data import Task, Tasks
from vvcv.data.chains import effective_size, effective_sizes, variance_of_mean
from vvcv.kernels import SquaredExponential
from vvcv.paper import (
    CrossFit,
    Exact,
    KernelVariate,
    MarkovChainVariance,
    PolynomialVariate,
    Problem,
    Split,
    StochasticOptimisation,
    fit,
)
from vvcv.paper.closed_form import joint_solution
from vvcv.paper.error_bars import average_variance, exact_covariance
from vvcv.paper.splits import folds, hold_out


def autoregression(seed, rho, chains, draws):
    rng = np.random.default_rng(seed)
    steps = np.sqrt(1 - rho**2) * rng.standard_normal((chains, draws))
    steps[:, 0] = rng.standard_normal(chains)
    return lfilter([1.0], [1.0, -rho], steps, axis=1)


def chain_task(seed, rho=0.95, chains=2, draws=300, f=np.sin):
    x = autoregression(seed, rho, chains, draws)
    return Tasks([Task(x[..., None], -x[..., None], f(x))])


WAYS = {
    "exact": (Exact(0.0), None),
    "chain objective": (Exact(0.0, objective=MarkovChainVariance()), None),
    "split": (Exact(0.0), Split(0.5)),
    "cross-fit": (Exact(0.0), CrossFit(5)),
    "descent": (StochasticOptimisation(0), None),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("rho", "chains"), [(0.0, 1), (0.95, 2)])
def test_two_standard_errors_cover_on_chains(way, rho, chains):
    # What a straight line leaves of exp mixes half as slowly as the chain. 60 samples: 49 or fewer of a calibrated
    # interval have probability 2e-4, and error bars of independent rows cover about 24 of 60 at rho = 0.95.
    selection, estimator = WAYS[way]
    hits, errors, off = 0, [], []
    for seed in range(60):
        tasks = chain_task(seed, rho, chains, 1200 // chains, lambda x: np.exp(0.5 * x))
        result = fit(tasks, PolynomialVariate(1), selection, estimator=estimator)
        off.append(result.mean[0] - np.exp(0.125))
        errors.append(result.std_error[0])
        hits += abs(off[-1]) < 2 * errors[-1]
    assert hits >= 50
    assert np.median(errors) < 2 * np.sqrt(np.mean(np.square(off)))


def test_a_kernel_that_interpolates_its_neighbours_is_not_believed():
    # Along a slow chain every point is next to another: leaving single draws out says nothing of places not visited.
    variate, hits = KernelVariate(SquaredExponential(0.5)), 0
    for seed in range(20):
        tasks = chain_task(seed, 0.95, 2, 250, lambda x: np.exp(0.5 * x))
        result = fit(tasks, variate, Exact(1e-4))
        hits += abs(result.mean[0] - np.exp(0.125)) < 2 * result.std_error[0]
    assert hits >= 16


def test_independent_rows_have_the_jackknife_of_rows(one_target):
    result = fit(one_target, PolynomialVariate(1), Exact(0.0))
    influence = joint_solution(result.problem, 0.0, "euclidean").influence()
    design = np.hstack([result.problem.columns, np.asarray(result.problem.space.expand(np.eye(2)))])
    values, moved = one_target.values, []
    for i in range(len(values)):
        kept = np.arange(len(values)) != i
        root = np.sqrt(1 / np.repeat(one_target.sizes, one_target.sizes))[kept]
        moved.append(np.linalg.lstsq(design[kept] * root[:, None], values[kept] * root, rcond=None)[0][:2])
    changes = result.mean - np.array(moved)
    np.testing.assert_allclose(influence.weights[:2] * influence.left_out, changes.T, atol=1e-7)
    np.testing.assert_allclose(result.std_error, np.sqrt(np.sum(changes**2, axis=0)), rtol=1e-5)


@pytest.mark.parametrize(
    ("variate", "penalty"), [(KernelVariate(SquaredExponential(1.0)), "rkhs"), (None, "euclidean")]
)
def test_a_block_left_out_is_a_fit_without_it(variate, penalty):
    tasks = chain_task(0, 0.9, 1, 40)
    lam = 1e-2 if variate is not None else 0.0
    problem = Problem(tasks, variate or PolynomialVariate(2))
    rows = np.arange(10, 17)
    kept = np.setdiff1d(np.arange(40), rows)
    residuals = next(iter(joint_solution(problem, lam, penalty).influence().blocks_left_out([rows])))
    part = Task(tasks[0].points[kept], tasks[0].scores[kept], tasks[0].values[kept])
    # Without rows the penalty per row must stay: lambda times m on the diagonal.
    without = fit(part, problem.variate, Exact(lam * 40 / 33))
    predicted = without.mean[0] + without.control_variate(tasks[0].points[rows], tasks[0].scores[rows])
    np.testing.assert_allclose(residuals, tasks[0].values[rows] - predicted, atol=1e-8)


def test_parts_of_chains_are_runs_of_neighbours_of_every_chain():
    x = np.arange(20.0).reshape(2, 10)
    tasks = Tasks([Task(x[..., None], -x[..., None], x)])
    kept, held = hold_out(tasks, 0.3, seed=0)
    assert kept[0].chains == (2, 7) and held[0].chains == (2, 3)
    np.testing.assert_array_equal(held[0].values.reshape(2, 3), x[:, 7:])
    for k, (others, fold, rows) in enumerate(folds(tasks, 5, seed=0)):
        assert others[0].chains == (2, 8) and fold[0].chains == (2, 2)
        run = fold[0].values.reshape(2, 2)
        np.testing.assert_array_equal(run[:, 1] - run[:, 0], 1.0)
        np.testing.assert_array_equal(run, x[:, 8 - 2 * k : 10 - 2 * k])
        np.testing.assert_array_equal(tasks[0].values[rows[0]], fold[0].values)


def test_split_fits_the_first_fraction_and_averages_the_rest():
    seen = []

    def fit_part(part):
        seen.append(part.sizes)
        return fit(part, PolynomialVariate(1), Exact(0.0))

    x = np.random.default_rng(0).standard_normal((20, 1))
    tasks = Tasks.shared(x, -x, np.exp(x))
    result = Split(0.75).estimate(tasks, fit_part)
    assert seen == [(15,)]
    kept, rest = hold_out(tasks, 0.25, 0)
    assert rest.sizes == (5,)
    assert result.mean[0] == pytest.approx(fit_part(kept).remainder(rest).mean(), rel=1e-12)


def test_the_effective_size_of_an_autoregression_is_known():
    x = autoregression(1, 0.9, 4, 20_000)
    assert effective_size(x.ravel(), x.shape) == pytest.approx(x.size * 0.1 / 1.9, rel=0.1)
    assert effective_sizes(x.reshape(-1, 1), x.shape)[0] == pytest.approx(x.size * 0.1 / 1.9, rel=0.1)
    variance, draws = variance_of_mean(x.ravel(), x.shape)
    assert variance == pytest.approx(1.9 / 0.1 / x.size, rel=0.15) and draws == pytest.approx(x.size / 19, rel=0.15)
    assert effective_size(x.ravel(), None) == x.size
    assert effective_size(np.zeros(100), (1, 100)) == 100


def test_the_variance_of_a_single_short_chains_mean_is_not_too_small():
    # 8 correlation times: autocovariances about the chain's own mean alone give about two thirds of it.
    found = [variance_of_mean(autoregression(s, 0.95, 1, 312)[0], (1, 312))[0] for s in range(300)]
    assert np.median(found) == pytest.approx(39 / 312, rel=0.25)


def test_error_bars_with_few_effective_draws_are_students():
    from scipy.stats import t

    x = np.random.default_rng(3).standard_normal(12)
    variance, draws = variance_of_mean(x, (1, 12))
    kurtosis = max(np.mean((x - x.mean()) ** 4) / np.var(x) ** 2, 3.0)
    factor = t.ppf(0.9772498680518208, max(2 * draws / (kurtosis - 1) - 1, 3)) / 2
    assert average_variance(x, (1, 12)) == pytest.approx(variance * factor**2, rel=1e-9)
    assert average_variance(x, None) == pytest.approx(np.var(x, ddof=1) / 12, rel=1e-12)


def test_two_integrands_on_one_chain_have_correlated_errors():
    x = autoregression(0, 0.9, 2, 300)[..., None]
    values = np.concatenate([np.exp(0.5 * x), np.exp(0.5 * x) + 0.01 * np.cos(x)], axis=-1)
    covariance = fit(Tasks.shared(x, -x, values), PolynomialVariate(1), Exact(0.0)).covariance
    assert covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]) > 0.99
    assert np.linalg.eigvalsh(covariance)[0] > -1e-12 * covariance[0, 0]


def test_errors_of_related_tasks_on_chains_of_their_own_add_up_over_the_chains():
    first, second = chain_task(0, draws=60)[0], chain_task(1, draws=40, f=np.cos)[0]
    tasks, b = Tasks([first, second]), np.array([[1.0, 0.8], [0.8, 1.2]])
    problem = Problem.build(tasks, KernelVariate(SquaredExponential(1.0), b))
    solution = joint_solution(problem, 1e-2)
    whole = exact_covariance(problem, solution)
    np.testing.assert_allclose(whole, whole.T, rtol=1e-12)
    np.testing.assert_array_less(0, np.linalg.eigvalsh(whole))
