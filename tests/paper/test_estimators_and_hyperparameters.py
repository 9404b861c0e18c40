"""beta, split and cross-fitted estimators with their standard errors; marginal likelihood, cross-validation, median."""

import jax
import numpy as np
import pytest

from vvcv.data import Task, Tasks
from vvcv.kernels import Side, SquaredExponential
from vvcv.paper import Alternation, BlockCoordinateDescent, ConvexSequence, Exact, MarkovChainVariance, fit
from vvcv.paper.cross_validation import cross_validate, median_heuristic
from vvcv.paper.estimators import CrossFit, Split
from vvcv.paper.marginal_likelihood import (
    MarginalLikelihood,
    MiniBatchMarginalLikelihood,
    log_marginal_likelihood,
    maximise_marginal_likelihood,
)
from vvcv.paper.splits import folds
from vvcv.paper.variates import KernelVariate, PolynomialVariate
from vvcv.stein import SteinKernel, gram

VARIATE = KernelVariate(SquaredExponential(1.5))


def draw(seed, n=24):
    x = np.random.default_rng(seed).standard_normal((n, 1))
    return Tasks.shared(x, -x, np.column_stack([np.exp(0.8 * x[:, 0]), np.sin(x[:, 0]) + 2]), names=["exp", "sin"])


TRUTH = np.array([np.exp(0.32), 2.0])


@pytest.mark.parametrize("estimator", [Split(0.5), CrossFit(4)], ids=["split", "cross-fit"])
def test_split_and_cross_fitting_are_unbiased_with_honest_standard_errors(estimator):
    # 150 data sets; a calibrated, unbiased estimator fails each bound of 4.5 standard errors with probability 7e-6.
    found = [fit(draw(seed), VARIATE, Exact(1e-2), estimator=estimator) for seed in range(150)]
    errors = np.array([result.mean - TRUTH for result in found])
    spread = errors.std(axis=0) / np.sqrt(len(errors))
    assert (np.abs(errors.mean(axis=0)) < 4.5 * spread).all()
    claimed = np.sqrt(np.mean([result.std_error**2 for result in found], axis=0))
    assert (claimed > 0.6 * errors.std(axis=0)).all() and (claimed < 1.7 * errors.std(axis=0)).all()


def test_beta_from_all_data_beats_the_plain_average_and_its_error_bar_covers_a_bounded_integrand():
    # 150 data sets. The jackknife does not see the bias of an integrand that grows beyond the sample (the exponential):
    # cross-fitting is for that. Nominal coverage of two standard errors is 95 %; below 85 % has probability 1e-6.
    found = [fit(draw(seed), VARIATE, Exact(1e-2)) for seed in range(150)]
    errors = np.array([result.mean - TRUTH for result in found])
    plain = np.array([[t.values.mean() for t in draw(seed)] for seed in range(150)]) - TRUTH
    assert (np.mean(errors**2, axis=0) < 0.1 * np.mean(plain**2, axis=0)).all()
    covered = np.abs(errors) < 2 * np.array([result.std_error for result in found])
    assert covered[:, 1].mean() > 0.85 and covered[:, 0].mean() > 0.5


def test_cross_fitting_uses_every_row_once_with_a_variate_that_has_not_seen_it():
    tasks, seen = draw(0), []

    def fit_part(part):
        seen.append(part)
        return fit(part, PolynomialVariate(1), Exact(0.0))

    CrossFit(4).estimate(tasks, fit_part)
    for fold in seen[:4]:
        assert fold.sizes == (18, 18)
    assert seen[4] is tasks
    left_out = np.concatenate([np.setdiff1d(tasks[0].points, fold[0].points) for fold in seen[:4]])
    np.testing.assert_array_equal(np.sort(left_out), np.sort(tasks[0].points[:, 0]))


def test_splits_that_cannot_be_made_are_refused():
    tasks = draw(0, n=3)
    with pytest.raises(ValueError, match="number of folds"):
        fit(tasks, VARIATE, Exact(), estimator=CrossFit(5))
    with pytest.raises(ValueError, match="at least one row of every task"):
        fit(tasks, VARIATE, Exact(), estimator=Split(0.01))


def test_marginal_likelihood_is_the_formula_of_the_paper():
    tasks, kernel = draw(1, n=6), SquaredExponential(0.8)
    expected = 0.0
    for task in tasks:
        k = gram(SteinKernel(kernel), Side(task.points, task.scores, np.zeros(6, int))) + 0.1 * np.eye(6)
        expected -= 0.5 * (task.values @ np.linalg.solve(k, task.values) + np.linalg.slogdet(k)[1])
    assert log_marginal_likelihood(kernel, tasks, 0.1) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kernel", [SquaredExponential([3.0]), 0.5 * SquaredExponential(3.0)])
def test_full_batch_likelihood_reaches_a_stationary_point(kernel):
    settings = MarginalLikelihood(1e-2, constant=1.0)
    chosen = maximise_marginal_likelihood(kernel, draw(2), settings)
    assert chosen.after > chosen.before
    for leaf in range(len(jax.tree.leaves(chosen.kernel))):
        for shift in (-0.05, 0.05):
            leaves, tree = jax.tree.flatten(chosen.kernel)
            leaves[leaf] = leaves[leaf] + shift
            moved = jax.tree.unflatten(tree, leaves)
            assert log_marginal_likelihood(moved, draw(2), 1e-2, constant=1.0) <= chosen.after + 1e-6


