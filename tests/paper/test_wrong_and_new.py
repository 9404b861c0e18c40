"""Settings that mean nothing are refused, numbers of any type are numbers, and a fit serves new data."""

import numpy as np
import pytest

import vvcv
from vvcv.kernels import SquaredExponential
from vvcv.paper import (
    Alternation,
    BasisVariate,
    ConvexSequence,
    CrossFit,
    Exact,
    KernelVariate,
    NeuralVariate,
    PolynomialVariate,
    Split,
    StochasticOptimisation,
    fit,
    median_heuristic,
)

X = np.random.default_rng(0).normal(size=(20, 1))
TASKS = vvcv.Tasks(
    [vvcv.Task(X[:12], -X[:12], X[:12] ** 2, name="a"), vvcv.Task(X[12:], -X[12:], np.sin(X[12:]), name="b")]
)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Exact(penalty="l2"), "penalty must be one of"),
        (lambda: Exact(-1.0), "penalty lambda"),
        (lambda: Exact(float("nan")), "penalty lambda"),
        (lambda: Exact("small"), "penalty lambda"),
        (lambda: StochasticOptimisation(penalty="l2"), "penalty must be one of"),
        (lambda: StochasticOptimisation(epochs=float("nan")), "epochs must be an integer"),
        (lambda: StochasticOptimisation(epochs=[3]), "epochs must be an integer"),
        (lambda: StochasticOptimisation(learning_rate="0.1"), "learning rate must be positive"),
        (lambda: PolynomialVariate(1.5), "degree of a polynomial"),
        (lambda: PolynomialVariate("two"), "degree of a polynomial"),
        (lambda: PolynomialVariate(2, coefficients="tasks"), "coefficients must be one of"),
        (lambda: BasisVariate(lambda x: x, coefficients="tasks"), "coefficients must be one of"),
        (lambda: KernelVariate(SquaredExponential(), degree=-1), "degree of a semi-exact"),
        (lambda: NeuralVariate(lambda x: x, degree=0.5), "degree of a semi-exact"),
        (lambda: Alternation(0.0), "penalty lambda must be positive"),
        (lambda: Alternation(sweeps=0), "sweeps"),
        (lambda: ConvexSequence(0.0), "penalty lambda must be positive"),
        (lambda: ConvexSequence(steps=0), "steps"),
        (lambda: fit(TASKS, PolynomialVariate(1), coordinates="standard"), "coordinates must be one of"),
        (lambda: fit(TASKS, PolynomialVariate(1), estimator=CrossFit(2, seed=-1)), "A seed is"),
        (lambda: fit(TASKS, PolynomialVariate(1), estimator=CrossFit(2.5)), "number of folds"),
        (lambda: fit(TASKS, PolynomialVariate(1), estimator=Split(float("nan"))), "between 0 and 1"),
    ],
)
def test_settings_that_mean_nothing_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_numbers_of_any_type_are_numbers():
    descent = StochasticOptimisation(epochs=4, batch_size=6)
    other = StochasticOptimisation(epochs=4.0, batch_size=np.array(6), learning_rate=np.array(1e-2))
    same = [fit(TASKS, PolynomialVariate(*a), b).mean for a, b in (((2,), descent), ((np.array(2.0),), other))]
    np.testing.assert_array_equal(*same)


def test_points_on_a_line_may_be_a_vector():
    found = fit(TASKS, KernelVariate(SquaredExponential(1.5)), Exact(1e-3))
    np.testing.assert_array_equal(found.control_variate(X[:, 0], -X[:, 0]), found.control_variate(X, -X))
    assert found.control_variate(0.5, -0.5).shape == (1,)
    assert median_heuristic(X[:, 0]) == median_heuristic(X)
    for points, scores in ((np.ones((4, 3)), np.ones((4, 3))), (np.ones((4, 1)), np.ones((1, 1)))):
        with pytest.raises(ValueError, match=r"shape \(k, 1\)"):
            found.control_variate(points, scores)


def test_new_data_are_known_by_the_names_of_their_tasks():
    found = fit(TASKS, KernelVariate(SquaredExponential(1.5)), Exact(1e-3))
    remainder = found.remainder(TASKS)
    np.testing.assert_array_equal(found.remainder([TASKS[1], TASKS[0]]), np.roll(remainder, 8))
    np.testing.assert_array_equal(found.remainder(TASKS[1]), remainder[12:])
    np.testing.assert_array_equal(found.remainder(vvcv.Task(X[:12], -X[:12], X[:12] ** 2)), remainder[:12])
    with pytest.raises(ValueError, match="no task 'c'"):
        found.remainder(vvcv.Task(X, -X, X, name="c"))
