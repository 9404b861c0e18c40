"""Polynomials: what their error bars are made of, where few rows carry the error and where a richer fit disagrees."""

import numpy as np
import pytest

from vvcv.candidates.polynomial import HIGHEST_DEGREE, STEP, fit_polynomials, polynomials
from vvcv.data import Prepared, Task, Tasks

X = np.random.default_rng(4).normal(size=(60, 1))


def prepared(values, points=X):
    return Prepared.of(Tasks([Task(points, -points, values)]))


def test_the_step_two_degrees_up_is_one_more_look_at_the_error():
    data = prepared(np.exp(X[:, 0]))
    alone = [fit_polynomials(data, (0,), degree)[0] for degree in range(1, HIGHEST_DEGREE + STEP + 1)]
    (offered,) = polynomials(data, (0,))
    assert [fit.degree for fit in offered] == [1, 2, 3, 4]
    for fit, own, richer in zip(offered, alone, alone[STEP:], strict=False):
        squares = own.move**2
        nu = 2 * squares.sum() ** 2 / (np.sum(squares**2) - squares.sum() ** 2 / 60)
        assert own.freedom == pytest.approx(nu) and fit.freedom == pytest.approx(nu + 1)
        variance = (nu * squares.sum() + (own.mean - richer.mean) ** 2) / (nu + 1)
        assert fit.std_error == pytest.approx(np.sqrt(variance))
        assert own.std_error == own.jackknife == pytest.approx(np.sqrt(squares.sum()))


def test_a_richer_fit_that_predicts_no_better_says_nothing():
    noise = np.random.default_rng(5).normal(size=60)
    data = prepared(noise)
    alone, richer = fit_polynomials(data, (0,), 1)[0], fit_polynomials(data, (0,), 3)[0]
    assert richer.left_out_error > alone.left_out_error
    assert polynomials(data, (0,))[0][0].std_error == alone.std_error


def test_an_error_that_one_row_carries_has_few_degrees_of_freedom():
    even, outlier = np.cos(20 * X[:, 0]), np.zeros(60)
    outlier[np.argmin(np.abs(X[:, 0]))] = 1.0
    assert fit_polynomials(prepared(even), (0,), 1)[0].freedom > 30
    assert fit_polynomials(prepared(outlier), (0,), 1)[0].freedom < 3


def test_rows_that_repeat_are_not_counted_twice_and_slow_chains_have_fewer_degrees_of_freedom():
    values = np.cos(20 * X[:, 0])
    once = fit_polynomials(prepared(values), (0,), 1)[0]
    repeated = fit_polynomials(prepared(np.repeat(values, 10)[None], np.repeat(X, 10, axis=0)[None]), (0,), 1)[0]
    assert repeated.std_error == pytest.approx(once.std_error, rel=0.15)
    order = np.argsort(X[:, 0])  # a chain that wanders through the points once
    slow = fit_polynomials(prepared(np.abs(X[order, 0])[None], X[order][None]), (0,), 1)[0]
    loose = fit_polynomials(prepared(np.abs(X[order, 0]), X[order]), (0,), 1)[0]
    assert slow.std_error > 1.5 * loose.std_error and slow.freedom < loose.freedom / 2
