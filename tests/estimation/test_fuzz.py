"""Whatever arrays arrive, the answer is finite or a ValueError with a message."""

import hypothesis.extra.numpy as hnp
import numpy as np
from answers import answered
from hypothesis import example, given
from hypothesis import strategies as st

import vvcv
from vvcv import Task, Tasks

METHODS = st.sampled_from(["mc", "zv"])
DTYPES = st.sampled_from([np.float64, np.float32, ">f8", np.int32, np.uint8, bool, np.float16])
NUMBERS = st.one_of(
    st.floats(-1e3, 1e3, width=32),
    st.sampled_from([0.0, -0.0, 1.0, 1e-150, 1e150, 1e-300, 1e-320, 1e151, np.nan, np.inf]),
)
ORDINARY = st.floats(-1e3, 1e3, width=32)


def arrays(shape, elements=NUMBERS):
    return hnp.arrays(np.float64, shape, elements=elements)


@given(st.data(), st.integers(1, 12), st.integers(1, 3), METHODS)
def test_any_numbers_are_answered_or_refused(data, n, d, method):
    points, scores, values = data.draw(arrays((n, d))), data.draw(arrays((n, d))), data.draw(arrays(n))
    answered(lambda: vvcv.estimate(Task(points, scores, values), method, on_alarm="ignore"))


@given(st.data(), st.integers(2, 12), st.integers(1, 3))
def test_ordinary_numbers_have_a_mean_within_reason(data, n, d):
    points, values = data.draw(arrays((n, d), ORDINARY)), data.draw(arrays(n, ORDINARY))
    estimate = answered(lambda: vvcv.estimate(Task(points, -points, values), "mc", on_alarm="ignore"))
    assert estimate is not None
    assert values.min() - 1e-9 <= estimate.mean[0] <= values.max() + 1e-9


@given(st.data(), DTYPES, st.integers(2, 12))
def test_any_real_dtype_is_read_as_the_numbers_it_holds(data, dtype, n):
    points = data.draw(
        hnp.arrays(dtype, (n, 2), elements=hnp.from_dtype(np.dtype(dtype), allow_nan=False, allow_infinity=False))
    )
    double = points.astype(float)
    if not (np.abs(double) < 1e150).all():
        return
    task = Task(points, -double, double[:, 0])
    np.testing.assert_array_equal(task.points, double)
    assert task.points.dtype == np.float64


@given(st.data(), st.lists(st.integers(0, 4), max_size=4), st.lists(st.integers(0, 4), max_size=4), METHODS)
@example(None, [4, 0], [4], "mc")
@example(None, [0, 2], [0], "mc")
def test_any_shapes_are_answered_or_refused(data, points_shape, values_shape, method):
    points, values = np.ones(points_shape), np.ones(values_shape)
    if data is not None:
        points, values = (
            data.draw(arrays(tuple(points_shape), ORDINARY)),
            data.draw(arrays(tuple(values_shape), ORDINARY)),
        )
    answered(lambda: vvcv.estimate(Task(points, -points, values), method, on_alarm="ignore"))
    answered(lambda: vvcv.estimate(Tasks.shared(points, -points, values), method, on_alarm="ignore"))


@given(st.data(), st.lists(st.integers(2, 9), min_size=1, max_size=4))
def test_any_sizes_of_tasks_are_answered_in_the_order_given(data, sizes):
    tasks = []
    for t, n in enumerate(sizes):
        x = data.draw(arrays((n, 1), ORDINARY))
        tasks.append(Task(x, -x, np.full(n, float(t)), name=f"t{t}"))
    estimate = answered(lambda: vvcv.estimate(tasks, "zv", on_alarm="ignore"))
    np.testing.assert_array_equal(estimate.mean, np.arange(len(sizes)))
