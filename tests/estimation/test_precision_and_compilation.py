"""A call leaves no trace: JAX's settings stay as they were, answers are float64, equal shapes compile once."""

import jax
import numpy as np
import pytest

import vvcv
from vvcv import Task, Tasks


def a_problem(seed, n=20):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(n, 1)), rng.normal(size=(n - 6, 1))
    return Tasks([Task(x, -x, np.exp(x[:, 0] / 2)), Task(z, -z, np.sin(z[:, 0]) + z[:, 0] ** 2)])


@pytest.fixture
def compilations():
    """A list that grows by one with every compilation."""
    names = []

    def listen(name, *_args, **_kwargs):
        if name == "/jax/core/compile/backend_compile_duration":
            names.append(name)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield names
    jax.monitoring.unregister_event_duration_listener(listen)


def test_compilations_are_counted(compilations):
    jax.jit(lambda x: x * 3.25 + 1)(np.ones(7))
    assert compilations


def test_fits_of_equal_shape_never_compile_again(compilations):
    families = ("squared-exponential", "matern-5/2")
    vvcv.estimate(a_problem(0), kernel=families)
    del compilations[:]
    for seed in (1, 2):
        vvcv.estimate(a_problem(seed), kernel=families)
    assert len(compilations) == 0


def test_nearly_equal_shapes_share_their_compilations(compilations):
    vvcv.estimate(a_problem(0), "cf", kernel="squared-exponential")
    del compilations[:]
    vvcv.estimate(a_problem(3, n=27), "cf", kernel="squared-exponential")
    assert len(compilations) == 0


@pytest.mark.parametrize("x64", [False, True])
def test_global_settings_are_the_same_before_and_after_and_results_are_float64(x64):
    before = dict(jax.config.values)
    with jax.enable_x64(x64):
        inside = dict(jax.config.values), jax.numpy.ones(1).dtype
        estimate = vvcv.estimate(a_problem(0), "cf", kernel="squared-exponential")
        g = estimate.control_variate(np.zeros((1, 1)), np.zeros((1, 1)))
        assert (dict(jax.config.values), jax.numpy.ones(1).dtype) == inside
    assert dict(jax.config.values) == before
    for array in (estimate.mean, estimate.std_error, estimate.monte_carlo.mean, estimate.task_correlation, g):
        assert array.dtype == np.float64


def test_settings_are_restored_after_an_error():
    before = dict(jax.config.values), jax.numpy.ones(1).dtype
    with pytest.raises(ValueError):
        vvcv.estimate(a_problem(0), "no such method")
    assert (dict(jax.config.values), jax.numpy.ones(1).dtype) == before


def test_the_users_precision_does_not_change_the_answer():
    with jax.enable_x64(True):
        double = vvcv.estimate(a_problem(0), "cf", kernel="squared-exponential")
    single = vvcv.estimate(a_problem(0), "cf", kernel="squared-exponential")
    np.testing.assert_array_equal(single.mean, double.mean)


def test_numpys_random_state_and_the_users_arrays_are_untouched():
    x = np.random.default_rng(0).normal(size=(15, 1))
    kept, state = x.copy(), np.random.get_state()[1].copy()  # noqa: NPY002  (the global state is what is tested)
    vvcv.estimate(Task(x, -x, x[:, 0] ** 3), "cf", kernel="squared-exponential")
    np.testing.assert_array_equal(x, kept)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_numpys_errors_may_be_raised_around_all_calls():
    x = np.random.default_rng(0).normal(size=(40, 2))
    tasks = Tasks.shared(x, -x, np.column_stack([x[:, 0] ** 2, np.exp(x[:, 1] / 2)]), names=["a", "b"])
    with np.errstate(all="raise"):
        settings = np.geterr()
        found = vvcv.estimate(tasks)
        found.control_variate(100 * x, -100 * x, "b")
        vvcv.summary(tasks, method="cf")
        vvcv.quantile(tasks, "b", 0.5)
        assert np.geterr() == settings
    np.testing.assert_array_equal(found.mean, vvcv.estimate(tasks).mean)
