"""Minimisation within bounds: to the minimum, in few evaluations, never above the start."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from vvcv.tuning.descent import CUTS, FIRST_CUTS, REMEMBERED, Box, Memory, minimise, minimise_carefully

ANYWHERE = Box(np.full(4, -50.0), np.full(4, 50.0), np.full(4, 1e-9))


def counted(value, slope):
    """A function that notes where it was asked for."""
    asked = []

    def function(x):
        asked.append(x.copy())
        return float(value(x)), lambda: slope(x)

    return function, asked


def noisy(rng, noise, x):
    """The slope of a curved valley, its last digits wrong."""
    return rosen_der(x) * (1 + noise * rng.normal(size=4))


def test_a_curved_valley_is_followed_to_its_end():
    function, asked = counted(rosen, rosen_der)
    x = minimise(function, np.array([-1.2, 1.0, -1.2, 1.0]), ANYWHERE, 300, 1e-14)
    np.testing.assert_allclose(x, np.ones(4), atol=1e-4)
    assert len(asked) < 120


def test_of_many_scales_at_once_directions_are_learnt():
    curvature = 10.0 ** np.arange(4)
    function, asked = counted(lambda x: 0.5 * x @ (curvature * x), lambda x: curvature * x)
    x = minimise(function, np.ones(4), ANYWHERE, 100, 1e-12)
    np.testing.assert_allclose(x, np.zeros(4), atol=1e-4)
    assert len(asked) < 40


def test_the_answer_and_every_point_asked_for_lie_within_the_bounds():
    box = Box(np.array([1.0, -9.0, -9.0]), np.array([9.0, -2.0, 9.0]), np.full(3, 1e-9))
    function, asked = counted(lambda x: x @ x, lambda x: 2 * x)
    np.testing.assert_allclose(minimise(function, np.array([20.0, -5.0, 3.0]), box, 50, 1e-12), [1, -2, 0], atol=1e-5)
    assert all((x >= box.low).all() and (x <= box.high).all() for x in asked)


@pytest.mark.parametrize("most", [1, 2, 7, REMEMBERED])
def test_no_more_evaluations_than_were_given(most):
    function, asked = counted(rosen, rosen_der)
    minimise(function, np.full(4, -3.0), ANYWHERE, most, 0.0)
    assert len(asked) == most


def test_a_step_into_what_cannot_be_evaluated_is_taken_back():
    function, _ = counted(lambda x: x @ x if x[0] > 0.9 else 1e15, lambda x: 2 * x if x[0] > 0.9 else 0 * x)
    x = minimise(function, np.array([3.0, 0.0, 0.0, 0.0]), ANYWHERE, 60, 1e-9)
    assert 0.9 < x[0] < 1.0


def test_nothing_is_done_where_the_slope_is_nothing_or_leads_nowhere():
    flat, asked = counted(lambda x: 1.0, lambda x: np.zeros(4))
    minimise(flat, np.ones(4), ANYWHERE, 50, 1e-6)
    assert len(asked) == 1
    false, asked = counted(lambda x: 1.0, lambda x: np.ones(4))  # promises what it does not keep
    np.testing.assert_array_equal(minimise(false, np.ones(4), ANYWHERE, 50, 1e-6), np.ones(4))
    assert len(asked) == 1 + FIRST_CUTS > 1 + CUTS


def test_steps_that_gain_too_little_are_the_last():
    function, asked = counted(
        lambda x: 1000.0 + np.sum(np.abs(x) ** 1.5), lambda x: 1.5 * np.sign(x) * np.abs(x) ** 0.5
    )
    minimise(function, np.full(4, 5.0), ANYWHERE, 100, 1e-2)
    few = len(asked)
    minimise(function, np.full(4, 5.0), ANYWHERE, 100, 1e-9)
    assert few < 8 < len(asked) - few


@pytest.mark.parametrize("most", [25, 30])
def test_gradients_are_asked_for_only_where_a_search_goes_on(most):
    asked, sloped = [], []

    def function(x):
        asked.append(x)
        return rosen(x), lambda: sloped.append(x) or rosen_der(x)

    end = minimise(function, np.array([-1.2, 1.0, -1.2, 1.0]), ANYWHERE, most, 0.0)
    values = [rosen(x) for x in asked]
    taken = [x for k, x in enumerate(asked) if values[k] <= min(values[: k + 1])]
    assert end is taken[-1] and len(taken) < len(asked) == most
    on_the_way = taken[:-1] if end is asked[-1] else taken  # from the last step nobody goes on
    assert len(sloped) == len(on_the_way) and all(x is y for x, y in zip(sloped, on_the_way, strict=True))


def test_a_search_that_another_goes_on_from_remembers_its_last_step():
    memory, (function, _) = Memory(), counted(rosen, rosen_der)
    x = minimise(function, np.array([-1.2, 1.0, -1.2, 1.0]), ANYWHERE, 15, 0.0, memory)
    further = minimise(function, x, ANYWHERE, 15, 0.0, memory)
    afresh = minimise(function, x, ANYWHERE, 15, 0.0)
    assert rosen(further) < rosen(afresh) < rosen(x)


@pytest.mark.parametrize("search", [minimise, minimise_carefully])
def test_what_the_last_digits_of_slopes_say_leads_to_the_same_point_on_a_grid(search):
    start, ends = np.array([-1.2, 1.0, -1.2, 1.0]), {}
    for width in (2.0**-8, 2.0**-50):
        rng, box = np.random.default_rng(0), Box(ANYWHERE.low, ANYWHERE.high, np.full(4, width))
        ends[width] = []
        for noise in (0.0, 1e-12, 1e-12):
            function, _ = counted(rosen, partial(noisy, rng, noise))
            ends[width].append(search(function, start, box, 40, 1e-9))
    first, *others = ends[2.0**-8]
    assert all(np.array_equal(first, other) for other in others)
    assert rosen(first) < 1e-2 * rosen(start)
    assert not np.array_equal(*ends[2.0**-50][:2])


@pytest.mark.parametrize("search", [minimise, minimise_carefully])
def test_every_point_asked_for_lies_on_the_grid(search):
    function, asked = counted(rosen, rosen_der)
    search(function, np.array([-1.2, 1.0, -1.2, 1.0]), ANYWHERE._replace(grid=np.full(4, 0.125)), 60, 1e-9)
    assert all(np.array_equal(x, np.round(x * 8) / 8) for x in asked)
    assert len(asked) > 3
    if search is minimise_carefully:  # whose line searches come back to where they were
        assert len({x.tobytes() for x in asked}) == len(asked)


def test_a_slope_too_flat_for_the_grid_still_leads_on():
    function, asked = counted(lambda x: 1e-3 * x @ x, lambda x: 2e-3 * x)
    x = minimise(function, np.full(4, 2.0), ANYWHERE._replace(grid=np.full(4, 2.0**-4)), 60, 1e-9)
    np.testing.assert_allclose(x, np.zeros(4), atol=2.0**-4)
    assert len(asked) < 20
