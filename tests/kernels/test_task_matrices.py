"""Task matrices B and matrix-valued kernels: definitions, gradients through B, and what is refused."""

import jax
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from vvcv.kernels import (
    Descriptors,
    Diagonal,
    Fixed,
    Full,
    LowRank,
    Matern,
    MatrixSum,
    Own,
    Separable,
    Side,
    SquaredExponential,
    correlation,
)
from vvcv.stein import SteinKernel, gram, pullback

B = np.array([[1.0, 0.6, -0.2], [0.6, 2.0, 0.3], [-0.2, 0.3, 0.5]])
SINGULAR = np.outer([1.0, -2.0, 0.5], [1.0, -2.0, 0.5])
FACTOR = np.array([[1.0, 0.2], [-0.5, 0.0], [0.3, 0.7]])
TAU = np.array([0.0, 0.5, 2.0])
AMPLITUDES = np.array([1.0, 2.0, 0.5])
KAPPA = np.exp(-0.5 * (TAU[:, None] - TAU[None, :]) ** 2 / 0.8**2)

FORMS = {
    "fixed": (Fixed(B), B),
    "fixed, singular": (Fixed(SINGULAR), SINGULAR),
    "fixed, zero": (Fixed(np.zeros((3, 3))), np.zeros((3, 3))),
    "diagonal": (Diagonal([1.0, 2.0, 3.0]), np.diag([1.0, 2.0, 3.0])),
    "full": (Full(B), B),
    "low rank": (LowRank(FACTOR, [0.1, 0.2, 0.3]), FACTOR @ FACTOR.T + np.diag([0.1, 0.2, 0.3])),
    "descriptors": (
        Descriptors(TAU, SquaredExponential(0.8), AMPLITUDES, nugget=0.01),
        np.outer(AMPLITUDES, AMPLITUDES) * (KAPPA + 0.01 * np.eye(3)),
    ),
}


def a_side(n=9):
    rng = np.random.default_rng(0)
    return Side(rng.normal(size=(n, 2)), rng.normal(size=(n, 2)), np.arange(n) * 3 // n)


@pytest.mark.parametrize("name", FORMS)
def test_b_is_its_definition_and_the_square_of_its_loadings(name):
    form, expected = FORMS[name]
    with jax.enable_x64(True):
        np.testing.assert_allclose(form.matrix(), expected, rtol=1e-12, atol=1e-14)
        loadings = np.asarray(form.loadings())
    np.testing.assert_allclose(loadings @ loadings.T, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", FORMS)
def test_a_separable_gram_matrix_is_b_expanded_over_the_rows_times_the_scalar_one(name):
    form, matrix = FORMS[name]
    side, scalar = a_side(), SquaredExponential(0.9)
    expected = matrix[np.ix_(side.task, side.task)] * gram(SteinKernel(scalar), side)
    kernel = SteinKernel(Separable(form, scalar))
    np.testing.assert_allclose(gram(kernel, side), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(gram(kernel, side, side), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in FORMS if not name.startswith("fixed")])
def test_gradient_through_b_equals_finite_differences(name):
    side = a_side()
    cotangent = np.random.default_rng(1).normal(size=(9, 9))
    cotangent += cotangent.T
    with jax.enable_x64(True):
        flat, rebuild = ravel_pytree(SteinKernel(Separable(FORMS[name][0], SquaredExponential(0.9))))
        flat = np.asarray(flat)
        gradient = np.asarray(ravel_pytree(pullback(rebuild(flat), side, cotangent))[0])
        steps = 1e-5 * np.eye(flat.size)
        expected = [
            np.sum(cotangent * (gram(rebuild(flat + step), side) - gram(rebuild(flat - step), side))) / 2e-5
            for step in steps
        ]
    np.testing.assert_allclose(gradient, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


def test_a_fixed_b_has_no_free_parameters():
    assert jax.tree.leaves(Fixed(B)) == []


def test_own_is_zero_outside_its_task_and_terms_add():
    side = a_side()
    own, shared = Own(Matern(0.8, nu=2.5), task=1), Separable(Full(B), SquaredExponential())
    mine = np.outer(side.task == 1, side.task == 1)
    part = gram(SteinKernel(own), side)
    np.testing.assert_allclose(part, np.where(mine, gram(SteinKernel(own.kernel), side), 0.0), rtol=1e-12, atol=1e-13)
    whole = part + gram(SteinKernel(shared), side)
    assert isinstance(shared + own, MatrixSum)
    np.testing.assert_allclose(gram(SteinKernel(shared + own), side), whole, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gram(SteinKernel(shared) + SteinKernel(own), side), whole, rtol=1e-12, atol=1e-12)
    three_terms = shared + own + own
    assert isinstance(three_terms, MatrixSum) and len(three_terms.terms) == 3


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Fixed([[1.0, 2.0], [2.0, 1.0]]), "positive semi-definite"),
        (lambda: Fixed([[1.0, 0.5], [0.2, 1.0]]), "symmetric"),
        (lambda: Fixed(np.ones((2, 3))), "square"),
        (lambda: Fixed([[1.0, np.nan], [np.nan, 1.0]]), "finite"),
        (lambda: Full(SINGULAR), "singular"),
        (lambda: Full(np.ones((2, 2, 2))), "square"),
        (lambda: Diagonal([1.0, 0.0]), "positive"),
        (lambda: LowRank(FACTOR, [1.0, 2.0]), "one row"),
        (lambda: LowRank([[np.nan], [1.0]], [1.0, 2.0]), "finite"),
        (lambda: Descriptors([0.0, np.inf], SquaredExponential()), "finite"),
        (lambda: Descriptors([0.0, 1.0], SquaredExponential(), amplitudes=[1.0, 2.0, 3.0]), "amplitude"),
        (lambda: Descriptors([0.0, 1.0], SquaredExponential(), nugget=0.0), "positive"),
    ],
)
def test_a_bad_b_is_refused(make, says):
    with pytest.raises(ValueError, match=f"(?i){says}"):
        make()


def test_correlation_has_a_unit_diagonal_even_for_a_task_of_zero_variance():
    result = correlation(np.array([[4.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    np.testing.assert_allclose(result, [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
