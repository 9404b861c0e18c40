"""Estimates are of expectations, not of how the data were written down: order, unit, origin, repetition, precision."""

import jax.numpy as jnp
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import vvcv
from vvcv import Task, Tasks
from vvcv.linear_system.dense import DenseSystem
from vvcv.runtime import threads

RNG = np.random.default_rng(0)
# Multiples of 2^-12 are exact in float32, and so are their negatives.
X = np.round(RNG.normal(size=(22, 2)) * 4096) / 4096
Z = np.round(RNG.normal(size=(16, 2)) * 4096) / 4096
METHODS = ["mc", "zv", "cf", "auto"]


def low(x):
    return np.exp(x[:, 0] / 2) + x[:, 1] ** 2


def high(x):
    return low(x) + 0.3 * np.sin(x[:, 0])


def two(unit=1.0, origin=0.0, scale=(1.0, 1.0), shift=(0.0, 0.0), rows=slice(None), other=slice(None)):
    """The same two integrals, written in other units, from other origins, with other rows first."""
    x, z = X[rows], Z[other]
    return [
        Task(x * unit + origin, -x / unit, scale[0] * low(x) + shift[0], name="low"),
        Task(z * unit + origin, -z / unit, scale[1] * high(z) + shift[1], name="high"),
    ]


_CACHE = {}


def run(tasks, method):
    return vvcv.estimate(Tasks(tasks), method, kernel="squared-exponential")


def reference(method):
    if method not in _CACHE:
        _CACHE[method] = run(two(), method)
    return _CACHE[method]


SPREAD = np.array([low(X).std(), high(Z).std()])


def assert_same(estimate, method, scale=1.0, shift=0.0):
    """Means and standard errors agree to 1e-7 of the spread of each task's values, and the same rung was chosen."""
    expected = reference(method)
    assert (np.abs((estimate.mean - shift) / scale - expected.mean) <= 1e-7 * SPREAD).all()
    assert (np.abs(estimate.std_error / np.abs(scale) - expected.std_error) <= 1e-7 * SPREAD).all()
    assert estimate.methods == expected.methods


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_points_does_not_matter(method):
    rng = np.random.default_rng(1)
    assert_same(run(two(rows=rng.permutation(22), other=rng.permutation(16)), method), method)


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_tasks_does_not_matter(method):
    estimate = run(two()[::-1], method)
    assert estimate.names == ("high", "low")
    expected = reference(method)
    assert np.abs(estimate.mean[::-1] - expected.mean).max() <= 1e-7 * SPREAD.min()
    assert np.abs(estimate.std_error[::-1] - expected.std_error).max() <= 1e-7 * SPREAD.min()


@pytest.mark.parametrize("method", METHODS)
def test_the_unit_and_origin_of_the_coordinates_do_not_matter(method):
    estimate = run(two(unit=np.array([2.54, 1e-3]), origin=np.array([-30.0, 0.02])), method)
    assert_same(estimate, method)


@pytest.mark.parametrize("method", METHODS)
def test_the_unit_and_origin_of_the_values_do_not_matter(method):
    scale, shift = np.array([1e3, 0.01]), np.array([-5e3, 0.1])
    assert_same(run(two(scale=scale, shift=shift), method), method, scale, shift)


@pytest.mark.parametrize("method", ["zv", "cf"])
def test_the_sign_of_the_values_does_not_matter(method):
    estimate = run(two(scale=(-1.0, -1.0)), method)
    assert np.abs(estimate.mean + reference(method).mean).max() <= 1e-7 * SPREAD.min()


@pytest.mark.parametrize("method", METHODS[:-1])
def test_repeating_the_whole_data_set_does_not_change_the_estimate(method):
    twice, both = np.tile(np.arange(22), 2), np.tile(np.arange(16), 2)
    estimate = run(two(rows=twice, other=both), method)
    assert np.abs(estimate.mean - reference(method).mean).max() <= 1e-7 * SPREAD.min()


@pytest.mark.parametrize("method", METHODS[:-1])
def test_single_precision_input_gives_the_double_precision_answer(method):
    values = [np.round(f * 4096) / 4096 for f in (low(X), high(Z))]

    def tasks(dtype):
        pairs = zip((X, Z), values, strict=True)
        return [Task(x.astype(dtype), (-x).astype(dtype), y.astype(dtype)) for x, y in pairs]

    single, double = (run(tasks(dtype), method) for dtype in (np.float32, np.float64))
    np.testing.assert_array_equal(single.mean, double.mean)
    np.testing.assert_array_equal(single.std_error, double.std_error)
    assert single.mean.dtype == np.float64


def test_a_shared_sample_does_not_depend_on_the_order_of_its_integrands():
    values = np.column_stack([low(X), high(X), np.cos(X[:, 1])])
    one = vvcv.estimate(Tasks.shared(X, -X, values), "vv", kernel="squared-exponential")
    other = vvcv.estimate(Tasks.shared(X, -X, values[:, ::-1]), "vv", kernel="squared-exponential")
    assert np.abs(one.mean - other.mean[::-1]).max() <= 1e-7


