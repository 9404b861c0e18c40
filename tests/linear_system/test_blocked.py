"""The parts of linear algebra by blocks, each against NumPy: factor, triangle, inverse, solutions, padding."""

import jax.numpy as jnp
import numpy as np
import pytest

from vvcv.kernels import Side, SquaredExponential
from vvcv.linear_system import blocked, inverse, placed, solution
from vvcv.linear_system.dense import DenseSystem
from vvcv.linear_system.design import Design, orthonormal_features
from vvcv.linear_system.evaluation import criterion_and_gradient
from vvcv.linear_system.inverse import diagonal_from_root, inverse_from_root, inverse_of_factor
from vvcv.linear_system.model import Model
from vvcv.runtime.precision import float64
from vvcv.stein import SteinKernel

SIZE, BLOCK = 12, 4  # three blocks: no half of them is whole


@pytest.fixture(autouse=True)
def small_leaves(monkeypatch):
    monkeypatch.setattr(blocked, "LEAF", 2)
    monkeypatch.setattr(blocked, "DIRECT", 4)
    monkeypatch.setattr(inverse, "LEAF", 4)


def a_matrix(size=SIZE):
    root = np.random.default_rng(0).normal(size=(size, size))
    return root @ root.T / size + np.eye(size)


@float64
def test_factor_triangle_and_inverse_are_those_of_the_matrix():
    matrix = a_matrix()
    lower = np.linalg.cholesky(matrix)
    factor, corners = blocked.factorise(jnp.asarray(np.tril(matrix)), BLOCK)  # what lies above is not read
    np.testing.assert_allclose(factor, lower, atol=1e-12)
    for i, corner in enumerate(corners):
        rows = slice(i * BLOCK, (i + 1) * BLOCK)
        np.testing.assert_allclose(corner, np.linalg.inv(lower[rows, rows]), atol=1e-12)
    right = np.random.default_rng(1).normal(size=(SIZE, 3))
    np.testing.assert_allclose(blocked.solve_lower(factor, corners, right), np.linalg.solve(lower, right), atol=1e-11)
    np.testing.assert_allclose(blocked.solve_upper(factor, corners, right), np.linalg.solve(lower.T, right), atol=1e-11)
    triangle = blocked.triangle_inverse(factor, corners)
    np.testing.assert_allclose(triangle, np.linalg.inv(lower), atol=1e-11)
    product = blocked.product_of_inverse(triangle, BLOCK)
    np.testing.assert_allclose(np.tril(product), np.tril(np.linalg.inv(matrix)), atol=1e-10)


@float64
def test_triangles_are_inverted_by_halves_or_directly_where_they_are_odd():
    for size in (3, 8):
        lower = np.linalg.cholesky(a_matrix(size))[None]
        np.testing.assert_allclose(blocked._corner_inverses(jnp.asarray(lower)), np.linalg.inv(lower), atol=1e-12)


def test_sizes_are_padded_to_few_and_parts_are_of_whole_blocks(monkeypatch):
    monkeypatch.setattr(blocked, "LEAF", 128)
    assert [blocked.padded_size(n) for n in (1, 128, 129, 1024, 1025, 2048)] == [128, 128, 256, 1024, 2048, 2048]
    assert list(blocked._cuts(28, 4)) == [(0, 4), (4, 12), (12, 20), (20, 28)]
    assert list(blocked._cuts(8, 4)) == [(0, 4), (4, 8)]


@pytest.mark.parametrize("size", [3, 4, 5, 9, 16])
def test_an_inverse_by_halves_reads_the_lower_triangle_alone(size):
    matrix = a_matrix(size)
    lower = np.linalg.cholesky(matrix)
    given = np.asfortranarray(lower + np.triu(np.full((size, size), 7.0), 1))
    root = inverse_of_factor(given)
    assert root is given
    np.testing.assert_allclose(np.tril(root), np.linalg.inv(lower), atol=1e-12)
    np.testing.assert_allclose(diagonal_from_root(root), np.diag(np.linalg.inv(matrix)), rtol=1e-10)
    np.testing.assert_allclose(np.tril(inverse_from_root(root)), np.tril(np.linalg.inv(matrix)), atol=1e-11)


