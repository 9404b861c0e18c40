"""Every Stein kernel integrates to zero in each argument, under the target of that argument (Theorems 3.1 and C.1)."""

import jax.numpy as jnp
import numpy as np
import pytest
from kernel_registry import ANY_DIMENSION, cases

from vvcv.kernels import Diagonal, Full, General, Matern, Own, Polynomial, Separable, Side, SquaredExponential
from vvcv.stein import SteinKernel, gram, polynomial_features
from vvcv.stein.fields import polynomial_field_features

ARGUMENTS = np.array([-0.7, 0.4])
NODES, WEIGHTS = np.polynomial.legendre.leggauss(160)


def gaussian(y):
    return np.exp(-0.5 * (y - 0.3) ** 2), -(y - 0.3)


def mixture(y):
    left, right = np.exp(-0.5 * (y + 1) ** 2), 0.5 * np.exp(-2 * (y - 1.5) ** 2)
    density = left + right
    return density, (-(y + 1) * left - 4 * (y - 1.5) * right) / np.maximum(density, 1e-300)


def student(y, freedom=30.0):
    """Tails of a power, high enough that a polynomial kernel of degree 4 is integrable."""
    return (1 + y**2 / freedom) ** (-(freedom + 1) / 2), -(freedom + 1) * y / (freedom + y**2)


TARGETS = (gaussian, mixture, student)


def quadrature(x):
    """Nodes and weights on the line with a break at x, where rough kernels have a kink: y = x + sinh(t)."""
    t = np.concatenate([(NODES - 1) * 4, (NODES + 1) * 4])
    return x + np.sinh(t), np.tile(WEIGHTS * 4, 2) * np.cosh(t)


def integrals_and_gram(kernel, order):
    """Relative integrals of K_0((x, t), (y, u)) over y under target u for every x, t and u; and K_0 of all (x, t)."""
    left_x = np.repeat(ARGUMENTS, len(TARGETS))
    left_task = np.tile(np.arange(len(TARGETS)), len(ARGUMENTS))
    left_score = np.array([TARGETS[t](np.array([x]))[1][0] for x, t in zip(left_x, left_task, strict=True)])
    left = Side(left_x[:, None], left_score[:, None], left_task)
    rows, points, scores, tasks, masses = [], [], [], [], []
    for i, x in enumerate(ARGUMENTS):
        y, w = quadrature(x)
        for u, target in enumerate(TARGETS):
            density, score = target(y)
            kept = density > 1e-40 * density.max()
            rows.append((i, u, int(kept.sum())))
            points.append(y[kept]), scores.append(score[kept]), tasks.append(np.full(kept.sum(), u))
            masses.append((w * density)[kept] / np.sum(w * density))
    right = Side(np.concatenate(points)[:, None], np.concatenate(scores)[:, None], np.concatenate(tasks))
    both = Side(*(np.concatenate(pair) for pair in zip(left, right, strict=True)))
    block = gram(SteinKernel(kernel, order), left, both)
    result, start = [], len(left_x)
    for (i, _, count), mass in zip(rows, masses, strict=True):
        part = block[i * len(TARGETS) : (i + 1) * len(TARGETS), start : start + count] * mass
        result.append(part.sum(axis=1) / np.maximum(np.abs(part).sum(axis=1), 1e-3))
        start += count
    return np.array(result), block[:, : len(left_x)]


def assert_symmetric_and_positive_semidefinite(k):
    scale = np.sqrt(np.outer(np.diag(k), np.diag(k))) + 1e-30
    assert np.abs((k - k.T) / scale).max() < 1e-12
    assert np.linalg.eigvalsh(0.5 * (k + k.T) / scale)[0] > -1e-11


@pytest.mark.parametrize(("name", "order"), cases(ANY_DIMENSION))
def test_scalar_stein_kernels_are_positive_semidefinite_with_mean_zero_under_every_target(name, order):
    integrals, k = integrals_and_gram(ANY_DIMENSION[name], order)
    np.testing.assert_allclose(integrals, 0, atol=1e-9)
    assert_symmetric_and_positive_semidefinite(k)


def shifted(x, y):
    """Outputs that are shifted and scaled copies of one function: symmetric as K(x, y) = K(y, x)', not separable."""
    shift, scale = jnp.array([0.0, 0.4, -0.3]), jnp.array([1.0, -0.5, 2.0])
    delta = (x[0] + shift)[:, None] - (y[0] + shift)[None, :]
    return scale[:, None] * scale[None, :] * jnp.exp(-0.5 * delta**2)


B = np.array([[1.0, 0.6, -0.2], [0.6, 2.0, 0.3], [-0.2, 0.3, 0.5]])
MATRIX_KERNELS = {
    "separable": Separable(Full(B), Matern(0.9, nu=2.5)),
    "own": Own(SquaredExponential(0.7), task=1),
    "shared and own": Separable(Diagonal([1.0, 2.0, 3.0]), SquaredExponential()) + Own(Polynomial(2), task=2),
    "general": General(shifted),
}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", MATRIX_KERNELS)
def test_matrix_valued_stein_kernels_have_mean_zero_when_every_task_has_its_own_target(name, order):
    integrals, k = integrals_and_gram(MATRIX_KERNELS[name], order)
    np.testing.assert_allclose(integrals, 0, atol=1e-9)
    assert_symmetric_and_positive_semidefinite(k)


@pytest.mark.parametrize("axes", [None, [0.3, 2.0]])
@pytest.mark.parametrize("order", [1, 2])
def test_stein_kernels_have_mean_zero_in_two_dimensions_with_any_weights_of_the_axes(order, axes):
    t, w = np.polynomial.hermite_e.hermegauss(40)
    mean, factor = np.array([0.5, -1.0]), np.array([[1.2, 0.0], [0.7, 0.6]])
    z = np.stack(np.meshgrid(t, t, indexing="ij"), axis=-1).reshape(-1, 2)
    mass = np.outer(w, w).ravel() / w.sum() ** 2
    points, scores = mean + z @ factor.T, -z @ np.linalg.inv(factor)
    x = np.array([[0.2, -0.4], [1.0, 1.0]])
    left = Side(x, np.array([[0.3, 1.0], [-2.0, 0.1]]), np.zeros(2, dtype=int))
    kernel = SteinKernel(SquaredExponential([1.5, 2.0]), order, axes)
    block = gram(kernel, left, Side(points, scores, np.zeros(len(points), dtype=int))) * mass
    np.testing.assert_allclose(block.sum(axis=1) / np.abs(block).sum(axis=1), 0, atol=1e-9)


@pytest.mark.parametrize("images", [polynomial_features, polynomial_field_features])
@pytest.mark.parametrize("target", TARGETS)
def test_polynomial_features_have_mean_zero(images, target):
    y, w = quadrature(0.0)
    density, score = target(y)
    features = images(y[:, None], score[:, None], 4) * (w * density / np.sum(w * density))[:, None]
    np.testing.assert_allclose(features.sum(axis=0) / np.abs(features).sum(axis=0), 0, atol=1e-9)
