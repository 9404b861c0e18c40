"""Degrees of freedom of a kernel fit's error bar: of its rows, or of the few values that carry its error."""

import numpy as np
import pytest

from vvcv import Task, Tasks, estimate
from vvcv.candidates.fits import CLEARLY_WRONG
from vvcv.candidates.kernel import Options
from vvcv.candidates.rungs import KernelFits
from vvcv.data import Prepared

X = np.random.default_rng(4).normal(size=(50, 1))


def fits(*columns):
    return KernelFits(Prepared.of(Tasks.shared(X, -X, np.column_stack(columns))), Options()).of("vv")[0]


def test_a_model_that_knows_its_outermost_points_has_the_freedom_of_its_rows():
    for fit in fits(np.cos(X[:, 0])):
        assert (fit.solution.judgement.outermost.far < CLEARLY_WRONG).all()
        np.testing.assert_array_equal(fit.freedom, [49.0])


def test_one_that_is_clearly_wrong_about_them_has_that_of_the_values_that_carry_its_error():
    wrong = [fit for fit in fits(np.exp(3 * X[:, 0])) if fit.solution.judgement.outermost.far[0] > CLEARLY_WRONG]
    assert wrong
    for fit in wrong:
        squares = fit.move(0) ** 2
        nu = 2 * squares.sum() ** 2 / (np.sum(squares**2) - squares.sum() ** 2 / 50)
        assert fit.freedom[0] == pytest.approx(max(min(nu, 49.0), 1.0), rel=1e-9) and fit.freedom[0] < 25


def test_integrands_on_the_same_points_have_their_own():
    for fit in fits(np.cos(X[:, 0]), np.exp(3 * X[:, 0])):
        wave, growth = (fit.freedom[fit.members.index(task)] for task in (0, 1))
        assert wave == 49.0 and growth < 25


def test_an_interval_of_few_degrees_of_freedom_is_wider_than_two_error_bars():
    found = estimate(Task(X, -X, np.exp(3 * X[:, 0])), "cf", check=False)
    low, high = found.interval()
    assert found.freedom[0] < 25 and high[0] - low[0] > 4.1 * found.std_error[0]
