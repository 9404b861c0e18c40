"""Every fit has a witness: the average of what its variate leaves of values it has not seen."""

import numpy as np
import pytest

from vvcv.candidates.kernel import Options
from vvcv.data import Prepared, Task, Tasks
from vvcv.estimation.ladder import Ladder
from vvcv.estimation.run import estimate
from vvcv.stein import polynomial_features

X = np.random.default_rng(0).normal(size=(14, 1))
VALUES = np.exp(X[:, 0])


def answers(points, values):
    return Ladder(Prepared.of(Tasks([Task(points, -points, values)])), Options()).candidates("zv")[0]


def test_the_witness_is_the_average_over_values_each_left_out_in_turn():
    columns = np.column_stack([np.ones(14), polynomial_features(X, -X, 1)])
    left = []
    for i in range(14):
        others = np.arange(14) != i
        slope = np.linalg.lstsq(columns[others], VALUES[others], rcond=None)[0][1:]
        left.append(VALUES[i] - columns[i, 1:] @ slope)
    fit, witness = answers(X, VALUES)[:2]
    assert witness.mean == pytest.approx(np.mean(left), rel=1e-10)
    assert witness.mean != pytest.approx(fit.mean, rel=1e-3)
    assert witness.std_error >= fit.std_error


def test_repeated_rows_are_one_unit_of_the_witness():
    once, twice = answers(X, VALUES)[1], answers(np.vstack([X, X]), np.concatenate([VALUES, VALUES]))[1]
    assert twice.mean == pytest.approx(once.mean, rel=1e-12)
    assert twice.std_error == pytest.approx(once.std_error, rel=1e-9)


def test_a_fit_that_gives_modes_a_weight_of_its_own_is_not_followed():
    # Of this sample one fit predicts all values left out, and is ten errors of the plain average off.
    rng = np.random.default_rng(55011)
    sign = np.where(rng.random((100, 1)) < 0.6, 1.0, -1.0)
    centre, variance = np.array([1.0, 0.5]), 0.64
    x = sign * centre + 0.8 * rng.normal(size=(100, 2))
    scores = (np.tanh(x @ centre / variance + np.log(1.5) / 2)[:, None] * centre - x) / variance
    found = estimate(Task(x, scores, x[:, 0] * x[:, 1]), check=False)
    assert abs(found.mean[0] - 0.5) < 0.02
    assert found.std_error[0] < 0.03
