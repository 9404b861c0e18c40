"""Where a fit takes the middle of its target to be: its weights on coordinates, against definitions and the sample."""

import numpy as np
import pytest
from scipy.stats import chi2

from vvcv.kernels import Full, Separable, Side, SquaredExponential
from vvcv.linear_system.balance import Balance
from vvcv.linear_system.dense import DenseSystem
from vvcv.linear_system.design import Design
from vvcv.linear_system.model import Model
from vvcv.linear_system.solution import solve
from vvcv.stein import SteinKernel

MODEL = Model(SteinKernel(SquaredExponential([1.0, 0.8]), 1, [0.3, 0.2]), 1e-4)


def a_design(x, values=None, times=None):
    side = Side(x, -x, np.zeros(len(x), int))
    return Design.build(side, np.cos(x[:, 0]) if values is None else values, times, 1)


def balance(x, times=None):
    design = a_design(x, times=np.ones(len(x)) if times is None else times)
    return Balance.of(solve(MODEL, design), design)


@pytest.mark.parametrize("inverse_first", [False, True])
def test_squares_are_those_of_the_projection(inverse_first):
    rng = np.random.default_rng(0)
    root, columns, rows = rng.normal(size=(12, 12)), rng.normal(size=(12, 3)), rng.normal(size=(12, 4))
    matrix = root @ root.T / 12 + 0.3 * np.eye(12)
    system, inverse = DenseSystem.of(matrix.copy(), columns, rows[:, 0]), np.linalg.inv(matrix)
    if inverse_first:
        system.leave_one_out_cotangent()
    reduced = inverse - inverse @ columns @ np.linalg.solve(columns.T @ inverse @ columns, columns.T @ inverse)
    np.testing.assert_allclose(system.squares(rows), np.sum(rows * (reduced @ rows), axis=0), rtol=1e-9)
    np.testing.assert_allclose(system.squares(columns), 0.0, atol=1e-12)


def test_the_middle_is_the_estimate_of_each_coordinate_as_a_value():
    x = np.random.default_rng(1).normal(size=(40, 2)) + [3.0, -1.0]
    found = balance(x)
    for axis in range(2):
        system = solve(MODEL, a_design(x, x[:, axis], np.ones(40)))
        own = np.sqrt(system.covariance[0, 0] * system.squares(x[:, axis : axis + 1])[0] / 39)
        assert found.apart[axis] + x[:, axis].mean() == pytest.approx(system.coefficients[0], rel=1e-9)
        assert found.own[axis] == pytest.approx(own, rel=1e-7)


def test_rows_given_twice_are_as_one_row_of_twice_the_share():
    x = np.random.default_rng(2).normal(size=(30, 2))
    times = np.where(np.arange(30) < 10, 2.0, 1.0)
    found = balance(x, times)
    np.testing.assert_allclose(found.covariance, np.cov(x.T, fweights=times.astype(int), bias=True), rtol=1e-12)


def test_units_of_coordinates_do_not_matter():
    rng = np.random.default_rng(3)
    root, unit = rng.normal(size=(3, 3)), np.array([1e-6, 1.0, 1e7])
    given = Balance(rng.normal(size=3), np.array([0.01, 0.02, 5.0]), root @ root.T, 50)
    scaled = Balance(given.apart * unit, given.own * unit, given.covariance * np.outer(unit, unit), 50)
    assert scaled.distance(50.0) == pytest.approx(given.distance(50.0))
    assert given.distance(50.0)[1] == 2


def test_the_distance_of_a_middle_that_is_right_is_a_chi_squared_variable():
    """Of 2,000 samples of ten rows in four dimensions; the share beyond the 5 % point has a standard error of .5 %."""
    rng, distances = np.random.default_rng(4), []
    for _ in range(2000):
        x = rng.normal(size=(10, 4))
        distances.append(Balance(-x.mean(axis=0), np.zeros(4), np.cov(x.T, bias=True), 10).distance(10.0)[0])
    assert np.mean(np.array(distances) > chi2(4).ppf(0.95)) == pytest.approx(0.05, abs=0.02)


def test_there_is_none_of_points_of_several_tasks():
    x = np.random.default_rng(5).normal(size=(20, 2))
    design = Design.build(Side(x, -x, np.repeat([0, 1], 10)), np.cos(x[:, 0]), np.ones(20), 2)
    model = Model(SteinKernel(Separable(Full(np.eye(2)), SquaredExponential(1.0))), 1e-4)
    assert Balance.of(solve(model, design), design) is None
