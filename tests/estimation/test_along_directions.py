"""Integrands of few directions, such as predictions of a regression, are followed along them, alone or not."""

import numpy as np
import pytest

import vvcv
from vvcv.candidates import rungs
from vvcv.candidates.kernel import Options
from vvcv.candidates.rungs import KernelFits
from vvcv.data import LEADING, Prepared

SEEDS = (31, 32, 33)


def points(seed, n, d):
    return np.random.default_rng(seed).normal(size=(n, d))


def chances(x, directions):
    return 1 / (1 + np.exp(-1.5 * x @ directions - 0.5))


def expected_chance(norm):
    u, w = np.polynomial.hermite_e.hermegauss(120)
    return float(w @ (1 / (1 + np.exp(-1.5 * norm * u - 0.5)))) / np.sqrt(2 * np.pi)


@pytest.fixture
def without_directions(monkeypatch):
    def leave_out():
        monkeypatch.setattr(Prepared, "led", lambda self, members: None)

    return leave_out


def test_an_exponential_of_a_sum_is_followed_along_it(without_directions):
    def errors():
        samples = [points(seed, 100, 6) for seed in SEEDS]
        estimates = [vvcv.estimate(vvcv.Task(x, -x, np.exp(x.sum(axis=1) / np.sqrt(6)))) for x in samples]
        return np.array([e.mean[0] - np.exp(0.5) for e in estimates]), np.array([e.std_error[0] for e in estimates])

    along, bars = errors()
    without_directions()
    before, _ = errors()
    assert np.sqrt(np.mean(along**2)) < 0.2 * np.sqrt(np.mean(before**2))
    assert (np.abs(along) < 4 * bars).all()


def test_predictions_on_the_same_points_have_directions_of_their_own(without_directions):
    directions = np.random.default_rng(0).normal(size=(5, 4)) / 2
    exact = [expected_chance(np.linalg.norm(w)) for w in directions.T]

    def estimate(seed):
        x = points(seed, 150, 5)
        return vvcv.estimate(vvcv.Tasks.shared(x, -x, chances(x, directions)))

    along = [estimate(seed) for seed in SEEDS]
    without_directions()
    before = [estimate(seed) for seed in SEEDS]
    errors, others = (np.array([e.mean for e in each]) - exact for each in (along, before))
    assert np.sqrt(np.mean(errors**2)) < 0.3 * np.sqrt(np.mean(others**2))
    assert (np.abs(errors) < 4 * np.array([e.std_error for e in along])).mean() >= 0.9
    assert all("leading axes" in kernel for e in along for kernel in e.kernel)


def test_what_one_kernel_follows_is_not_fitted_again():
    x = points(5, 150, 4)
    tasks = vvcv.Tasks.shared(x, -x, np.column_stack([x, x**2]))
    fits = KernelFits(Options().prepared(tasks), Options())
    assert fits.of("vv") == dict.fromkeys(fits.eligible, fits.joint)


def test_of_many_badly_followed_tasks_the_worst_have_directions_of_their_own(monkeypatch):
    x = points(6, 120, 4)
    tasks = vvcv.Tasks.shared(x, -x, chances(x, np.random.default_rng(1).normal(size=(4, 3))))
    fits = KernelFits(Options().prepared(tasks), Options())
    monkeypatch.setattr(rungs, "MOST_OWN_VALUES", 200)
    offered, best = fits.of("vv"), min(fits.joint, key=lambda fit: fit.found.merit)
    own = [task for task, each in offered.items() if len(each) > len(fits.joint)]
    left = best.left_out_error / fits.prepared.scale[list(best.members)]
    assert own == [best.members[int(np.argmax(left))]]
    assert any(fit.found.system == LEADING for fit in offered[own[0]][len(fits.joint) :])


def test_the_variate_of_a_turned_fit_has_the_estimated_mean():
    x = points(7, 90, 3)
    values = np.exp(x @ np.array([0.5, -0.5, 0.3]))
    estimate = vvcv.estimate(vvcv.Task(x, -x, values), method="cf")
    assert "leading axes" in estimate.kernel[0]
    many = points(8, 40000, 3)
    rest = np.exp(many @ np.array([0.5, -0.5, 0.3])) - estimate.control_variate(many, -many)
    # Of 40,000 new points 99.99 % of averages lie within four of their errors.
    assert abs(rest.mean() - estimate.mean[0]) < 4 * rest.std() / 200 + 4 * estimate.std_error[0]
    assert rest.std() < 0.05 * np.exp(many @ np.array([0.5, -0.5, 0.3])).std()


def test_tasks_on_points_of_their_own_have_directions_together():
    def wave(rng, height):
        x = rng.normal(size=(30, 8))
        return vvcv.Task(x, -x, height * np.sin(2 * x @ np.full(8, 8**-0.5)))

    rng = np.random.default_rng(2)
    estimate = vvcv.estimate(vvcv.Tasks([wave(rng, 1 + 0.2 * k) for k in range(5)]))
    assert (np.abs(estimate.mean) < 4 * estimate.std_error).all()
    assert (estimate.gain > 2).all()
