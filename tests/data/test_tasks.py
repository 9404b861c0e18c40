"""Tasks: shapes, names, chains and the long form."""

import numpy as np
import pytest

from vvcv import Task, Tasks
from vvcv.data.validation import repeated

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 2))
CHAINS = RNG.normal(size=(3, 4, 2))


def test_one_dimension_may_be_written_without_its_axis():
    x = X[:, 0]
    np.testing.assert_array_equal(Task(x, -x, x**2).points, Task(x[:, None], -x[:, None], x**2).points)


def test_values_in_several_columns_are_never_taken_for_chains():
    with pytest.raises(ValueError, match=r"Tasks\.shared"):
        Task(X, -X, X**2)


def test_chains_become_rows_and_are_remembered():
    task = Task(CHAINS, -CHAINS, CHAINS[..., 0])
    assert (task.size, task.dimension, task.chains) == (12, 2, (3, 4))
    np.testing.assert_array_equal(task.values, task.points[:, 0])


@pytest.mark.parametrize(
    ("points", "scores", "values", "says"),
    [
        (X, -X[:5], X[:, 0], "scores.*shape of the points"),
        (X, -X[:, :1], X[:, 0], "scores.*shape of the points"),
        (X, -X, X[:5, 0], "one number per point"),
        (X, -X, np.zeros((6, 3)), "one number per point|shape"),
        (np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0), "at least one point"),
        (np.zeros((4, 0)), np.zeros((4, 0)), np.zeros(4), "at least one point and one dimension"),
        (1.0, 1.0, 1.0, "shape"),
        (np.zeros((2, 2, 2, 2)), np.zeros((2, 2, 2, 2)), np.zeros(8), "shape"),
        (CHAINS, -CHAINS, CHAINS[:2, :, 0], "one number per point"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(points, scores, values, says):
    with pytest.raises(ValueError, match=f"(?s){says}"):
        Task(points, scores, values)


def test_values_whose_axes_are_swapped_against_the_chains_are_refused():
    # (draw, chain) values have the right number of entries and the wrong order.
    with pytest.raises(ValueError, match="shape"):
        Task(CHAINS, -CHAINS, CHAINS[..., 0].T)


def test_scores_whose_axes_are_swapped_against_the_chains_are_refused():
    with pytest.raises(ValueError, match="shape"):
        Task(CHAINS, -CHAINS.transpose(1, 0, 2), CHAINS[..., 0])


def test_axes_named_chain_and_draw_are_put_first():
    """Of (draw, chain), as xarray may hold them, every draw was taken for a chain."""
    xr = pytest.importorskip("xarray")
    x = xr.DataArray(CHAINS, dims=("chain", "draw", "coordinate"))
    other = x.transpose("coordinate", "draw", "chain")
    for tasks in (Tasks(Task(other, -x, other[0].T)), Tasks.shared(other, -other, other)):
        assert tasks[0].chains == (3, 4) and tasks.dimension == 2
        np.testing.assert_array_equal(tasks.points[:12], CHAINS.reshape(12, 2))
        np.testing.assert_array_equal(tasks[0].values, CHAINS[..., 0].reshape(12))
    one = other[0]
    assert Task(one, -one, one).chains == Tasks.shared(one, -one, one**2)[0].chains == (3, 4)
    assert Task(other[:, :, 0], -other[:, :, 0], other[0, :, 0]).dimension == 2  # (coordinate, draw)


def test_integrands_on_one_sample_share_its_arrays():
    tasks = Tasks.shared(CHAINS, -CHAINS, np.stack([CHAINS[..., 0]] * 3, axis=-1))
    assert all(task.points is tasks[0].points and task.scores is tasks[0].scores for task in tasks)
    assert not any(task.values.flags.writeable for task in tasks)
    with pytest.raises(ValueError, match=r"values of task 'b' must hold one number per point, shape \(3, 4\)"):
        tasks[0].carrying(CHAINS[..., 0].T, "b")


def test_no_tasks_other_objects_and_mixed_dimensions_are_refused():
    with pytest.raises(ValueError, match="at least one task"):
        Tasks([])
    with pytest.raises(ValueError, match="item 1 is a ndarray"):
        Tasks([Task(X, -X, X[:, 0]), X])
    with pytest.raises(ValueError, match="one dimension.*separate calls"):
        Tasks([Task(X, -X, X[:, 0]), Task(X[:, 0], -X[:, 0], X[:, 0])])


def test_names_must_be_distinct_and_unnamed_tasks_are_numbered():
    one = Task(X, -X, X[:, 0], name="a")
    with pytest.raises(ValueError, match="(?i)name"):
        Tasks([one, Task(X, -X, X[:, 1], name="a")])
    assert Tasks([one, Task(X, -X, X[:, 1])]).names == ("a", "task 2")
    with pytest.raises(ValueError, match="one name per column"):
        Tasks.shared(X, -X, X, names=["only one"])
    with pytest.raises(ValueError, match="names must be a list of names.*but is 3"):
        Tasks.shared(X, -X, X, names=3)
    assert Tasks.shared(X, -X, X, names=(name for name in "ab")).names == ("a", "b")


def test_names_of_many_tasks_are_not_each_compared_with_all_others():
    class Name(str):
        compared = 0
        __hash__ = str.__hash__

        def __eq__(self, other):
            Name.compared += 1
            return str(self) == str(other)

    names = [Name(f"theta[{i}]") for i in range(5000)]
    assert repeated([*names, Name("theta[7]")]) == ["theta[7]"] and Name.compared < 2 * len(names)


def test_shared_tasks_take_one_column_or_many_rows_or_chains():
    assert Tasks.shared(X, -X, X[:, 0]).sizes == (6,)
    assert Tasks.shared(X, -X, X).share_points
    tasks = Tasks.shared(CHAINS, -CHAINS, np.stack([CHAINS[..., 0], CHAINS[..., 1] ** 2], axis=-1))
    assert tasks.sizes == (12, 12) and tasks[1].chains == (3, 4)
    np.testing.assert_array_equal(tasks[1].values, tasks[1].points[:, 1] ** 2)
    x = X[:, 0]
    assert Tasks.shared(x, -x, np.column_stack([x, x**2])).dimension == 1


def test_points_are_shared_only_if_scores_are_too():
    assert not Tasks([Task(X, -X, X[:, 0]), Task(X, -2 * X, X[:, 0])]).share_points
    assert not Tasks([Task(X, -X, X[:, 0])]).share_points


def test_the_long_form_is_task_after_task():
    tasks = Tasks([Task(X, -X, X[:, 0], name="a"), Task(X[:2], -3 * X[:2], X[:2, 1], name="b")])
    np.testing.assert_array_equal(tasks.points, np.vstack([X, X[:2]]))
    np.testing.assert_array_equal(tasks.scores, np.vstack([-X, -3 * X[:2]]))
    np.testing.assert_array_equal(tasks.values, np.concatenate([X[:, 0], X[:2, 1]]))
    np.testing.assert_array_equal(tasks.task, [0] * 6 + [1] * 2)
    assert tasks["b"] is tasks[1] and len(tasks) == 2
    with pytest.raises(ValueError, match="no task named"):
        tasks["c"]


def test_independent_points_and_chains_of_the_same_rows_do_not_share_them():
    x = np.random.default_rng(0).normal(size=(2, 5, 1))
    chained, flat = Task(x, -x, x[..., 0], name="b"), Task(x[:, :, 0].ravel(), -x[:, :, 0].ravel(), x.ravel(), name="a")
    assert not Tasks([flat, chained]).share_points
    assert Tasks([chained, chained.carrying(flat.values, "c")]).share_points
