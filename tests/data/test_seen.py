"""The few axes that several tasks on points of their own hang on, and which tasks see them."""

import numpy as np
import pytest

from vvcv.data import Prepared, Task, Tasks
from vvcv.data.seen import OnFewAxes, Thinned, seen_as


def sample(seed, n=80, d=12):
    return np.random.default_rng([seed, n]).normal(size=(n, d))


def task(seed, values, n=80, width=1.0):
    x = width * sample(seed, n)
    return Task(x, -x / width**2, values(x))


def axes_of(found):
    """Which of the user's axes move what is seen."""
    move = found.coordinates.points(np.eye(12)) - found.coordinates.points(np.zeros((1, 12)))
    return np.flatnonzero(np.abs(move).max(axis=1) > 1e-9).tolist()


def test_the_axes_of_all_are_seen_by_each():
    tasks = Tasks([task(0, lambda x: np.exp(x[:, 2])), task(1, lambda x: np.sin(x[:, 7]), width=0.5)])
    found = OnFewAxes.of(Prepared.of(tasks), (0, 1))
    assert found.tasks == (0, 1) and axes_of(found) == [2, 7]


def test_tasks_of_few_points_go_with_the_axes_of_others():
    few = task(1, lambda x: np.exp(x[:, 2]) + x[:, 2], n=6)
    prepared = Prepared.of(Tasks([task(0, lambda x: np.exp(x[:, 2])), few]))
    assert len(prepared.few_axes(1)) > 1, "the test needs a task that is wrong about its axes"
    found = OnFewAxes.of(prepared, (0, 1))
    assert found.tasks == (0, 1) and axes_of(found) == [2]


@pytest.mark.parametrize(
    "other", [lambda x: np.sin(x).sum(axis=1), lambda x: np.random.default_rng(0).normal(size=len(x))]
)
def test_a_task_of_many_axes_or_of_none_is_left_out(other):
    prepared = Prepared.of(Tasks([task(0, lambda x: np.exp(x[:, 2])), task(1, other)]))
    assert OnFewAxes.of(prepared, (0, 1)).tasks == (0,)
    assert OnFewAxes.of(prepared, (1,)) is None


def test_axes_of_many_tasks_may_be_many():
    tasks = Tasks([task(seed, lambda x, r=seed: np.exp(x[:, 2 * r])) for seed in range(5)])
    assert OnFewAxes.of(Prepared.of(tasks), range(5)) is None


def test_one_target_that_is_no_product_is_enough_to_see_all_axes():
    x = sample(3)
    x[:, 2] *= np.exp(x[:, 5] / 2)
    scores = -x.copy()
    scores[:, 2] *= np.exp(-x[:, 5])
    scores[:, 5] += (x[:, 2] ** 2 * np.exp(-x[:, 5]) - 1) / 2
    funnel = Task(x, scores, np.exp(x[:, 2] / 4))
    prepared = Prepared.of(Tasks([task(0, lambda x: np.exp(x[:, 2])), funnel]))
    assert OnFewAxes.of(prepared, (0,)) is not None
    assert OnFewAxes.of(prepared, (0, 1)) is None


def test_rows_keep_their_places_values_and_chains():
    x = sample(4, n=40)[:, :3]
    x[7] = x[3]  # a rejected proposal
    chains = Task(x.reshape(2, 20, 3), -x.reshape(2, 20, 3), x[:, 0].reshape(2, 20))
    prepared = Prepared.of(Tasks([chains]))
    seen = seen_as(prepared, lambda points, scores: (2 * points[:, 1:], scores[:, 1:] / 2))
    assert seen.tasks[0].chains == prepared.tasks[0].chains is not None
    np.testing.assert_array_equal(seen.tasks[0].values, prepared.tasks[0].values)
    np.testing.assert_array_equal(seen.tasks[0].points, 2 * prepared.tasks[0].points[:, 1:])
    np.testing.assert_array_equal(seen.distinct[0].scores, prepared.distinct[0].scores[:, 1:] / 2)
    assert len(seen.distinct[0].values) == 39


def test_thinned_rows_do_not_hang_on_their_order_and_find_their_place_again():
    """Repeated rows share what is theirs, as everywhere."""
    x = np.repeat(sample(3, 40, 2), 2, axis=0)
    order = np.random.default_rng(4).permutation(len(x))
    found = [Thinned.of(Prepared.of(Tasks([Task(p, -p, p[:, 0])])), 10) for p in (x, x[order])]
    np.testing.assert_array_equal(*(np.sort(some.prepared.tasks[0].points, axis=0) for some in found))
    values, full = found[1].prepared.tasks[0].values, Prepared.of(Tasks([Task(x[order], -x[order], x[order][:, 0])]))
    placed = found[1].in_full(full, 0, values)
    np.testing.assert_allclose(placed[placed != 0], x[order][placed != 0, 0] / 2)
    np.testing.assert_allclose(placed.sum(), values.sum())
