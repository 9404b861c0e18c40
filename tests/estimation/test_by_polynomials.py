"""What polynomials follow to the last digits, here or in other coordinates, needs no kernel."""

import numpy as np
import pytest

import vvcv
from vvcv.candidates.kernel import Options
from vvcv.data import Prepared, Task, Tasks
from vvcv.estimation.by_polynomials import by_polynomials, exactly_elsewhere, tells
from vvcv.estimation.ladder import Ladder

N = 100


def banana(seed, n=N):
    """Points and scores of x ~ N(0, 1), y ~ N((x^2 - 1) / 2, 1)."""
    x, z = np.random.default_rng(seed).normal(size=(2, n))
    return np.column_stack([x, (x**2 - 1) / 2 + z]), np.column_stack([z * x - x, -z])


def straight(points, scores):
    """The same as two independent normal variables."""
    x, z = points[:, 0], points[:, 1] - (points[:, 0] ** 2 - 1) / 2
    return np.column_stack([x, z]), np.column_stack([scores[:, 0] + scores[:, 1] * x, scores[:, 1]])


@pytest.mark.parametrize("seed", range(4))
def test_products_of_coordinates_of_a_banana_are_known_to_the_last_digits(seed):
    points, scores = banana(seed)
    values = np.column_stack([points[:, 0] * points[:, 1], points[:, 1] ** 2, np.sin(points[:, 1])])
    estimate = vvcv.estimate(Tasks.shared(points, scores, values), check=False)
    np.testing.assert_allclose(estimate.mean[:2], [0, 1.5], atol=3e-6)
    assert estimate.methods[:2] == ("zv", "zv") and estimate.methods[2] != "zv"
    assert "straightened" in estimate.kernel[0]
    fresh, there = banana(100 + seed)
    left = fresh[:, 0] * fresh[:, 1] - estimate.control_variate(fresh, there, task="task 1")
    np.testing.assert_allclose(left, estimate.mean[0], atol=1e-4)


def test_no_kernel_is_fitted_to_what_polynomials_follow_and_the_others_have_theirs():
    x = np.random.default_rng(5).normal(size=(N, 2))
    values = np.column_stack([x[:, 0] ** 2, np.cos(2 * x[:, 0]), x[:, 0] * x[:, 1]])
    prepared = Prepared.of(Tasks.shared(x, -x, values))
    assert Ladder(prepared, Options()).fits.eligible == (1,)
    assert set(Ladder(prepared, Options(named=True)).fits.eligible) == {0, 1, 2}  # a rung that is asked for answers
    alone = vvcv.estimate(Tasks.shared(x, -x, values[:, 1]), check=False)
    beside = vvcv.estimate(Tasks.shared(x, -x, values), check=False)
    assert beside.mean[1] == alone.mean[0] and beside.std_error[1] == alone.std_error[0]
    np.testing.assert_allclose(beside.mean[[0, 2]], [1, 0], atol=1e-12)


def test_where_all_is_told_no_kernel_rung_is_asked():
    x = np.random.default_rng(6).normal(size=(N, 2))
    estimate = vvcv.estimate(Tasks.shared(x, -x, x**2), check=False)
    assert {promise.method for promises in estimate.promises for promise in promises} == {"mc", "zv"}


def test_only_what_is_followed_to_the_last_digits_is_told_elsewhere():
    points, scores = banana(7)
    values = np.column_stack([points[:, 1], points[:, 1] + 1e-3 * np.sin(points[:, 0]), np.ones(N)])
    prepared = Prepared.of(Tasks.shared(points, scores, values))
    found = exactly_elsewhere(prepared, straight, ", straight")
    assert [len(answers) > 0 for answers in found] == [True, False, False]
    assert found[0][0].description.endswith("degree 2, straight") and abs(found[0][0].mean) < 1e-12
    assert tells(found[0], prepared, 0) and not tells(by_polynomials(prepared)[1], prepared, 1)


def test_tasks_on_points_of_their_own_are_told_one_by_one():
    (p, s), (q, t) = banana(8), banana(9, 60)
    prepared = Prepared.of(Tasks([Task(p, s, p[:, 1]), Task(q, t, q[:, 0] * q[:, 1])]))
    found = exactly_elsewhere(prepared, straight, "")
    np.testing.assert_allclose([answers[0].mean for answers in found], [0, 0], atol=1e-12)


def test_a_polynomial_that_leaves_hardly_a_value_is_heard_only_where_it_is_exact():
    x = np.random.default_rng(10).normal(size=(12, 3))  # a quadratic leaves two of twelve values
    values = np.column_stack([np.exp(x[:, 0]), x[:, 0] * x[:, 1] + x[:, 2] ** 2])
    lucky, exact = by_polynomials(Prepared.of(Tasks.shared(x, -x, values)))
    assert {answer.description for answer in lucky} == {
        "polynomial of degree 1",
        "polynomial of degree 1, cross-fitted",
    }
    assert "polynomial of degree 2" in {answer.description for answer in exact}
    assert lucky[0].chosen == 4 / 12
    few = Prepared.of(Tasks.shared(x[:7], -x[:7], values[:7, 0]))  # even a line leaves three
    assert {answer.description for answer in by_polynomials(few)[0]} == {"polynomial of degree 1"} | {
        "polynomial of degree 1, cross-fitted"
    }
