"""The parts of which descents and objectives are made, number by number: pieces of a path, batches, splits, norms."""

import numpy as np
import pytest

from vvcv import Task, Tasks
from vvcv.kernels import SquaredExponential
from vvcv.paper import (
    BlockCoordinateDescent,
    Exact,
    KernelVariate,
    PolynomialVariate,
    Problem,
    StochasticOptimisation,
    descent,
    fit,
)
from vvcv.paper.batches import make_batches, shuffled_rows
from vvcv.paper.objective import MarkovChainVariance, Variance, asymptotic_variance, j_vv, lag_weights, vector_norm
from vvcv.paper.splits import as_generator, folds, hold_out
from vvcv.runtime.precision import float64

KERNEL = SquaredExponential(1.5)
RNG = np.random.default_rng(2)


def test_a_fit_stalls_when_every_replication_has_gone_its_patience_without_a_new_least():
    def piece(*held):
        return [None, None, None, np.array(held)]

    path = [piece([3.0, 1.0], [2.0, 3.0]), piece([2.0, 2.0], [4.0, 4.0])]
    assert descent._stalled(path, 2) and not descent._stalled(path, 3)
    assert not descent._stalled([piece([3.0, 1.0], [3.0, 4.0]), piece([2.0, 0.5], [4.0, 4.0])], 1)


def test_an_objective_is_refused_where_it_is_not_finite_or_ends_too_high():
    settings, reference = StochasticOptimisation(learning_rate=0.5), np.array([1.0, 1.0])
    rising = np.array([[1.0, 1.5], [1.0, 2.5]])
    descent._check(rising, reference, 0, settings, last=False)  # it may rise for a while
    descent._check(rising - 0.6, reference, 0, settings, last=True)
    with pytest.raises(ValueError, match=r"by epoch 52 it is 2.5, from 1 at the start \(data set 1\).*rate 0.5 is"):
        descent._check(rising, reference, 50, settings, last=True)
    with pytest.raises(ValueError, match="data set 0"):
        descent._check(np.array([[np.nan, 1.0], [1.0, 1.0]]), reference, 0, settings, last=False)


def test_orders_are_those_of_the_seeds_and_one_batch_needs_none(one_target):
    problem = Problem(one_target, KernelVariate(KERNEL))
    whole = descent._orders([np.random.default_rng(0)] * 3, problem, make_batches((40, 25), None))
    assert whole.shape == (3, descent.CHUNK, 1) and not np.any(whole)
    orders = descent._orders([as_generator(4), as_generator(5)], problem, make_batches((40, 25), 13))
    expected = shuffled_rows(as_generator(5), one_target.task, descent.CHUNK)
    np.testing.assert_array_equal(orders[1], expected)


def test_a_chunk_is_no_boundary_of_the_path_and_its_end_is_taken_not_its_best(one_target, monkeypatch):
    monkeypatch.setattr(descent, "CHUNK", 4)
    fast = {"learning_rate": 0.9, "decay": 0.9, "diverged": 1e9}  # so fast that it rises
    found, shorter = (fit(one_target, PolynomialVariate(1), StochasticOptimisation(n, None, **fast)) for n in (6, 4))
    for name in ("objective", "mean", "coregionalization"):
        assert len(getattr(found.path, name)) == 6
        np.testing.assert_array_equal(getattr(found.path, name)[:4], getattr(shorter.path, name))
    assert found.path.held_out is None and found.objective == found.path.objective[-1]
    assert found.path.objective.argmin() == 3
    np.testing.assert_allclose(found.mean, found.path.mean[-1], rtol=1e-12)


def test_replications_of_unequal_shape_and_matrix_kernels_are_refused(one_target):
    small = Problem(Tasks([one_target[0]]), KernelVariate(KERNEL))
    with pytest.raises(ValueError, match="equal sample sizes"):
        descent._check_shapes([Problem(one_target, KernelVariate(KERNEL)), small], StochasticOptimisation())
    descent._check_shapes([small, small], BlockCoordinateDescent())


