"""Merging, standard coordinates and standard values: nothing downstream can depend on order, unit or origin."""

import numpy as np
import pytest

from vvcv import Task, Tasks
from vvcv.data import Coordinates, Prepared, can_whiten, merge_duplicates

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 2.0, -1.0], [0.0, 0.0, 0.3]])
Y = X[:, 0] ** 2


def test_merging_averages_values_counts_rows_and_forgets_their_order():
    rows = RNG.integers(20, size=50)
    noisy = Y[rows] + RNG.normal(size=50)
    merged = merge_duplicates(X[rows], -X[rows], noisy)
    assert merged.multiplicity.sum() == 50
    for point, value, count in zip(merged.points, merged.values, merged.multiplicity, strict=True):
        same = (X[rows] == point).all(axis=1)
        assert count == same.sum() and value == pytest.approx(noisy[same].mean(), rel=1e-12)
    shuffle = RNG.permutation(50)
    again = merge_duplicates(X[rows][shuffle], -X[rows][shuffle], noisy[shuffle])
    np.testing.assert_array_equal(again.points, merged.points)
    np.testing.assert_array_equal(again.scores, merged.scores)
    np.testing.assert_allclose(again.values, merged.values, rtol=1e-13)


def test_distinct_rows_keep_their_values_exactly():
    merged = merge_duplicates(X, -X, Y + 1e8)
    np.testing.assert_array_equal(merged.points[merged.row], X)
    np.testing.assert_allclose(merged.values[merged.row], Y + 1e8, rtol=1e-15)


@pytest.mark.parametrize("change", [lambda x: x[:, ::-1], lambda x: -x, lambda x: x * [1e-3, 7.0, 1e4] + 5.0])
def test_rows_come_in_the_same_order_whatever_the_axes_are_called(change):
    there = merge_duplicates(change(X), -X, Y)
    np.testing.assert_array_equal(there.row, merge_duplicates(X, -X, Y).row)


def test_axes_that_values_go_with_come_first_wherever_they_were_given():
    places = RNG.permutation(3)
    here, there = (
        Prepared.of(Tasks([Task(x, -x, Y)])).with_axes_sorted().coordinates((0,), "whitened") for x in (X, X[:, places])
    )
    assert here.order[0] == 0 and (places[there.order] == here.order).all()
    np.testing.assert_allclose(there.points(X[:, places]), here.points(X), atol=1e-12)
    np.testing.assert_allclose(there.scores(-X[:, places]), here.scores(-X), atol=1e-12)
    np.testing.assert_allclose(there.axes(X[:, places]), here.axes(X), atol=1e-12)
    np.testing.assert_allclose(there.axis_scores(-X[:, places]), here.axis_scores(-X), atol=1e-12)


def test_tasks_come_in_the_same_order_whatever_the_signs_of_their_values():
    values = np.column_stack([Y, -Y, X[:, 1], np.exp(X[:, 2])])
    here, there = (Prepared.of(Tasks.shared(X, -X, v)).canonical for v in (values, -values[:, [1, 0, 2, 3]]))
    assert here == there


def test_zero_and_minus_zero_are_one_point():
    merged = merge_duplicates(np.array([[0.0], [-0.0], [1.0]]), np.array([[0.0], [-0.0], [-1.0]]), np.arange(3.0))
    assert merged.multiplicity.tolist() == [2.0, 1.0]


def test_one_point_with_two_scores_is_refused_and_both_rows_are_named():
    with pytest.raises(ValueError, match="rows 0 and 2 of task 'a' have equal points.*same order"):
        merge_duplicates(np.array([[1.0], [2.0], [1.0]]), np.array([[-1.0], [-2.0], [3.0]]), np.zeros(3), "a")


