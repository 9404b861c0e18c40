"""Directions along which values change: found from ranks, whatever the function of them, and only where they are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vvcv
from vvcv.data import LEADING, Prepared, Tasks
from vvcv.data.directions import Directions, gradient_moment

FUNCTIONS = {
    "line": lambda u: u,
    "growing": np.exp,
    "steeply growing": lambda u: np.exp(2 * u),
    "even": np.abs,
    "wave": lambda u: np.sin(2 * u),
    "steps": np.round,
}


def degrees(found, wanted):
    return np.degrees(np.arccos(min(1.0, abs(float(found @ wanted)) / np.linalg.norm(wanted))))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_direction_of_a_function_of_one_is_found(name):
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=(120, 6)), rng.normal(size=6)
    moment = gradient_moment(x, FUNCTIONS[name](x @ w / np.linalg.norm(w))[:, None])
    turn, weights = Directions.of(moment)
    assert degrees(turn[:, 0], w) < 5
    assert weights[0] == 1 and weights[1:].max() < 0.1


def test_two_directions_are_found_together():
    rng = np.random.default_rng(4)
    x, w = rng.normal(size=(250, 6)), np.linalg.qr(rng.normal(size=(6, 2)))[0]
    moment = gradient_moment(x, (np.exp(x @ w[:, 0]) + np.sin(2 * x @ w[:, 1]))[:, None])
    turn = Directions.of(moment).turn[:, :2]
    assert np.linalg.svd(turn.T @ w)[1].min() > np.cos(np.radians(10))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(2, 7), scale=st.floats(0.1, 50))
def test_a_growing_function_of_the_values_changes_nothing(seed, d, scale):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(40, d))
    values = rng.normal(size=(40, 1)) + x[:, :1]
    first = gradient_moment(x, values)
    np.testing.assert_array_equal(first, gradient_moment(x, np.arctan(values * scale / 60)))
    turn = Directions.of(first).turn
    np.testing.assert_allclose(turn.T @ turn, np.eye(d), atol=1e-12)


def test_rows_and_tasks_may_come_in_any_order():
    rng = np.random.default_rng(5)
    x, order = rng.normal(size=(90, 4)), rng.permutation(90)
    values = np.column_stack([np.exp(x @ np.ones(4)), np.sin(x[:, 0] - x[:, 1])])
    both = gradient_moment(x, values)
    np.testing.assert_allclose(gradient_moment(x[order], values[order][:, ::-1]), both, atol=1e-9)


def test_values_that_do_not_vary_have_none():
    x = np.random.default_rng(6).normal(size=(30, 3))
    np.testing.assert_array_equal(gradient_moment(x, np.ones((30, 1))), np.eye(3))


def test_only_values_along_few_directions_lead():
    x = np.random.default_rng(7).normal(size=(150, 5))
    one_axis, all_axes = np.exp(x[:, 2]), np.sum(x**2, axis=1)
    along_one = np.exp(x @ np.array([1.0, -1.0, 0.5, 0.0, 0.0]))
    prepared = Prepared.of(Tasks.shared(x, -x, np.column_stack([one_axis, all_axes, along_one])))
    assert prepared.led((0,)) is None and prepared.led((1,)) is None and prepared.led((2,)) is not None
    assert Prepared.of(Tasks.shared(x[:, :1], -x[:, :1], one_axis)).led((0,)) is None


def test_an_axis_of_correlated_points_does_not_lead():
    rng = np.random.default_rng(8)
    factor = np.tril(rng.normal(size=(4, 4))) + 2 * np.eye(4)
    z = rng.normal(size=(200, 4))
    x, s = z @ factor.T, -z @ np.linalg.inv(factor)
    prepared = Prepared.of(Tasks.shared(x, s, np.column_stack([np.exp(0.3 * x[:, 3]), np.exp(0.3 * x.sum(axis=1))])))
    assert prepared.led((0,)) is None and prepared.led((1,)) is not None


def test_turned_points_and_scores_are_those_of_one_density():
    rng = np.random.default_rng(9)
    x = rng.normal(size=(80, 3)) * [1.0, 20.0, 0.1] + [5.0, 0.0, -3.0]
    s = -(x - [5.0, 0.0, -3.0]) / np.square([1.0, 20.0, 0.1])
    prepared = Prepared.of(Tasks.shared(x, s, np.exp(x @ [0.5, 0.02, 4.0]))).with_axes_sorted()
    coordinates = prepared.coordinates((0,), LEADING)
    z, w = coordinates.points(x), coordinates.scores(s)
    # s . (x - m) is the same in all coordinates, and moving along z moves x by the factor and the turn.
    np.testing.assert_allclose(np.sum(z * w, axis=1), np.sum((x - coordinates.origin) * s, axis=1), rtol=1e-9)
    assert abs(np.corrcoef(z[:, 0], x @ [0.5, 0.02, 4.0])[0, 1]) > 0.99


def test_nothing_depends_on_units_or_the_order_of_axes():
    rng = np.random.default_rng(10)
    x, w = rng.normal(size=(70, 4)), np.array([1.0, 0.5, -1.0, 0.3])
    values, scale, order = np.exp(x @ w), np.array([1e-3, 1.0, 40.0, 7.0]), [2, 0, 3, 1]
    first = vvcv.estimate(vvcv.Task(x, -x, values))
    other = vvcv.estimate(vvcv.Task((x * scale)[:, order] + 3.0, (-x / scale)[:, order], 5 - 100 * values))
    np.testing.assert_allclose(5 - 100 * first.mean, other.mean, rtol=0, atol=other.std_error[0] / 100)
    np.testing.assert_allclose(100 * first.std_error, other.std_error, rtol=0.01)
    assert "leading axes" in first.kernel[0]
