"""Spaces of variates entry by entry: outputs, norms, expansions, rows chosen, and problems made of them."""

import numpy as np
import pytest

from vvcv import Task, Tasks
from vvcv.kernels import Full, Side, SquaredExponential
from vvcv.paper import KernelVariate, PolynomialVariate, Problem
from vvcv.paper.problem import SemiExactColumns
from vvcv.paper.variates.kernel import _one_target
from vvcv.paper.variates.space import FeatureSpace, ReducedSpace
from vvcv.paper.variates.variate import task_matrix
from vvcv.runtime.precision import float64
from vvcv.stein import polynomial_features

RNG = np.random.default_rng(4)
TASK = np.array([0, 0, 1, 1, 1])
B = np.array([[1.0, 0.3], [0.3, 2.0]])


def a_gram(n=5):
    root = RNG.normal(size=(n, n))
    return root @ root.T


@float64
def test_a_reduced_space_has_one_scalar_per_observation():
    gram, theta, rows = a_gram(), RNG.normal(size=5), np.array([4, 1])
    space = ReducedSpace(TASK, gram, TASK)
    matrix = np.array([[B[TASK[i], TASK[j]] * gram[i, j] for j in range(5)] for i in range(5)])
    np.testing.assert_allclose(space.output(theta, B), matrix @ theta, rtol=1e-12)
    np.testing.assert_allclose(space.output(theta, B, rows), (matrix @ theta)[rows], rtol=1e-12)
    np.testing.assert_allclose(space.expand(B), matrix)
    np.testing.assert_allclose(space.inner(B), matrix)
    assert float(space.penalty(theta, B, "rkhs")) == pytest.approx(theta @ matrix @ theta, rel=1e-12)
    assert float(space.penalty(theta, B, "euclidean")) == pytest.approx(theta @ theta, rel=1e-12)
    assert space.initial().shape == (5,) and not np.any(space.initial())
    dual = space.dual(B)
    np.testing.assert_allclose(dual.gram, matrix)
    np.testing.assert_array_equal(dual.coefficients(theta), theta)


@pytest.mark.parametrize("own", [1, 2], ids=["one target", "features of each task"])
@float64
def test_a_feature_space_has_a_coefficient_for_each_feature_and_task(own):
    features, theta, rows = RNG.normal(size=(own, 5, 3)), RNG.normal(size=(3, 2)), np.array([3, 0])
    root = RNG.normal(size=(3 * own, 3 * own))
    whole = root @ root.T
    products = np.array([[whole[3 * u : 3 * u + 3, 3 * v : 3 * v + 3] for v in range(own)] for u in range(own)])
    space = FeatureSpace(TASK, features, products, tasks=2)
    f = np.broadcast_to(features, (2, 5, 3))
    expected = [sum(B[TASK[i], u] * f[u, i] @ theta[:, u] for u in range(2)) for i in range(5)]
    np.testing.assert_allclose(space.output(theta, B), expected, rtol=1e-12)
    np.testing.assert_allclose(space.output(theta, B, rows), np.array(expected)[rows], rtol=1e-12)
    np.testing.assert_allclose(space.expand(B) @ theta.ravel(), expected, rtol=1e-12)
    p = np.broadcast_to(products, (2, 2, 3, 3))
    norm = sum(B[u, v] * theta[:, u] @ p[u, v] @ theta[:, v] for u in range(2) for v in range(2))
    assert float(space.penalty(theta, B, "rkhs")) == pytest.approx(norm, rel=1e-12)
    assert theta.ravel() @ np.asarray(space.inner(B)) @ theta.ravel() == pytest.approx(norm, rel=1e-12)
    assert float(space.penalty(theta, B, "euclidean")) == pytest.approx(np.sum(theta**2), rel=1e-12)
    assert space.initial().shape == (3, 2)
    dual, psi = space.dual(B), np.asarray(space.expand(B))
    inverse = np.linalg.inv(np.asarray(space.inner(B)))
    np.testing.assert_allclose(dual.gram, psi @ inverse @ psi.T, rtol=1e-6)
    np.testing.assert_allclose(dual.coefficients(np.arange(5.0)), inverse @ psi.T @ np.arange(5.0), rtol=1e-6)


@float64
def test_shared_coefficients_are_one_for_all_tasks():
    features, theta = RNG.normal(size=(1, 5, 3)), RNG.normal(size=(3, 1))
    products = a_gram(3)[None, None]
    space = FeatureSpace(TASK, features, products, shared=True, tasks=2)
    expected = B.sum(axis=1)[TASK] * (features[0] @ theta[:, 0])
    np.testing.assert_allclose(space.output(theta, B), expected, rtol=1e-12)
    np.testing.assert_allclose(space.expand(B) @ theta[:, 0], expected, rtol=1e-12)
    norm = B.sum() * theta[:, 0] @ products[0, 0] @ theta[:, 0]
    assert float(space.penalty(theta, B, "rkhs")) == pytest.approx(norm, rel=1e-12)
    assert theta[:, 0] @ np.asarray(space.inner(B)) @ theta[:, 0] == pytest.approx(norm, rel=1e-12)
    assert space.initial().shape == (3, 1)
    with pytest.raises(ValueError, match='penalty="euclidean" for a basis'):
        FeatureSpace(TASK, features, tasks=2).dual(B)
    with pytest.raises(ValueError, match="one scalar per observation"):
        space.scalar_gram()


