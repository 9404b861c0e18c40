"""Shortcuts are exact: independent tasks, shared points, repeated points, the order of rows."""

import numpy as np
import pytest

from vvcv.candidates.kernel import Options, best_of, independent
from vvcv.candidates.several import joint
from vvcv.data import Prepared, Task, Tasks, merge_duplicates
from vvcv.kernels import Diagonal, Full, Matern, Own, Separable, Side, SquaredExponential
from vvcv.linear_system.dense import DenseSystem
from vvcv.linear_system.design import Design, orthonormal_features
from vvcv.linear_system.model import Model
from vvcv.linear_system.solution import solve
from vvcv.stein import SteinKernel, SteinSum, gram, polynomial_features

SIZES = (15, 10)


def two_tasks(degree=0):
    rng = np.random.default_rng(0)
    task = np.repeat([0, 1], SIZES)
    x = rng.normal(size=(sum(SIZES), 2))
    y = np.where(task == 0, np.sin(x[:, 0]), x[:, 1] ** 2 + x[:, 0])
    return Design.build(Side(x, -x, task), y, np.ones(len(x)), 2, degree)


def alone(design, task, degree):
    rows = design.rows(task)
    side = Side(design.side.points[rows], design.side.scores[rows], np.zeros(rows.size, dtype=int))
    return Design.build(side, design.values[rows], design.multiplicity[rows], 1, degree)


@pytest.mark.parametrize("degree", [0, 1])
def test_a_diagonal_b_gives_the_fits_of_each_task_alone(degree):
    design, scalar = two_tasks(degree), SquaredExponential([1.2, 0.9])
    together = solve(Model(SteinKernel(Separable(Diagonal([0.5, 3.0]), scalar)), [1e-4, 1e-2]), design)
    for task, noise in enumerate([1e-4, 1e-2]):
        own = solve(Model(SteinKernel(scalar), noise), alone(design, task, degree))
        assert together.coefficients[task] == pytest.approx(own.coefficients[0], rel=1e-9)
        rows = design.rows(task)
        np.testing.assert_allclose(together.leave_one_out()[0][rows], own.leave_one_out()[0], rtol=1e-8, atol=1e-10)


def test_kernels_of_each_task_alone_give_the_fits_of_each_task_alone():
    design, kernels = two_tasks(), (SquaredExponential([1.2, 0.9]), Matern(0.8, nu=2.5))
    terms = SteinSum(tuple(SteinKernel(Own(kernel, t)) for t, kernel in enumerate(kernels)))
    together = solve(Model(terms, [1e-4, 1e-2]), design)
    for task, (kernel, noise) in enumerate(zip(kernels, [1e-4, 1e-2], strict=True)):
        own = solve(Model(SteinKernel(kernel), noise), alone(design, task, 0))
        assert together.coefficients[task] == pytest.approx(own.coefficients[0], rel=1e-9)


@pytest.mark.parametrize("b", [[[1.0, 0.9], [0.9, 2.0]], [[1.0, -0.3], [-0.3, 0.2]]])
def test_on_shared_points_the_estimate_does_not_depend_on_b(b):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(20, 2))
    values = np.column_stack([np.sin(x[:, 0]), x[:, 1] ** 2 + x[:, 0]])
    kernel, noise = SquaredExponential([1.2, 0.9]), 1e-3
    pooled_design = Design.build(Side(x, -x, np.zeros(20, dtype=int)), values, np.ones(20), 1)
    pooled = solve(Model(SteinKernel(kernel), noise), pooled_design)
    twice = Side(np.tile(x, (2, 1)), np.tile(-x, (2, 1)), np.repeat([0, 1], 20))
    w = gram(SteinKernel(Separable(Full(b), kernel)), twice)
    # Noise proportional to B: W = B kron (K_0 + noise).
    level = noise * np.mean(np.diag(gram(SteinKernel(kernel), pooled_design.side)))
    w += np.kron(b, level * np.eye(20))
    dense = DenseSystem.of(w, np.kron(np.eye(2), np.ones((20, 1))), values.T.reshape(-1))
    np.testing.assert_allclose(dense.coefficients, pooled.coefficients[0], rtol=1e-9)


def test_merging_repeated_points_solves_the_unmerged_system_exactly():
    rng = np.random.default_rng(2)
    distinct = rng.normal(size=(12, 2))
    rows = np.concatenate([np.arange(12), rng.integers(12, size=20)])
    rng.shuffle(rows)
    x = distinct[rows]
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=32)  # repeated points with different values, as with noisy integrands
    kernel, noise = SteinKernel(SquaredExponential()), 0.04
    unmerged = DenseSystem.of(
        gram(kernel, Side(x, -x, np.zeros(32, dtype=int))) + noise * np.eye(32), np.ones((32, 1)), y
    )
    merged = merge_duplicates(x, -x, y)
    side = Side(merged.points, merged.scores, np.zeros(12, dtype=int))
    design = Design.build(side, merged.values, merged.multiplicity, 1)
    relative = noise / merged.multiplicity.mean() / np.mean(np.diag(gram(kernel, side)))
    system = solve(Model(kernel, relative), design)
    assert system.coefficients[0] == pytest.approx(unmerged.coefficients[0], rel=1e-9)
    assert system.covariance[0, 0] == pytest.approx(unmerged.covariance[0, 0], rel=1e-9)
    new = Side(rng.normal(size=(4, 2)), rng.normal(size=(4, 2)), np.zeros(4, dtype=int))
    expected = gram(kernel, new, Side(x, -x, np.zeros(32, dtype=int))) @ unmerged.weights
    np.testing.assert_allclose(gram(kernel, new, side) @ system.weights, expected, rtol=1e-8, atol=1e-10)


def test_polynomial_columns_span_all_features_and_drop_those_that_depend_on_others():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(30, 2))
    basis, transform = orthonormal_features(x, -x, 2)
    assert transform.shape == (5, 5)
    np.testing.assert_allclose(polynomial_features(x, -x, 2) @ transform, basis, atol=1e-12)
    np.testing.assert_allclose(basis.T @ basis / 30, np.eye(5), atol=1e-10)
    flat = np.column_stack([x[:, 0], 2 * x[:, 0]])
    basis, transform = orthonormal_features(flat, -flat, 2)
    np.testing.assert_allclose(basis.T @ basis / 30, np.eye(2), atol=1e-10)
    np.testing.assert_allclose(polynomial_features(flat, -flat, 2) @ transform, basis, atol=1e-10)


def test_a_joint_fit_does_not_depend_on_the_order_of_its_rows():
    rng = np.random.default_rng(4)
    x, z = rng.normal(size=(14, 1)), rng.normal(size=(9, 1))
    a, b = np.exp(x[:, 0] / 2), np.exp(z[:, 0] / 2) + z[:, 0]
    options = Options(families=("squared-exponential",))

    def fit(first, second):
        tasks = Tasks([Task(x[first], -x[first], a[first]), Task(z[second], -z[second], b[second])])
        prepared = Prepared.of(tasks)
        own = {t: best_of(independent(prepared, t, options)) for t in range(2)}
        return best_of(joint(prepared, prepared.canonical, own, options)).mean

    np.testing.assert_array_equal(fit(np.arange(14), np.arange(9)), fit(rng.permutation(14), rng.permutation(9)))
