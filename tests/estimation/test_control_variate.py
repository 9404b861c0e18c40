"""The control variate: mean zero under each task's target, and the integrand minus it is nearly constant."""

from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest

import vvcv
from vvcv import Task, Tasks

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(24, 1)), 0.5 + 1.5 * RNG.normal(size=(18, 1))
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(120)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
TARGETS = {"first": (0.0, 1.0), "second": (0.5, 1.5)}


def tasks():
    return Tasks(
        [
            Task(X, -X, np.exp(X[:, 0] / 2), name="first"),
            Task(Z, -(Z - 0.5) / 1.5**2, np.exp(Z[:, 0] / 2), name="second"),
        ]
    )


@pytest.fixture(scope="module", params=["zv", "cf", "secf", "vv", "vv-secf"])
def fitted(request):
    return vvcv.estimate(tasks(), request.param, kernel="squared-exponential")


@pytest.mark.parametrize("method", ["auto", "zv", "cf", "vv-secf"])
def test_an_estimate_travels_between_processes_with_its_variate(method):
    estimate = vvcv.estimate(tasks(), method)
    arrived = ForkingPickler.loads(ForkingPickler.dumps(estimate))
    np.testing.assert_array_equal(arrived.mean, estimate.mean)
    for name in TARGETS:
        np.testing.assert_array_equal(arrived.control_variate(X, -X, name), estimate.control_variate(X, -X, name))


@pytest.mark.parametrize("name", TARGETS)
def test_mean_is_zero_under_the_target_of_its_task(fitted, name):
    mean, spread = TARGETS[name]
    y = (mean + spread * NODES)[:, None]
    g = fitted.control_variate(y, -(y - mean) / spread**2, task=name)
    assert abs(WEIGHTS @ g) < 1e-7 * np.sqrt(WEIGHTS @ g**2)


@pytest.mark.parametrize("name", TARGETS)
def test_integrand_minus_variate_is_nearly_the_estimate_everywhere(fitted, name):
    mean, spread = TARGETS[name]
    y = np.linspace(mean - 1.5 * spread, mean + 1.5 * spread, 41)[:, None]
    f = np.exp(y[:, 0] / 2)
    rest = f - fitted.control_variate(y, -(y - mean) / spread**2, task=name)
    assert rest.std() < 0.1 * f.std()
    assert abs(rest.mean() - fitted.mean[fitted.names.index(name)]) < 0.1 * f.std()


def test_variate_is_called_by_name_or_index_with_rows_in_any_shape(fitted):
    g = fitted.control_variate
    y = np.array([0.1, 0.7, -0.4])
    by_name = g(y[:, None], -y[:, None], task="first")
    np.testing.assert_array_equal(by_name, g(y, -y, task=0))
    assert by_name.dtype == np.float64 and by_name.shape == (3,)
    assert g(np.zeros((0, 1)), np.zeros((0, 1)), task=0).shape == (0,)


def test_variate_refuses_tasks_and_shapes_that_do_not_exist(fitted):
    g = fitted.control_variate
    for task in ("third", 2, -3, None, 0.5):
        with pytest.raises(ValueError, match="There is no task"):
            g(np.zeros((2, 1)), np.zeros((2, 1)), task=task)
    with pytest.raises(ValueError, match="shape"):
        g(np.zeros((2, 3)), np.zeros((2, 3)), task=0)
    with pytest.raises(ValueError, match="finite"):
        g(np.full((2, 1), np.nan), np.zeros((2, 1)), task=0)


def test_averages_of_the_variate_over_fresh_samples_are_zero_within_error():
    # z-values of two independent means: both below 4.5 except with probability 1.4e-5; the seed is fixed.
    estimate = vvcv.estimate(tasks(), "cf", kernel="matern-3/2")
    rng = np.random.default_rng(1)
    for name, (mean, spread) in TARGETS.items():
        y = mean + spread * rng.normal(size=(4000, 1))
        g = estimate.control_variate(y, -(y - mean) / spread**2, task=name)
        assert abs(g.mean()) < 4.5 * g.std() / np.sqrt(4000)


def test_points_of_another_dimension_are_refused_in_one_sentence():
    x = np.random.default_rng(0).normal(size=(30, 2))
    found = vvcv.estimate(vvcv.Task(x, -x, x[:, 0] ** 2), "zv", check=False)
    with pytest.raises(ValueError, match=r"points and scores must have shape \(k, 2\), as .* but have \(3,\)"):
        found.control_variate(np.zeros(3), np.zeros(3))
    assert found.control_variate(np.zeros(2), np.zeros(2)).shape == (1,)


def test_scores_of_another_shape_are_refused(fitted):
    variate = fitted.control_variate
    np.testing.assert_array_equal(variate([0.3, 1.0], [-0.3, -1.0]), variate([[0.3], [1.0]], [[-0.3], [-1.0]]))
    with pytest.raises(ValueError, match=r"must have shape \(k, 1\).*\(2, 1\) and \(1, 2\)"):
        variate([[0.3], [1.0]], [[-0.3, -1.0]])
    with pytest.raises(ValueError, match="scores must be finite"):
        variate([0.3], [np.nan])