def test_mini_batch_likelihood_moves_towards_better_hyperparameters():
    kernel = SquaredExponential([np.sqrt(10.0)])
    chosen = maximise_marginal_likelihood(kernel, draw(3), MiniBatchMarginalLikelihood(epochs=60, regularization=1e-3))
    assert chosen.after > chosen.before
    again = maximise_marginal_likelihood(kernel, draw(3), MiniBatchMarginalLikelihood(epochs=60, regularization=1e-3))
    np.testing.assert_array_equal(chosen.kernel.log_lengthscale, again.kernel.log_lengthscale)


def mini_batches_by_hand(tasks, square, settings):
    """Adam on the square of the lengthscale, all rows in one batch: constant kernel, nugget by condition, decay."""
    import jax.numpy as jnp

    sides = [Side(t.points, t.scores, np.zeros(t.size, int)) for t in tasks]
    size = sum(tasks.sizes)

    def covariance(square):
        kernel = jax.tree.unflatten(jax.tree.structure(SquaredExponential(1.0)), [0.5 * jnp.log(square)])
        whole = jnp.zeros((size, size))
        start = 0
        for side, task in zip(sides, tasks, strict=True):
            rows = slice(start, start + task.size)
            whole = whole.at[rows, rows].set(SteinKernel(kernel).block(side) + settings.constant)
            start += task.size
        return whole

    def loss(square):
        k = covariance(square)
        low, high = np.linalg.eigvalsh(np.asarray(covariance(jax.lax.stop_gradient(now))))[[0, -1]]
        nugget = settings.regularization
        while high + nugget >= settings.condition * (max(low, 0.0) + nugget):
            nugget *= 10
        k = k + nugget * jnp.eye(size)
        return 0.5 * tasks.values @ jnp.linalg.solve(k, tasks.values) + 0.5 * jnp.linalg.slogdet(k)[1]

    first, second, rate = 0.0, 0.0, settings.learning_rate
    for step in range(1, settings.epochs + 1):
        now = square
        slope = float(jax.grad(loss)(square))
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        moved = rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        square = max(square - moved, settings.smallest)
        rate *= settings.decay
    return square


@pytest.mark.parametrize(
    "changed",
    [{}, {"constant": 5.0}, {"decay": 0.7}, {"condition": 30.0}, {"regularization": 0.5}, {"smallest": 1.9}],
    ids=["the paper's", "constant", "decay", "condition", "nugget", "smallest"],
)
def test_mini_batch_likelihood_follows_the_authors_program_step_by_step(changed):
    from vvcv.runtime.precision import float64

    tasks = draw(6, n=8)
    settings = MiniBatchMarginalLikelihood(**({"epochs": 6, "batch_size": 16} | changed))
    chosen = maximise_marginal_likelihood(SquaredExponential(np.sqrt(2.0)), tasks, settings)
    expected = float64(mini_batches_by_hand)(tasks, 2.0, settings)
    assert np.exp(2 * float(chosen.kernel.log_lengthscale)) == pytest.approx(expected, rel=1e-8)
    assert abs(expected - 2.0) > 0.05


def test_cross_validation_prefers_the_variate_that_predicts():
    candidates = {str(l): (KernelVariate(SquaredExponential(l)), Exact(1e-3)) for l in (0.05, 1.5)}
    chosen = cross_validate(draw(4), candidates, count=4)
    assert chosen.best == "1.5" and chosen.objectives["1.5"] < 0.1 * chosen.objectives["0.05"]


def test_median_heuristic_is_the_median_distance_and_refuses_one_point():
    x = np.random.default_rng(0).standard_normal((3000, 2))
    # The distance of two independent points is sqrt(2) times a Rayleigh variable, with median 1.665.
    assert median_heuristic(x) == pytest.approx(2 * np.sqrt(np.log(2)), rel=0.05)
    with pytest.raises(ValueError, match="two distinct points"):
        median_heuristic(np.ones((4, 1)))


def test_fit_in_standard_coordinates_does_not_depend_on_units():
    tasks = draw(5)
    scaled = Tasks(
        [Task(100 + 50 * t.points, t.scores / 50, t.values, name=n) for t, n in zip(tasks, tasks.names, strict=True)]
    )
    first, second = (fit(t, VARIATE, Exact(1e-3), coordinates="scaled") for t in (tasks, scaled))
    np.testing.assert_allclose(first.mean, second.mean, rtol=1e-9)


def test_folds_are_two_at_least_and_no_more_than_there_are_points():
    for count in (2, 24):
        parts = folds(draw(0), count, seed=0)
        assert [sum(fold.sizes[0] for _, fold, _ in parts), len(parts)] == [24, count]
        assert all(other.sizes[0] + fold.sizes[0] == 24 for other, fold, _ in parts)
    for count in (1, 25):
        with pytest.raises(ValueError, match="between 2 and the smallest sample size, 24"):
            folds(draw(0), count, seed=0)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: ConvexSequence(delta="a"), "needs 0 < shrink < 1"),
        (lambda: ConvexSequence(tolerance="x"), "tolerance must be a number"),
        (lambda: ConvexSequence(tolerance=-1), "tolerance must be a number"),
        (lambda: Alternation(tolerance=float("nan")), "tolerance must be a number"),
        (lambda: MarkovChainVariance(bandwidth="a"), "bandwidth, in lags, must be"),
        (lambda: MarkovChainVariance(bandwidth=2.5), "bandwidth, in lags, must be"),
        (lambda: BlockCoordinateDescent(learning_rate_b=-1.0), "learning rate of B must be positive"),
        (lambda: BlockCoordinateDescent(optimizer="adam"), "optimizer must be one of optax's"),
        (lambda: Split(2), "fraction of the rows, between 0 and 1"),
        (lambda: CrossFit(1), "number of folds must be an integer of at least 2"),
    ],
)
def test_settings_that_mean_nothing_are_refused_where_they_are_made(made, message):
    with pytest.raises(ValueError, match=message):
        made()
