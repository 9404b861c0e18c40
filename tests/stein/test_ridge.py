"""Polynomial parts of a covariance: Stein images with mean zero, the same whether kept or added strip by strip."""

import numpy as np
import pytest

from vvcv.data import Coordinates
from vvcv.kernels import Side, SquaredExponential
from vvcv.stein import PARTS, Ridge, SteinKernel, gram, polynomial_features
from vvcv.stein import ridge as ridge_module

PRODUCTS, CURVES, ONE_CURVE = (PARTS.index(name) for name in ("products", "curves", "one curve"))
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(12)
COVARIANCE = np.array([[1.0, 0.8], [0.8, 2.0]])


def rows(points, scores):
    whole = Coordinates(np.zeros(2), np.linalg.cholesky(COVARIANCE), "precision")
    return whole.points(points), whole.scores(scores), whole.axes(points), whole.axis_scores(scores), points, scores


def correlated_quadrature():
    """Nodes and weights that integrate polynomials under a correlated normal exactly, with its scores."""
    first, second = np.meshgrid(NODES, NODES)
    points = np.column_stack([first.ravel(), second.ravel()]) @ np.linalg.cholesky(COVARIANCE).T
    weights = np.outer(WEIGHTS, WEIGHTS).ravel()
    return points, -points @ np.linalg.inv(COVARIANCE), weights / weights.sum()


@pytest.mark.parametrize("part", range(len(PARTS)), ids=PARTS)
def test_every_part_has_mean_zero_under_a_correlated_normal(part):
    points, scores, weights = correlated_quadrature()
    matrix = Ridge.of(*rows(points, scores)).matrices[part]
    assert np.abs(weights @ matrix).max() < 1e-9 * np.abs(matrix).max()
    assert np.abs(matrix).max() > 0


def test_squares_are_the_stein_images_of_each_axis_alone():
    x = np.random.default_rng(0).normal(size=(6, 1))
    images = polynomial_features(x, -x, 2)[:, 1] / 2  # of x^2 / 2: 1 + x s
    ridge = Ridge.of(x, -x, x, -x, x, -x)
    np.testing.assert_allclose(ridge.matrices[1] / ridge.scale[1], np.outer(images, images))


def test_products_hold_all_quadratic_fields():
    x = np.random.default_rng(1).normal(size=(7, 3))
    images = [(i == j) + x[:, i] * -x[:, j] for i in range(3) for j in range(3)]
    ridge = Ridge.of(x, -x, x, -x, x, -x)
    np.testing.assert_allclose(
        ridge.matrices[PRODUCTS] / ridge.scale[PRODUCTS], np.transpose(images) @ np.array(images)
    )


def test_strips_add_what_is_kept(monkeypatch):
    monkeypatch.setattr(ridge_module, "STRIP", 4)
    x = np.random.default_rng(2).normal(size=(9, 2))
    ridge, variances = Ridge.of(*rows(x, -x)), np.array([1.0, 0.5, 0.2, 0.1, 2.0, 0.3, 0.7])
    total = np.zeros((9, 9))
    ridge.add_to(total, variances)
    np.testing.assert_allclose(total, sum(v * m for v, m in zip(variances, ridge.matrices, strict=True)))


def test_curves_are_a_gaussian_kernel_along_each_axis_and_one_curve_goes_along_all():
    x = np.random.default_rng(3).normal(size=(8, 3))
    scores = -np.tanh(x)  # of any density
    ridge = Ridge.of(x, scores, x, scores, x, scores)
    kernel = SteinKernel(SquaredExponential(np.full(1, ridge_module.LENGTH)), axes=np.ones(1))
    column = [Side(x[:, [j]], scores[:, [j]], np.zeros(8, dtype=int)) for j in range(3)]
    between = np.array([[gram(kernel, left, right) for right in column] for left in column])
    alone, along_all = (ridge.matrices[k] / ridge.scale[k] for k in (CURVES, ONE_CURVE))
    np.testing.assert_allclose(alone, np.einsum("jjab->ab", between), rtol=1e-6, atol=1e-6)
    squares = np.sum(1 + x * scores, axis=1)
    np.testing.assert_allclose(along_all, between.sum(axis=(0, 1)) + np.outer(squares, squares), rtol=1e-6, atol=1e-6)


def test_a_single_axis_has_no_curves_beside_its_kernel():
    x = np.random.default_rng(4).normal(size=(6, 1))
    assert len(Ridge.of(x, -x, x, -x, x, -x).matrices) == PRODUCTS + 1