def a_design():
    x = np.random.default_rng(2).normal(size=(9, 2))
    task = np.repeat([0, 1], [5, 4])
    return Design.build(Side(x, -x, task), x[:, 0] + task, np.array([1.0, 3, 1, 1, 1, 2, 1, 1, 1]), 2)


@float64
def test_a_placed_covariance_is_that_of_the_rows_with_ones_for_padding(monkeypatch):
    monkeypatch.setattr(blocked, "LEAF", 16)
    design, stein = a_design(), SteinKernel(SquaredExponential([1.1, 0.7]), 1, [0.3, 0.2])
    covariates = placed._padded(design).covariates
    assert covariates.rows.present.tolist() == [True] * 9 + [False] * 7 and covariates.counts.tolist() == [5, 4]
    found, diagonal, noise = placed.covariance(Model(stein, [0.1, 0.2]), covariates, 16)
    upper = design.gram.upper(stein)
    plain = np.triu(upper) + np.triu(upper, 1).T
    own = np.array([0.1, 0.2])[design.side.task] * design.noise_weight
    means = np.array([np.diag(plain)[:5].mean(), np.diag(plain)[5:].mean()])[design.side.task]
    np.testing.assert_allclose(noise, np.append(own * means, np.zeros(7)), rtol=1e-10)
    np.testing.assert_allclose(diagonal, np.append(np.diag(plain), np.zeros(7)), rtol=1e-10)
    np.testing.assert_allclose(np.tril(found)[:9, :9], np.tril(plain + np.diag(own * means)), atol=1e-12)
    np.testing.assert_allclose(np.tril(found)[9:], np.eye(16)[9:])
    slope = np.arange(16.0)
    by_task, back = placed.noise_slopes(covariates, jnp.asarray(slope), diagonal)
    np.testing.assert_allclose(by_task, [slope[:5].sum(), slope[5:9].sum()])
    totals = np.array([np.diag(plain)[:5].sum(), np.diag(plain)[5:].sum()])
    np.testing.assert_allclose(back[:9], (by_task / totals)[design.side.task], rtol=1e-10)
    assert not np.any(back[9:])


@float64
def test_a_model_without_polynomial_parts_has_no_slopes_for_them():
    gradient = criterion_and_gradient(Model(SteinKernel(SquaredExponential(1.0)), [0.1, 0.1]), a_design())[1]
    assert gradient.log_parts.shape == (0,) and gradient.log_noise.shape == (2,)
    noise = solution._noise(Model(SteinKernel(SquaredExponential(1.0)), [0.5, 2.0]), a_design(), np.arange(9.0))
    expected = np.where(a_design().side.task == 0, 0.5 * 2.0, 2.0 * 6.5) * a_design().noise_weight
    np.testing.assert_allclose(noise, expected)


def test_features_are_orthonormal_and_those_that_say_nothing_are_left_out():
    x = np.random.default_rng(3).normal(size=(40, 2))
    basis, transform = orthonormal_features(x, -x, 2)
    np.testing.assert_allclose(basis.T @ basis / 40, np.eye(5), atol=1e-10)
    assert transform.shape == (5, 5)
    flat = np.column_stack([x[:, 0], np.zeros(40)])
    basis, transform = orthonormal_features(flat, np.column_stack([-x[:, 0], np.zeros(40)]), 1)
    assert basis.shape == (40, 1) and transform.shape == (2, 1)
    np.testing.assert_allclose(basis.T @ basis / 40, [[1.0]])
    large = orthonormal_features(1e-8 * x, -1e8 * x, 1)[0]  # in any unit
    np.testing.assert_allclose(np.abs(large.T @ large) / 40, np.eye(2), atol=1e-10)


def test_a_given_matrix_stays_on_the_host_where_there_is_no_device():
    system = solution.solve_matrix(np.diag([1.0, 1.0, 2.0]), np.ones((3, 1)), np.array([1.0, 3.0, 2.0]))
    assert isinstance(system, DenseSystem)
    np.testing.assert_allclose(system.coefficients, [2.0])
    assert isinstance(solution.solve(Model(SteinKernel(SquaredExponential(1.0)), [0.1, 0.1]), a_design()), DenseSystem)
