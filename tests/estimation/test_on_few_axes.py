"""Functions of few axes among many are as well known as if there were no others, alone and beside others."""

import numpy as np
import pytest

import vvcv
from vvcv.candidates import rungs
from vvcv.data import Prepared
from vvcv.data.seen import OnFewAxes

SEEDS = (41, 42, 43)
CURVE = float(np.exp(1 / 50))


def curve(x):
    return np.exp(x[:, 0] / 5) + np.sin(x[:, 1])


def correlated(rng, n, d):
    covariance = 0.6 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    x = rng.normal(size=(n, d)) @ np.linalg.cholesky(covariance).T
    return x, -np.linalg.solve(covariance, x.T).T


def independent(rng, n, d):
    x = rng.normal(size=(n, d))
    return x, -x


def funnel(rng, n, d):
    z = rng.normal(size=(n, d))
    width = np.exp(z[:, -1:] / 4)
    squares = np.sum(z[:, :-1] ** 2, axis=1)
    scores = np.column_stack([-z[:, :-1] / width, -z[:, -1] + (squares - d + 1) / 4])
    return np.column_stack([z[:, :-1] * width, z[:, -1]]), scores


@pytest.fixture
def without_few_axes(monkeypatch):
    def leave_out():
        monkeypatch.setattr(Prepared, "on_few_axes", lambda self, task: None)

    return leave_out


@pytest.mark.parametrize("target", [independent, correlated])
def test_a_function_of_two_axes_among_a_hundred(target):
    for seed in SEEDS:
        x, s = target(np.random.default_rng(seed), 200, 100)
        estimate = vvcv.estimate(vvcv.Task(x, s, curve(x)))
        assert "few" in estimate.kernel[0]
        assert abs(estimate.mean[0] - CURVE) < 1e-3 * estimate.monte_carlo.std_error[0]
        assert abs(estimate.mean[0] - CURVE) < 5 * estimate.std_error[0]


def test_integrands_on_the_same_points_have_few_axes_of_their_own(without_few_axes):
    def errors():
        found = []
        for seed in SEEDS[:2]:
            x, s = independent(np.random.default_rng(seed), 150, 7)
            growing, bounded = np.exp(x / 2), 1 / (1 + np.exp(-2 * x))
            estimate = vvcv.estimate(vvcv.Tasks.shared(x, s, np.hstack([growing, bounded])))
            found.append(estimate.mean - np.repeat([np.exp(1 / 8), 0.5], 7))
        return np.array(found)

    alone = errors()
    without_few_axes()
    assert np.sqrt(np.mean(alone**2)) < 0.2 * np.sqrt(np.mean(errors() ** 2))


def two_curves(seed, d=20, few=80):
    """The curve on 150 points, and a bent one on fewer points of its own."""
    rng = np.random.default_rng(seed)
    (x, s), (y, r) = independent(rng, 150, d), independent(rng, few, d)
    return vvcv.Tasks([vvcv.Task(x, s, curve(x)), vvcv.Task(y, r, 1.2 * curve(y) + 0.3 * np.cos(y[:, 0] + y[:, 1]))])


CURVES = np.array([CURVE, 1.2 * CURVE + 0.3 * np.exp(-1)])


def test_tasks_on_points_of_their_own_see_the_few_axes_of_all(monkeypatch):
    def errors():
        estimates = [vvcv.estimate(two_curves(seed)) for seed in SEEDS]
        assert all((np.abs(e.mean - CURVES) < 5 * e.std_error).all() for e in estimates)
        return np.array([e.mean - CURVES for e in estimates])

    along = errors()
    monkeypatch.setattr(OnFewAxes, "of", lambda prepared, tasks: None)
    assert (np.sqrt(np.mean(along**2, axis=0)) < 0.3 * np.sqrt(np.mean(errors() ** 2, axis=0))).all()


def test_the_variates_of_tasks_that_see_few_axes_are_functions_of_all():
    estimate = vvcv.estimate(two_curves(52), method="vv")
    assert all("few of all axes" in kernel for kernel in estimate.kernel)
    many, scores = independent(np.random.default_rng(53), 40000, 20)
    rest = 1.2 * curve(many) + 0.3 * np.cos(many[:, 0] + many[:, 1]) - estimate.control_variate(many, scores, task=1)
    # Of 40,000 new points 99.99 % of averages lie within four of their errors.
    assert abs(rest.mean() - estimate.mean[1]) < 4 * rest.std() / 200 + 4 * estimate.std_error[1]
    assert rest.std() < 0.05 * curve(many).std()