def test_batches_by_task_take_the_rows_of_each_of_three_tasks():
    batches = make_batches((4, 3, 5), (2, 3, 1))
    first, second, third = batches.positions[:, :2], batches.positions[:, 2:5], batches.positions[:, 5:]
    assert len(batches.positions) == 5  # the third task needs most
    np.testing.assert_array_equal(np.unique(first), [0, 1, 2, 3])
    np.testing.assert_array_equal(np.unique(second), [4, 5, 6])
    np.testing.assert_array_equal(np.unique(third), [7, 8, 9, 10, 11])


def test_batches_have_weights_that_make_their_gradient_unbiased():
    batches = make_batches((5, 3), 4)
    np.testing.assert_array_equal(batches.positions, [[0, 1, 5, 0, 0], [2, 3, 4, 6, 7]])
    np.testing.assert_allclose(batches.weights, [[2 / 5, 2 / 5, 2 / 3, 0, 0], [2 / 5] * 3 + [2 / 3] * 2])
    assert make_batches((5, 3), 8).per_epoch == make_batches((5, 3), None).per_epoch == 1
    assert make_batches((5, 3), 1).per_epoch == 8
    own = make_batches((5, 3), (2, 3))
    np.testing.assert_array_equal(own.positions, [[0, 1, 5, 6, 7], [2, 3, 5, 6, 7], [4, 0, 5, 6, 7]])
    np.testing.assert_allclose(own.weights, [[1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3]] * 3)
    for wrong in (0, 9):
        with pytest.raises(ValueError, match="from 1 to the number of rows, 8"):
            make_batches((5, 3), wrong)
    for wrong in ((0, 1), (1, 4), (1,)):
        with pytest.raises(ValueError, match="one integer for each"):
            make_batches((5, 3), wrong)


def test_parts_hold_the_fraction_they_are_told_and_every_row_once():
    x = np.arange(10.0)[:, None]
    kept, held = hold_out(Tasks.shared(x, -x, x), 0.25, seed=3)
    assert kept.sizes == (8,) and held.sizes == (2,)  # 2.5 rounds to even
    assert sorted([*kept.values, *held.values]) == x[:, 0].tolist()
    assert held.values.tolist() == sorted(as_generator(3).permutation(10)[:2])
    for fraction in (0.04, 0.96):
        with pytest.raises(ValueError, match="at least one row"):
            hold_out(Tasks.shared(x, -x, x), fraction, seed=0)
    parts = folds(Tasks.shared(x, -x, x), 10, seed=0)
    assert [part.sizes for _, part, _ in parts] == [(1,)] * 10 and parts[3][0].sizes == (9,)
    assert sorted(int(rows[0][0]) for _, _, rows in parts) == list(range(10))
    chain = np.arange(12.0).reshape(2, 6, 1)
    kept, held = hold_out(Tasks([Task(chain, -chain, chain[..., 0])]), 1 / 3, seed=0)
    assert held.values.tolist() == [4, 5, 10, 11] and held[0].chains == (2, 2) and kept[0].chains == (2, 4)


def test_norms_of_variances_and_windows_of_lags():
    v = np.array([3.0, 0.0, 4.0])
    assert float(vector_norm(v, 2)) == pytest.approx(5.0) and float(vector_norm(v, 1)) == 7
    assert float(vector_norm(v, np.inf)) == 4 and float(vector_norm(np.zeros(2), 3)) == 0
    assert float(vector_norm(1e-200 * v, 2)) == pytest.approx(5e-200)
    residuals, task, weights = np.array([1.0, 3.0, 2.0]), np.array([0, 0, 1]), np.array([0.5, 0.5, 1.0])
    assert float(j_vv(residuals, task, weights, 2, importance=(1.0, 0.5))) == pytest.approx(7.0)
    np.testing.assert_allclose(lag_weights(4), [1, 0.5, 0, 0])  # a bandwidth of the root of the length
    np.testing.assert_allclose(lag_weights(5), [1, 2 / 3, 1 / 3, 0, 0])
    u = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    parzen = [1, 1 - 6 / 16 + 6 / 64, 0.25, 2 * 0.25**3, 0]
    np.testing.assert_allclose(lag_weights(5, "parzen", 4), parzen, err_msg=str(u))
    with pytest.raises(ValueError, match="at least 1"):
        lag_weights(5, "parzen", 0)
    with pytest.raises(ValueError, match="at least 1"):
        Variance(norm=0.9)
    for wrong in ((1.0, 0.0), (1.0, np.inf)):
        with pytest.raises(ValueError, match="positive and finite"):
            Variance(importance=wrong)