def a_problem(degree=1):
    x, y = RNG.normal(size=(2, 8, 2))
    tasks = Tasks([Task(x, -x, x[:, 0] + 2), Task(y[:6], -y[:6], y[:6, 1] - 1)])
    return Problem(tasks, KernelVariate(SquaredExponential(1.0), degree=degree))


def test_columns_are_indicators_and_the_polynomials_of_each_task():
    problem = a_problem()
    side, columns = problem.side, problem.columns
    assert columns.shape == (14, 2 + 2 + 2)
    np.testing.assert_array_equal(columns[:, :2], np.eye(2)[side.task])
    assert not np.any(columns[:8, 4:]) and not np.any(columns[8:, 2:4])
    images = polynomial_features(side.points, side.scores, 1)
    np.testing.assert_allclose(columns[8:, 4:], images[8:] @ problem.means.transforms[1])
    np.testing.assert_allclose(columns[:8, 2:4].T @ columns[:8, 2:4] / 8, np.eye(2), atol=1e-10)
    alone = SemiExactColumns.fit(side, 2, 0)
    np.testing.assert_array_equal(alone.at(side), np.eye(2)[side.task])


def test_a_beta_of_the_user_may_leave_out_the_polynomials():
    problem = a_problem()
    np.testing.assert_array_equal(problem.completed([1.0, 2.0]), [1, 2, 0, 0, 0, 0])
    np.testing.assert_array_equal(problem.completed(np.arange(6.0)), np.arange(6.0))
    averages = [task.values.mean() for task in problem.tasks]
    np.testing.assert_allclose(problem.plain_means, [*averages, 0, 0, 0, 0])
    for wrong in ([1.0], [1.0, 2.0, 3.0], [1.0, np.nan]):
        with pytest.raises(ValueError, match="2 finite numbers, one per task"):
            problem.completed(wrong)
    assert problem.chains == ((1, 8), (1, 6))


def test_g_elsewhere_is_that_of_the_rows_and_has_the_polynomials_without_the_means():
    problem = a_problem()
    theta, beta = RNG.normal(size=14), RNG.normal(size=6)
    g = problem.function(theta, beta, B)
    task = problem.tasks[1]
    matrix = B[problem.side.task][:, problem.side.task] * np.asarray(problem.space.gram)
    expected = (matrix @ theta + problem.columns[:, 2:] @ beta[2:])[8:]
    np.testing.assert_allclose(g(task.points, task.scores, 1), expected, rtol=1e-6)


def test_standard_coordinates_are_those_of_the_data():
    problem = a_problem()
    standard = Problem(problem.tasks, problem.variate, "scaled")
    np.testing.assert_allclose(standard.side.points.std(axis=0), 1.0, rtol=0.2)
    scores, points = problem.tasks.scores, problem.tasks.points
    invariant = np.sum(scores * (points - points.mean(axis=0)), axis=1)  # scores times lengths have no unit
    moved = standard.side.points - standard.side.points.mean(axis=0)
    np.testing.assert_allclose(np.sum(standard.side.scores * moved, axis=1), invariant, rtol=1e-8)


def test_one_target_is_the_same_points_with_the_same_scores():
    x = RNG.normal(size=(4, 2))
    both, task = np.vstack([x, x]), np.repeat([0, 1], 4)
    assert _one_target(Side(both, -both, task), 2) and _one_target(Side(x, -x, np.zeros(4, int)), 1)
    assert not _one_target(Side(both, np.vstack([-x, x]), task), 2)
    assert not _one_target(Side(np.vstack([x, -x]), both, task), 2)


def test_b_is_given_or_the_identity_and_must_fit_the_tasks():
    np.testing.assert_array_equal(task_matrix(None, 3), np.eye(3))
    np.testing.assert_allclose(task_matrix(Full(B), 2), B, rtol=1e-14)
    with pytest.raises(ValueError, match="B must be 3 x 3"):
        task_matrix(B, 3)
    with pytest.raises(ValueError, match="positive"):
        task_matrix(-B, 2)
    assert KernelVariate(SquaredExponential(1.0), B).task_form(2).matrix() == pytest.approx(B, rel=1e-6)


@pytest.mark.parametrize("wrong", [0, 1.5, -1])
def test_degrees_are_positive_integers(wrong):
    with pytest.raises(ValueError, match="positive integer"):
        PolynomialVariate(wrong)
    assert (PolynomialVariate().degree, PolynomialVariate().order) == (2, 2)
    assert KernelVariate(SquaredExponential()).order == 1
