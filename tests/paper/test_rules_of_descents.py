"""What a descent is told before it starts: whose states, which blocks, which rates and penalties."""

import numpy as np
import pytest

from vvcv.kernels import Fixed, SquaredExponential
from vvcv.paper import (
    BlockCoordinateDescent,
    KernelVariate,
    MarginalLikelihood,
    MiniBatchMarginalLikelihood,
    Problem,
    StochasticOptimisation,
)
from vvcv.paper.descent import _held, _rules, _start, _start_objective
from vvcv.paper.loop import Known, _held_out, start
from vvcv.runtime.precision import float64

KERNEL = SquaredExponential(1.5)
PUBLISHED = BlockCoordinateDescent.as_published(learning_rate=0.1, learning_rate_b=0.5)


@pytest.mark.parametrize(
    ("settings", "learn_b", "shared", "first"),
    [
        (StochasticOptimisation(), False, False, False),
        (BlockCoordinateDescent(), True, False, False),
        (BlockCoordinateDescent(shared_state=True), True, True, False),
        (PUBLISHED, True, True, True),
    ],
    ids=["algorithm 2", "algorithm 1", "one state", "as published"],
)
@float64
def test_algorithm_one_has_a_state_for_each_block_unless_one_is_asked_for(one_target, settings, learn_b, shared, first):
    problem = Problem(one_target, KernelVariate(KERNEL))
    rules = _rules(settings, problem, None)
    assert (rules.learn_b, rules.shared_state, rules.b_first) == (learn_b, shared, first)
    state = start(rules, *_start(problem, settings))
    if not shared:
        assert set(state.optimizer) == ({"coefficients", "b"} if learn_b else {"coefficients"})
    assert np.isinf(state.least)


@float64
def test_a_fixed_b_makes_algorithm_one_algorithm_two(one_target):
    problem = Problem(one_target, KernelVariate(KERNEL, Fixed([[1.0, 0.5], [0.5, 1.0]])))
    rules = _rules(BlockCoordinateDescent(shared_state=True), problem, None)
    assert not rules.learn_b and not rules.shared_state
    b = _start(problem, BlockCoordinateDescent())[2]
    assert isinstance(b, Known)
    np.testing.assert_allclose(b.matrix(), [[1.0, 0.5], [0.5, 1.0]])


@float64
def test_a_descent_starts_at_zero_and_the_plain_averages_or_where_it_is_told(one_target):
    problem = Problem(one_target, KernelVariate(KERNEL))
    theta, beta, _ = _start(problem, StochasticOptimisation())
    assert not np.any(theta)
    np.testing.assert_allclose(beta, [task.values.mean() for task in one_target])
    told = StochasticOptimisation(start_theta=np.full(np.shape(theta), 2.0), start_beta=[3.0, 4.0])
    theta, beta, _ = _start(problem, told)
    assert (np.asarray(theta) == 2.0).all() and beta.tolist() == [3.0, 4.0]
    with pytest.raises(ValueError, match="start_theta must have the shape"):
        _start(problem, StochasticOptimisation(start_theta=np.zeros(3)))


def test_the_objective_at_the_start_is_the_variance_and_the_penalty_on_b(one_target):
    problem = Problem(one_target, KernelVariate(KERNEL, 2 * np.eye(2)))
    spread = sum(task.values.var() for task in one_target)
    assert _start_objective(problem, StochasticOptimisation()) == pytest.approx(spread, rel=1e-9)
    assert _start_objective(problem, BlockCoordinateDescent()) == pytest.approx(spread + 8.0, rel=1e-9)


def test_rates_fall_and_point_downhill_and_b_has_its_own():
    np.testing.assert_allclose(PUBLISHED.scales(3), -np.outer(0.99 ** np.arange(3), [0.1, 0.5]))
    plain = BlockCoordinateDescent(learning_rate=0.1)
    np.testing.assert_allclose(plain.scales(2), [[-0.1, -0.1], [-0.1, -0.1]])
    told = StochasticOptimisation(learning_rate=lambda epoch: 1 / (1 + epoch))
    np.testing.assert_allclose(told.rates(3), [1, 1 / 2, 1 / 3])
    import optax

    np.testing.assert_array_equal(StochasticOptimisation(optimizer=optax.sgd(0.1)).scales(2), np.ones((2, 2)))


def test_the_settings_that_algorithms_have_unless_told():
    settings = BlockCoordinateDescent()
    found = (settings.epochs, settings.batch_size, settings.learning_rate, settings.decay, settings.regularization)
    assert found == (400, 10, 1e-2, 1.0, 1e-5)
    assert (settings.penalty, settings.precision, settings.held_out, settings.patience) == (
        "euclidean",
        "float64",
        0,
        20,
    )
    assert (settings.diverged, settings.progress, settings.interruptible) == (2.0, None, False)
    assert (settings.shared_state, settings.b_first, settings.learning_rate_b) == (False, False, None)


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"epochs": 1.5}, "integer of at least 0"),
        ({"learning_rate": 0.0}, "positive and finite"),
        ({"learning_rate": np.inf}, "positive and finite"),
        ({"held_out": 1.0}, "from 0 to below 1"),
        ({"held_out": -0.1}, "from 0 to below 1"),
        ({"regularization": -1.0}, "not negative"),
        ({"regularization": np.nan}, "not negative"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, rule):
    with pytest.raises(ValueError, match=rule):
        StochasticOptimisation(**wrong)
    StochasticOptimisation(epochs=0, held_out=0.0, regularization=0.0)


def test_the_published_settings_are_those_of_the_authors_program():
    published = BlockCoordinateDescent.as_published()
    assert (published.decay, published.precision) == (0.99, "float32")
    assert published.shared_state and published.b_first and published.learning_rate_b is None
    assert BlockCoordinateDescent.as_published(decay=0.5, b_first=False).decay == 0.5


def test_the_mini_batch_likelihood_has_the_settings_of_the_authors_program():
    settings = MiniBatchMarginalLikelihood()
    assert (settings.epochs, settings.batch_size, settings.learning_rate, settings.decay) == (20, 10, 0.05, 0.99)
    assert (settings.regularization, settings.condition) == (1e-6, 1e6)
    assert (settings.constant, settings.smallest, settings.order) == (1.0, 1e-3, 1)
    whole = MarginalLikelihood()
    assert (whole.regularization, whole.order, whole.constant) == (1e-6, 1, 0.0)
    assert (whole.evaluations, whole.reach) == (100, 6.0)


@float64
def test_the_objective_of_held_out_rows_is_the_sum_of_their_variances(one_target):
    problem = Problem(one_target, KernelVariate(KERNEL))
    settings = StochasticOptimisation()
    state = start(_rules(settings, problem, one_target), *_start(problem, settings))
    held = _held_out(_rules(settings, problem, one_target), _held(problem, one_target, settings), state.unknowns)
    assert float(held) == pytest.approx(sum(task.values.var() for task in one_target), rel=1e-9)