@float64
def test_objectives_are_quadratic_forms_of_their_precision():
    chains = [(2, 6), (2, 6)]
    residuals = RNG.normal(size=24)
    moving = MarkovChainVariance("parzen", 3)
    q = moving.precision(chains)
    assert residuals @ q @ residuals == pytest.approx(moving.value(residuals, chains), rel=1e-9)
    parts = [float(asymptotic_variance(part.reshape(2, 6), "parzen", 3)) for part in (residuals[:12], residuals[12:])]
    assert moving.value(residuals, chains) == pytest.approx(sum(parts), rel=1e-12)
    assert float(moving.loss(residuals, None, None, chains)) == pytest.approx(sum(parts), rel=1e-12)
    still = Variance(importance=(0.5, 2.0))
    expected = 0.5 * np.mean(residuals[:12] ** 2) + 2 * np.mean(residuals[12:] ** 2)
    assert residuals**2 @ still.precision(chains) == pytest.approx(expected, rel=1e-12)
    assert still.value(residuals, chains) == pytest.approx(expected, rel=1e-12)
    assert Variance(norm=2.0, importance=(0.5, 2.0)).quadratic == still and moving.quadratic is moving
    assert (Variance().norm, Variance().importance) == (1.0, None)


@pytest.mark.parametrize("wrong", [2, "ab", (), (1.0, "a")])
def test_an_importance_that_is_no_list_of_numbers_is_refused_in_words(wrong):
    with pytest.raises(ValueError, match="positive and finite, one number for each"):
        Variance(importance=wrong)


@pytest.mark.parametrize(
    ("setting", "wrong", "rule"),
    [
        ("decay", "a", "decay multiplies"),
        ("decay", -1.0, "decay multiplies"),
        ("decay", np.nan, "decay multiplies"),
        ("patience", "a", "The patience"),
        ("patience", -1, "The patience"),
        ("precision", "float16", "The precision"),
        ("diverged", "a", "diverged is"),
        ("objective", Variance, "An objective is .* the class Variance: call it"),
    ],
)
def test_settings_of_a_descent_that_are_none_are_refused_in_words(setting, wrong, rule):
    with pytest.raises(ValueError, match=rule):
        StochasticOptimisation(**{setting: wrong})


def test_an_objective_that_was_not_called_is_refused_everywhere():
    with pytest.raises(ValueError, match="the class Variance: call it"):
        Exact(objective=Variance)
    with pytest.raises(ValueError, match="p of at least 1"):
        Variance(norm="a")


def test_the_coordinates_that_scores_tell_are_those_of_the_scores():
    x = np.random.default_rng(0).normal(size=(9, 2)) @ np.array([[2.0, 1.0], [0.0, 0.5]])
    precision = np.linalg.inv(np.array([[4.0, 2.0], [2.0, 1.25]]))
    tasks = Tasks.shared(x, -x @ precision, x**2)
    side = Problem(tasks, PolynomialVariate(2), "precision").side
    np.testing.assert_allclose(side.scores, -side.points, atol=1e-9)  # a standard normal's
    with pytest.raises(ValueError, match="tell no covariance. Use 'whitened'"):
        _ = Problem(Tasks.shared(x, x, x**2), PolynomialVariate(2), "precision").side
