"""Tasks that are one function but for shift and scale are fitted as one, and only where that can be seen."""

import numpy as np
import pytest

import vvcv
from vvcv.candidates.kernel import Options, independent
from vvcv.candidates.one_function import as_one_function, line_through_most, one_gaussian
from vvcv.candidates.rungs import KernelFits
from vvcv.data import Prepared, Task, Tasks
from vvcv.runtime.precision import float64


def tasks_of(f, g, sizes=(25, 25), seed=0, variance=1.0):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(sizes[0], 1)), np.sqrt(variance) * rng.normal(size=(sizes[1], 1))
    return Tasks([Task(x, -x, f(x[:, 0])), Task(y, -y / variance, g(y[:, 0]))])


def wave(x):
    return np.sin(2 * x) + x**2


@float64
def one_function_fits(tasks):
    fits = KernelFits(Prepared.of(tasks), Options())
    return as_one_function(fits.prepared, fits.scalar, fits.options)


def test_the_line_through_most_values_ignores_the_rest():
    x = np.linspace(-1, 1, 40)
    y = 0.5 - 3 * x
    y[[3, 20]] = 10.0
    line = line_through_most(x, y)
    assert line.shift == pytest.approx(0.5, abs=1e-6) and line.factor == pytest.approx(-3.0, abs=1e-6)
    assert line.distance < 1e-6 < 1 < line.root_mean_square


@pytest.mark.parametrize(("variance", "same"), [(1.0, True), (1.01, False)])
def test_targets_are_the_same_only_if_the_scores_are_one_affine_function(variance, same):
    assert one_gaussian(Prepared.of(tasks_of(wave, wave, variance=variance)), (0, 1)) == same


def test_scores_that_are_not_affine_and_few_points_are_no_sign_of_one_gaussian():
    x = np.random.default_rng(0).normal(size=(30, 2))
    bent = Tasks([Task(x[:15], -np.tanh(x[:15]), x[:15, 0]), Task(x[15:], -np.tanh(x[15:]), x[15:, 0])])
    assert not one_gaussian(Prepared.of(bent), (0, 1))
    few = Tasks([Task(x[:2], -x[:2], x[:2, 0]), Task(x[2:5], -2 * x[2:5], x[2:5, 0])])
    assert not one_gaussian(Prepared.of(few), (0, 1))


def test_one_function_of_two_scales_is_the_fit_of_all_points():
    """Same answers as the scalar fit of the pooled rows, moved to each task's units."""
    tasks = tasks_of(wave, lambda x: 5 - 2 * wave(x))
    fits = one_function_fits(tasks)
    assert fits and set(fits[0].members) == {0, 1}

    @float64
    def scalar():
        values = np.concatenate([tasks[0].values, (5 - tasks[1].values) / 2])
        points = np.concatenate([tasks[0].points, tasks[1].points])
        return independent(Prepared.of(Tasks([Task(points, -points, values)])), 0, Options())

    for ours, theirs in zip(fits, scalar(), strict=True):
        first, second = (ours.mean[ours.members.index(t)] for t in (0, 1))
        assert first == pytest.approx(theirs.mean[0], abs=1e-3) and second == pytest.approx(5 - 2 * first, abs=1e-3)


@float64
def test_residuals_and_variates_belong_to_the_rows_of_each_task():
    tasks = tasks_of(wave, lambda x: 3 * wave(x) - 1, sizes=(30, 20))
    repeated = Tasks([tasks[0], Task(*(np.concatenate([a, a[:5]]) for a in _arrays(tasks[1])))])
    fit = one_function_fits(repeated)[0]
    for k, t in enumerate(fit.members):
        rows = fit.prepared.distinct[t]
        explained = fit.mean[k] + fit.variate(rows.points, rows.scores, k)
        assert fit.left_out(k).shape == rows.values.shape
        assert np.std(rows.values - explained) < 0.05 * np.std(rows.values)


def _arrays(task):
    return task.points, task.scores, task.values


@pytest.mark.parametrize(
    "other",
    [
        lambda x: np.cos(3 * x),  # another function
        lambda x: wave(x) + 0.5 * np.cos(3 * x),  # a related one
        lambda x: np.where(x > 1.5, 1.0, 0.0) + 1e-3 * x,  # a rare event
    ],
)
def test_tasks_that_are_not_one_function_are_not_pooled(other):
    assert one_function_fits(tasks_of(wave, other)) == []


def test_one_function_under_two_targets_is_not_pooled():
    assert one_function_fits(tasks_of(wave, wave, variance=1.5)) == []


def test_a_handful_of_values_shows_no_line():
    fits = one_function_fits(tasks_of(wave, lambda x: 2 * wave(x), sizes=(40, 20)))
    assert fits and all(len(fit.members) == 2 for fit in fits)
    assert one_function_fits(tasks_of(wave, lambda x: 2 * wave(x), sizes=(19, 19))) == []


def test_pooling_makes_identical_rough_tasks_more_accurate():
    """Mean error over 12 seeds at most .8 times that of each task alone; fixed seeds, no false alarms."""

    def jump(x):
        return np.where(x >= 0.3, 1.0, 0.0)

    errors = {"cf": [], "vv": []}
    exact = 0.3820885778
    for seed in range(12):
        found = vvcv.compare(tasks_of(jump, lambda x: 1 - 4 * jump(x), seed=seed), ["cf", "vv"], check=False)
        for method, estimate in found.items():
            errors[method].append(abs(estimate.mean[0] - exact))
    assert np.mean(errors["vv"]) < 0.8 * np.mean(errors["cf"])


def test_nothing_is_pooled_without_fits():
    assert as_one_function(Prepared.of(tasks_of(wave, wave)), {0: [], 1: []}, Options()) == []