@pytest.mark.parametrize("method", ["mc", "zv", "cf"])
def test_two_calls_give_the_same_bits(method):
    again = run(two(), method)
    np.testing.assert_array_equal(again.mean, reference(method).mean)
    np.testing.assert_array_equal(again.std_error, reference(method).std_error)


def with_threads(count, call):
    with threadpool_limits(limits=count, user_api="blas"):
        assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {count}
        return call()


@pytest.mark.parametrize("method", ["zv", "cf"])
def test_one_thread_or_many_give_the_same_estimate(monkeypatch, method):
    monkeypatch.setattr(threads, "SMALL_SYSTEM", 0)  # the library itself would take one thread for so few rows
    x = np.random.default_rng(5).normal(size=(300, 4))
    task = Task(x, -x, low(x) + np.abs(x[:, 1]))
    one, many = (
        with_threads(count, lambda: vvcv.estimate(task, method, kernel="squared-exponential")) for count in (1, 2)
    )
    assert abs(one.mean[0] - many.mean[0]) <= 1e-7 * task.values.std()
    assert abs(one.std_error[0] - many.std_error[0]) <= 1e-7 * task.values.std()


def test_one_thread_or_many_solve_the_same_system():
    """What threads round differently the search sees as it sees another order of points, which is tested above."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(500, 2))
    covariance = np.exp(-((x[:, None] - x[None]) ** 2).sum(axis=-1)) + 1e-6 * np.eye(500)
    solutions = [
        with_threads(count, lambda: DenseSystem.of(covariance.copy(), np.ones((500, 1)), np.sin(x[:, 0])))
        for count in (1, 2)
    ]
    means, errors = ([getattr(s, name).item() for s in solutions] for name in ("coefficients", "covariance"))
    assert means[1] == pytest.approx(means[0], rel=1e-7) and errors[1] == pytest.approx(errors[0], rel=1e-7)


@pytest.mark.parametrize("method", ["zv", "cf"])
def test_a_point_with_twice_the_weight_is_a_point_given_twice(method):
    """Every point twice is every point once: merged rows carry multiplicity 2, which all tasks' weights halve."""
    rng = np.random.default_rng(6)
    rows = rng.permutation(np.repeat(np.arange(22), 2))  # in no particular order
    both = rng.permutation(np.repeat(np.arange(16), 2))
    estimate = run(two(rows=rows, other=both), method)
    assert (np.abs(estimate.mean - reference(method).mean) <= 1e-7 * SPREAD).all()


def turned(unit=1.0, axes=slice(None), sign=1.0, shift=0.0):
    """Integrals of logarithms of gamma variables, mixed, by `auto`: all axes and values written down in another way."""
    rng = np.random.default_rng(1)
    gamma = rng.gamma(2.0, size=(60, 2))
    x, s = np.log(gamma), 2.0 - gamma
    mix = np.array([[1.0, 0.6], [0.0, 0.8]])
    x, s = x @ mix, s @ np.linalg.inv(mix).T
    values = np.column_stack(
        [np.sqrt(gamma[:, 0]), x[:, 0], gamma[:, 0] ** 2, gamma.prod(axis=1), 1 / (1 + gamma[:, 0])]
    )
    tasks = Tasks.shared((x * unit)[:, axes], (s / unit)[:, axes], sign * values + shift)
    return vvcv.estimate(tasks, progress=False, check=False)


@pytest.fixture(scope="module")
def as_given():
    return turned()


@pytest.mark.parametrize(
    "written", [{"axes": [1, 0]}, {"unit": np.array([-1.0, 1.0])}, {"sign": -1.0}, {"shift": 1000.0}], ids=str
)
def test_answers_do_not_depend_on_places_and_signs_of_axes_or_on_those_of_values(written, as_given):
    found = turned(**written)
    means = (found.mean - written.get("shift", 0.0)) * written.get("sign", 1.0)
    assert (np.abs(means - as_given.mean) <= 1e-3 * as_given.std_error).all()
    np.testing.assert_allclose(found.std_error, as_given.std_error, rtol=1e-3)


def test_the_axes_of_a_kernel_of_the_users_own_stay_in_their_places():
    x = np.random.default_rng(0).normal(size=(40, 2))

    def kernel(a, b):  # knows nothing of the first axis
        return jnp.exp(-((a[1] - b[1]) ** 2) / 8)

    found = vvcv.estimate(Task(x, -x, np.exp(x[:, 1] / 2)), "cf", kernel=kernel)
    plain = found.monte_carlo.std_error[0]
    assert abs(found.mean[0] - np.exp(1 / 8)) < 1e-3 * plain and found.std_error[0] < 2e-3 * plain
