"""Arrays enter through one door: anything that is real numbers is read, anything else is refused with a remedy."""

import numpy as np
import pytest

from vvcv import Task, Tasks
from vvcv.data import finite_array

X = np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32).astype(float)
Y = X[:, 0] * 3


def big_endian(a):
    return a.astype(">f8")


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def strided(a):
    return np.repeat(a, 2, axis=0)[::2]


def unmasked(a):
    return np.ma.masked_array(a, mask=False)


def as_pandas(a):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(a) if a.ndim == 2 else pandas.Series(a, index=np.arange(len(a)) + 5)


READABLE = {
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(map(tuple, a)) if a.ndim == 2 else tuple(a),
    "pandas": as_pandas,
    "float32": lambda a: a.astype(np.float32),
    "big endian": big_endian,
    "fortran order": np.asfortranarray,
    "not contiguous": strided,
    "negative strides": lambda a: a[::-1].copy()[::-1],
    "read only": read_only,
    "masked without masked entries": unmasked,
    "jax": lambda a: __import__("jax.numpy").numpy.asarray(a.astype(np.float32)),
}


@pytest.mark.parametrize("kind", READABLE)
def test_every_container_of_real_numbers_is_the_same_task(kind):
    convert = READABLE[kind]
    task = Task(convert(X), convert(-X), convert(Y.astype(np.float32).astype(float)))
    np.testing.assert_array_equal(task.points, X)
    np.testing.assert_array_equal(task.scores, -X)
    for array in (task.points, task.scores, task.values):
        assert array.dtype == np.float64 and array.dtype.isnative and array.flags.c_contiguous


def test_integers_and_booleans_are_numbers():
    assert finite_array(np.array([1, 2], dtype=np.uint8), "values").dtype == np.float64
    np.testing.assert_array_equal(finite_array([True, False], "values"), [1.0, 0.0])


def test_a_task_keeps_its_own_copy_and_does_not_lock_the_users_array():
    x, y = X.copy(), Y.copy()
    task = Task(x, -x, y)
    x[0, 0], y[0] = 99.0, 99.0
    assert task.points[0, 0] == X[0, 0] and task.values[0] == Y[0]
    with pytest.raises(ValueError, match="read-only"):
        task.points[0, 0] = 1.0


def spoiled(bad):
    x = X.copy()
    x[2, 1] = bad
    return x


REFUSED = {
    "nan": (spoiled(np.nan), "finite.*Remove"),
    "infinite": (spoiled(-np.inf), "finite.*Remove"),
    "huge": (spoiled(1e200), "below.*Change the unit"),
    "complex": (X + 1j, "real numbers.*complex.*Convert"),
    "strings": (X.astype(str), "real numbers.*Convert"),
    "objects": (X.astype(object), "real numbers.*object.*Convert"),
    "dates": (np.full((6, 2), np.datetime64("2020-01-01")), "real numbers.*Convert"),
    "ragged": ([[1.0, 2.0], [3.0]], "rectangular"),
    "masked": (np.ma.masked_array(X, mask=X > 0.5), "masked.*Drop"),
    "none": (None, "real numbers.*Convert"),
}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("where", ["points", "scores"])
def test_anything_else_is_refused_with_what_was_found_and_the_remedy(kind, where):
    bad, says = REFUSED[kind]
    arrays = {"points": X, "scores": -X, "values": Y} | {where: bad}
    with pytest.raises(ValueError, match=f"(?s){where}.*{says}"):
        Task(**arrays)


def test_the_message_says_which_entry_of_which_task_is_bad():
    with pytest.raises(ValueError, match=r"values of task 'high'.*nan at index 3"):
        Task(X, -X, np.where(np.arange(6) == 3, np.nan, Y), name="high")
    with pytest.raises(ValueError, match=r"\(2, 1\)"):
        Task(spoiled(np.nan), -X, Y)


def test_shared_tasks_refuse_the_same():
    with pytest.raises(ValueError, match="finite"):
        Tasks.shared(X, -X, np.full((6, 3), np.nan))
    with pytest.raises(ValueError, match="T of at least 1"):
        Tasks.shared(X, -X, np.zeros((6, 0)))


def test_columns_of_a_table_name_the_tasks_unless_names_do():
    pandas = pytest.importorskip("pandas")
    x = np.linspace(-1, 1, 6)[:, None]
    table = pandas.DataFrame({"mean": x[:, 0], "square": x[:, 0] ** 2})
    assert Tasks.shared(x, -x, table).names == ("mean", "square")
    assert Tasks.shared(x, -x, table, names=["a", "b"]).names == ("a", "b")
    assert Tasks.shared(x, -x, pandas.DataFrame(table.to_numpy())).names == ("task 1", "task 2")  # columns of no name


@pytest.mark.parametrize("rows", [40, 30_000])
def test_zarr_points_that_were_written_in_part_are_refused_and_values_of_zero_are_not(rows):
    zarr = pytest.importorskip("zarr")
    x = np.random.default_rng(0).normal(size=(rows, 2))
    step = np.where(np.arange(rows) < rows // 2, 1.0, 0.0)  # the last chunk of which zarr does not keep

    def array(numbers, written=rows):
        made = zarr.create_array({}, shape=numbers.shape, chunks=(rows // 4, *numbers.shape[1:]), dtype=float)
        made[:written] = numbers[:written]
        return made

    assert Task(array(x), array(-x), array(step)).size == rows
    with pytest.raises(ValueError, match="points must be written as a whole, but 2 of 4 chunks"):
        Task(array(x, rows // 2), array(-x), array(step))
    with pytest.raises(ValueError, match="points must be written as a whole"):
        Tasks.shared(array(x, rows // 2), array(-x), array(step))


def labelled(a, coordinates, draws):
    xarray = pytest.importorskip("xarray")
    return xarray.DataArray(a, dims=("draw", "parameter"), coords={"draw": draws, "parameter": coordinates})


def test_scores_and_values_are_put_in_the_order_of_the_points_by_their_labels():
    pandas = pytest.importorskip("pandas")
    right, names, draws = Task(X, -X, Y), ["a", "b"], np.arange(6)
    points, scores = (pandas.DataFrame(array, columns=names) for array in (X, -X))
    for task in (Task(points, scores[["b", "a"]], Y), Tasks.shared(points, scores[["b", "a"]], Y)[0]):
        np.testing.assert_array_equal(task.scores, right.scores)
    points, scores = labelled(X, names, draws), labelled(-X, names, draws)[::-1, ::-1]
    values = labelled(np.column_stack([Y, Y]), ["y", "z"], draws)[::-1]
    for task in (Task(points, scores, values[:, 0]), Tasks.shared(points, scores, values)[1]):
        np.testing.assert_array_equal(task.scores, right.scores)
        np.testing.assert_array_equal(task.values, right.values)


def test_other_labels_are_places():
    pandas = pytest.importorskip("pandas")
    scores = pandas.DataFrame(-X, columns=["grad b", "grad a"], index=np.arange(6) + 3)
    np.testing.assert_array_equal(Task(pandas.DataFrame(X, columns=["a", "b"]), scores, Y).scores, -X)


def test_rows_of_tables_in_two_orders_are_refused():
    pandas = pytest.importorskip("pandas")
    points, values = pandas.DataFrame(X), pandas.Series(Y).sort_values()
    for make in (Task, Tasks.shared):
        with pytest.raises(ValueError, match=r"in one order.* b.loc\[a.index\], or pass b.to_numpy"):
            make(points, -points, values)
