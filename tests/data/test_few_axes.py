"""The few axes that values hang on: found among many, and used only where the target is a product along them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vvcv.data import Coordinates, Prepared, Tasks
from vvcv.data.few_axes import FOLLOWED, axis_counts, few_axes, unexplained

FUNCTIONS = {
    "growing": lambda x: np.exp(x[:, 4]),
    "even": lambda x: x[:, 4] ** 2,
    "wave": lambda x: np.sin(2 * x[:, 4]),
    "sum": lambda x: np.exp(x[:, 4] / 5) + np.sin(x[:, 17]),
    "product": lambda x: x[:, 4] * x[:, 17],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_axes_of_a_function_of_one_or_two_among_thirty_are_found(name):
    x = np.random.default_rng(1).normal(size=(150, 30))
    found = few_axes(x, FUNCTIONS[name](x))
    assert sorted(found) == [4, 17] if name in ("sum", "product") else list(found) == [4]


@pytest.mark.parametrize("name", ["all", "noise", "a third axis that counts little"])
def test_values_that_hang_on_more_have_none(name):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(150, 9))
    values = {
        "all": np.sum(x**2, axis=1),
        "noise": rng.normal(size=150),
        "a third axis that counts little": x[:, 0] + np.sum(np.sin(x[:, 1:]), axis=1) / 2,
    }
    assert few_axes(x, values[name]) is None


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(2, 12))
def test_counts_are_shares_that_a_growing_function_of_the_values_leaves_alone(seed, d):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(50, d))
    values = rng.normal(size=50) + x[:, 0]
    counts = axis_counts(x, values)
    assert counts.shape == (d,) and (counts > 0).all() and counts.sum() == pytest.approx(1)
    np.testing.assert_array_equal(counts, axis_counts(x, np.arctan(values)))
    order = rng.permutation(d)
    np.testing.assert_allclose(axis_counts(x[:, order], values), counts[order], atol=1e-9)


def test_values_that_do_not_vary_count_all_axes_alike():
    x = np.random.default_rng(3).normal(size=(30, 4))
    np.testing.assert_array_equal(axis_counts(x, np.ones(30)), np.full(4, 0.25))


def test_numbers_are_explained_by_what_they_are_a_function_of():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(200, 3))
    assert unexplained(x[:, :2], np.column_stack([x[:, 0], np.tanh(x[:, 1])])) < FOLLOWED
    assert unexplained(x[:, :2], np.column_stack([x[:, 0], x[:, 1] + x[:, 2] / 2])) > FOLLOWED


def funnel(rng, n, d):
    """Normal variables whose spread the last one sets, with scores."""
    x = rng.normal(size=(n, d))
    width = np.exp(x[:, -1:] / 4)
    squares = np.sum(x[:, :-1] ** 2, axis=1)
    scores = np.column_stack([-x[:, :-1] / width, -x[:, -1] + (squares - d + 1) / 4])
    return np.column_stack([x[:, :-1] * width, x[:, -1]]), scores


def test_a_funnel_is_no_product_along_any_axis():
    x, s = funnel(np.random.default_rng(5), 200, 8)
    values = np.column_stack([np.cos(2 * x[:, 0]), np.exp(x[:, 7] / 2)])
    prepared = Prepared.of(Tasks.shared(x, s, values))
    assert few_axes(x / x.std(axis=0), values[:, 0]) is not None
    assert prepared.on_few_axes(0) is None and prepared.on_few_axes(1) is None


def test_of_correlated_normal_variables_the_part_that_an_axis_spans_is_a_product():
    rng = np.random.default_rng(6)
    factor = np.tril(rng.normal(size=(12, 12))) + 2 * np.eye(12)
    z = rng.normal(size=(100, 12))
    x, s = z @ factor.T + 3.0, -z @ np.linalg.inv(factor)
    prepared = Prepared.of(Tasks.shared(x, s, np.exp(0.2 * x[:, 5]))).with_axes_sorted()
    found = prepared.on_few_axes(0)
    u, w = found.points(x), found.scores(s)
    assert found.system == "few precision"
    np.testing.assert_allclose(u[:, 0], (x[:, 5] - 3.0) / np.linalg.norm(factor[5]), atol=1e-6)
    np.testing.assert_allclose(w, -u, atol=1e-6)


def test_one_axis_alone_is_not_looked_for():
    x = np.random.default_rng(7).normal(size=(50, 1))
    assert Prepared.of(Tasks.shared(x, -x, np.exp(x[:, 0]))).on_few_axes(0) is None


def test_scaled_axes_are_the_users_own_in_any_order():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(60, 5)) * [1.0, 3.0, 0.1, 7.0, 1.0]
    coordinates = Coordinates.fit(x, "scaled", order=np.array([3, 1, 0, 4, 2])).on_axes(np.array([1, 3]))
    np.testing.assert_allclose(coordinates.points(x), (x - x.mean(axis=0))[:, [1, 3]] / x.std(axis=0)[[1, 3]])
    np.testing.assert_allclose(coordinates.scores(x), x[:, [1, 3]] * x.std(axis=0)[[1, 3]])


def test_axes_that_count_for_little_count_where_little_is_left():
    x = np.random.default_rng(12).normal(size=(100, 9))
    alone, beside = np.exp(x[:, 0] / 2), 0.01 * x[:, 1:].sum(axis=1)
    noise = 0.03 * np.random.default_rng(13).normal(size=100)
    assert few_axes(x, alone).tolist() == few_axes(x, alone + noise).tolist() == [0]
    assert few_axes(x, alone + beside) is None