def test_a_task_that_is_not_followed_is_no_place_for_another_to_start_from(monkeypatch):
    monkeypatch.setattr(OnFewAxes, "of", lambda prepared, tasks: None)  # by which both would be

    def errors():
        found = []
        for seed in (21001, 21002):
            rng = np.random.default_rng([seed, 77])
            x, y = rng.normal(size=(150, 20)), rng.normal(size=(80, 20))
            wave = vvcv.Task(x, -x, np.cos(2 * x[:, 0] + x[:, 1]))
            smooth = vvcv.Task(y, -y, np.sin(1.5 * y[:, 0]) + y[:, 1] ** 2 / 2)
            found.append(vvcv.estimate(vvcv.Tasks([wave, smooth]), check=False).mean[1] - 0.5)
        return np.sqrt(np.mean(np.square(found)))

    after = errors()
    monkeypatch.setattr(rungs, "HARDLY_FOLLOWED", np.inf)
    assert after < 0.3 * errors()


def test_a_fourth_power_is_exact():
    x, s = independent(np.random.default_rng(44), 120, 12)
    estimate = vvcv.estimate(vvcv.Task(x, s, x[:, 3] ** 4), on_alarm="ignore")
    assert abs(estimate.mean[0] - 3) < 1e-6 * estimate.monte_carlo.std_error[0]


def test_under_a_funnel_all_axes_are_seen_or_it_is_straightened_or_their_law_is_known():
    x, s = funnel(np.random.default_rng(45), 120, 6)
    estimate = vvcv.estimate(vvcv.Task(x, s, np.cos(2 * x[:, 0])))
    on_few = [promise.kernel for promise in estimate.promises[0] if "few" in promise.kernel]
    assert on_few and all("straightened" in words or "by the law of few" in words for words in on_few)


def test_what_few_axes_leave_nothing_of_is_not_looked_for_elsewhere():
    x, s = independent(np.random.default_rng(46), 150, 20)
    promises = vvcv.estimate(vvcv.Task(x, s, curve(x))).promises[0]
    kernels = {promise.kernel for promise in promises if promise.method in ("cf", "secf", "vv")}
    assert kernels and all("few" in kernel for kernel in kernels)


def test_what_they_leave_something_of_is():
    x, s = independent(np.random.default_rng(47), 150, 10)
    values = np.exp(x[:, 0]) + 0.02 * np.sum(np.sin(2 * x[:, 1:]), axis=1)
    estimate = vvcv.estimate(vvcv.Task(x, s, values))
    kernels = {promise.kernel for promise in estimate.promises[0] if promise.method == "cf"}
    assert 0 < sum("few" in kernel for kernel in kernels) < len(kernels)
    assert abs(estimate.mean[0] - np.exp(0.5)) < 0.05 * estimate.monte_carlo.std_error[0]


def test_the_variate_on_few_axes_has_the_estimated_mean():
    x, s = correlated(np.random.default_rng(48), 120, 9)
    estimate = vvcv.estimate(vvcv.Task(x, s, curve(x)), method="cf")
    assert "few precision" in estimate.kernel[0]
    many, scores = correlated(np.random.default_rng(49), 40000, 9)
    rest = curve(many) - estimate.control_variate(many, scores)
    # Of 40,000 new points 99.99 % of averages lie within four of their errors.
    assert abs(rest.mean() - estimate.mean[0]) < 4 * rest.std() / 200 + 4 * estimate.std_error[0]
    assert rest.std() < 0.05 * curve(many).std()


def test_nothing_depends_on_units_or_the_order_of_axes():
    x, s = correlated(np.random.default_rng(50), 90, 6)
    values, scale, order = np.exp(x[:, 2] / 2), np.array([1e-3, 1.0, 40.0, 7.0, 0.2, 1.0]), [2, 0, 3, 5, 1, 4]
    first = vvcv.estimate(vvcv.Task(x, s, values))
    other = vvcv.estimate(vvcv.Task((x * scale)[:, order] + 3.0, (s / scale)[:, order], 5 - 100 * values))
    np.testing.assert_allclose(5 - 100 * first.mean, other.mean, rtol=0, atol=other.std_error[0] / 100)
    np.testing.assert_allclose(100 * first.std_error, other.std_error, rtol=0.01)
    assert "few precision" in first.kernel[0]


def test_a_kernel_of_the_users_own_sees_all_axes():
    x, s = independent(np.random.default_rng(51), 80, 6)
    kernel = vvcv.kernels.SquaredExponential(np.full(6, 2.0))
    estimate = vvcv.estimate(vvcv.Task(x, s, np.exp(x[:, 2] / 2)), kernel=kernel)
    assert not any("few" in promise.kernel for promise in estimate.promises[0])
