"""Every fit has a witness: the average of what its variate leaves of values it has not seen."""

import numpy as np
import pytest

from vvcv.candidates.kernel import Options
from vvcv.data import Prepared, Task, Tasks
from vvcv.estimation.ladder import Ladder
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