@pytest.mark.parametrize("system", ["scaled", "whitened"])
def test_coordinates_do_not_depend_on_unit_or_origin_and_scores_travel_along(system):
    unit, origin = np.array([1e-3, 7.0, 1e4]), np.array([5.0, -100.0, 0.3])
    here, there = Coordinates.fit(X, system), Coordinates.fit(X * unit + origin, system)
    np.testing.assert_allclose(there.points(X * unit + origin), here.points(X), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(there.scores(-X / unit), here.scores(-X), rtol=1e-10)
    # E[x . s] = -d is a number without unit: it must survive the change of variables.
    inner = np.sum((X - here.origin) * -X, axis=1)
    np.testing.assert_allclose(np.sum(here.points(X) * here.scores(-X), axis=1), inner, rtol=1e-10)


def test_coordinates_by_scores_find_a_gaussian_exactly_where_points_hardly_outnumber_dimensions():
    rng, d = np.random.default_rng(3), 12
    factor, mean = np.tril(rng.normal(size=(d, d))) + 2 * np.eye(d), rng.normal(size=d) * 100
    x = mean + rng.normal(size=(d + 3, d)) @ factor.T
    task = Task(x, -np.linalg.solve(factor @ factor.T, (x - mean).T).T, x[:, 0])
    found = Prepared.of(Tasks([task])).coordinates((0,), "precision")
    np.testing.assert_allclose(found.origin, mean, rtol=1e-8)
    np.testing.assert_allclose(found.covariance, factor @ factor.T, rtol=1e-6, atol=1e-6)


def test_standard_coordinates_have_unit_spread_and_whitened_ones_no_correlation():
    np.testing.assert_allclose(Coordinates.fit(X, "scaled").points(X).std(axis=0), 1.0)
    z = Coordinates.fit(X, "whitened").points(X)
    np.testing.assert_allclose(z.T @ z / len(z), np.eye(3), atol=1e-12)


def test_a_coordinate_that_never_varies_stays_at_zero():
    x = np.column_stack([X[:, 0], np.full(20, 3.7)])
    np.testing.assert_allclose(Coordinates.fit(x, "scaled").points(x)[:, 1], 0.0, atol=1e-14)
    assert not can_whiten(x) and not can_whiten(X[:6]) and not can_whiten(X[:, :1]) and can_whiten(X)


def test_whitening_is_refused_for_coordinates_that_depend_on_each_other():
    assert not can_whiten(np.column_stack([X[:, 0], 2 * X[:, 0] + 1]))


def test_values_are_standardised_with_the_weights_of_repeated_rows():
    rows = np.concatenate([np.arange(20), [0, 0, 0]])
    prepared = Prepared.of(Tasks([Task(X[rows], -X[rows], Y[rows])]))
    assert prepared.shift[0] == pytest.approx(Y[rows].mean(), rel=1e-13)
    assert prepared.scale[0] == pytest.approx(Y[rows].std(), rel=1e-12)


@pytest.mark.parametrize("value", [0.0, 3.0, 1e140, -1e-140, 0.1])
def test_constant_values_are_recognised_at_any_magnitude(value):
    assert Prepared.of(Tasks([Task(X, -X, np.full(20, value))])).constant(0)


def test_the_canonical_order_of_tasks_does_not_depend_on_the_order_given():
    tasks = [Task(X, -X, Y, name="a"), Task(X, -X, np.sin(X[:, 1]), name="b"), Task(X[:9], -X[:9], Y[:9], name="c")]

    def names(order):
        prepared = Prepared.of(Tasks([tasks[i] for i in order]))
        return [prepared.tasks.names[t] for t in prepared.canonical]

    assert names([0, 1, 2]) == names([2, 0, 1]) == names([1, 2, 0])


@pytest.mark.parametrize(
    ("values", "others", "flat"),
    [
        (np.maximum(X[:, 0] - np.sort(X[:, 0])[-5], 0.0), 4, True),
        ((X[:, 0] > np.sort(X[:, 0])[-9]).astype(float), 8, True),
        (np.logaddexp(0.0, 2000 * (X[:, 0] - np.sort(X[:, 0])[-4])), 4, True),  # to many digits
        (np.round(X[:, 0], 1), None, False),
        (X[:, 0] ** 3, 19, False),
    ],
)
def test_a_flat_piece_is_known_by_values_that_are_the_same_in_any_unit(values, others, flat):
    for unit, origin in ((1.0, 0.0), (-1e-8, 3.0), (1e12, 1e12)):
        prepared = Prepared.of(Tasks([Task(X, -X, unit * values + origin)]))
        assert prepared.has_flat_piece(0) == flat
        assert others is None or prepared.others(0) == others


def test_a_constant_has_no_pieces_and_neither_have_few_values_that_differ():
    assert not Prepared.of(Tasks([Task(X, -X, np.full(20, 3.0))])).has_flat_piece(0)
    assert not Prepared.of(Tasks([Task(X[:4], -X[:4], X[:4, 0])])).has_flat_piece(0)
