"""Closed forms of Stein kernels are what automatic differentiation gives, values and derivatives alike."""

import jax
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from kernel_registry import KERNELS, Opaque, cases

from vvcv.kernels import Custom, Matern, Polynomial, ProductOverDimensions, Side, SquaredExponential, Weighted
from vvcv.stein import SteinKernel, gram, pullback

AXES = [1.3, 0.4]
# Two lengthscales cover one, and one family with its parameters covers its special cases.
COVERED = ("matern 7/2", "scaled")
WITH_CLOSED_FORM = [
    (name, order) for name, order in cases(KERNELS) if KERNELS[name].has_stein(order) and name not in COVERED
]


def a_side(n=5, seed=0, coincident=True):
    rng = np.random.default_rng(seed)
    points, scores = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    if coincident:
        points[3] = points[0]
    return Side(points, scores, np.zeros(n, dtype=int))


def _values_and_slopes(kernel, side):
    flat, rebuild = ravel_pytree(kernel)

    def twice(parameters):
        block = rebuild(parameters).block(side)
        return block, block

    return jax.jacfwd(twice, has_aux=True)(flat)


fast = jax.jit(_values_and_slopes, compiler_options={"xla_backend_optimization_level": 0})


def values_and_slopes(kernel, side):
    """The block of a Stein kernel, and its derivative in every hyperparameter and every weight of an axis."""
    with jax.enable_x64(True):
        slopes, values = fast(kernel, side)
        return np.asarray(values), np.asarray(slopes)


@pytest.mark.parametrize(("name", "order"), WITH_CLOSED_FORM)
def test_closed_form_equals_automatic_differentiation_with_derivatives_in_every_hyperparameter(name, order):
    side = a_side()
    values, slopes = values_and_slopes(SteinKernel(KERNELS[name], order, AXES), side)
    expected, expected_slopes = values_and_slopes(SteinKernel(Opaque(KERNELS[name]), order, AXES), side)
    assert slopes.shape[-1] >= 3, "two axes and at least one hyperparameter"
    np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(slopes, expected_slopes, rtol=1e-10, atol=1e-10)


def test_gram_and_pullback_by_the_closed_form_equal_those_by_automatic_differentiation():
    side, kernel = a_side(7), SquaredExponential([0.8, 1.7])
    cotangent = np.random.default_rng(1).normal(size=(7, 7))
    cotangent += cotangent.T
    closed, automatic = SteinKernel(kernel, 1, AXES), SteinKernel(Opaque(kernel), 1, AXES)
    np.testing.assert_allclose(gram(closed, side), gram(automatic, side), rtol=1e-10, atol=1e-10)
    expected = jax.tree.leaves(pullback(automatic, side, cotangent))
    for slope, other in zip(jax.tree.leaves(pullback(closed, side, cotangent)), expected, strict=True):
        np.testing.assert_allclose(slope, other, rtol=1e-10, atol=1e-10)


SAME_KERNEL = {
    "product of squared exponentials": (
        SquaredExponential([1.0, 2.0]) * SquaredExponential([0.5, 1.0]),
        SquaredExponential(1 / np.sqrt([1 + 4, 0.25 + 1])),
    ),
    "product over dimensions": (
        ProductOverDimensions((SquaredExponential(0.8), SquaredExponential(1.7))),
        SquaredExponential([0.8, 1.7]),
    ),
    "custom": (Custom(lambda x, y: (x @ y + 0.5) ** 3), Polynomial(3, c=0.5)),
    "constant weight": (Weighted(Matern(1.2, nu=3.5), lambda x: 2.0 + 0 * x[0]), 4.0 * Matern(1.2, nu=3.5)),
}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", SAME_KERNEL)
def test_two_ways_to_write_one_kernel_have_one_stein_kernel(name, order):
    side = a_side()
    one, other = (gram(SteinKernel(kernel, order, AXES), side) for kernel in SAME_KERNEL[name])
    np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_closed_form_does_not_lose_digits_far_from_the_origin(offset):
    rng = np.random.default_rng(2)
    points, scores, task = rng.normal(size=(5, 2)), rng.normal(size=(5, 2)), np.zeros(5, dtype=int)
    near = gram(SteinKernel(SquaredExponential(), 1), Side(points, scores, task))
    far = gram(SteinKernel(SquaredExponential(), 1), Side(points + offset, scores, task))
    np.testing.assert_allclose(far, near, rtol=0, atol=1e-9)


ROUGH = {
    "alone": Matern(nu=1.5),
    "in a sum": Matern(nu=1.5) + SquaredExponential(),
    "scaled": 2.0 * Matern(nu=1.5),
    "in a product": Matern(nu=1.5) * SquaredExponential(),
    "over dimensions": ProductOverDimensions((Matern(nu=1.5), SquaredExponential())),
    "weighted": Weighted(Matern(nu=1.5), lambda x: 1.0 + x @ x),
}


@pytest.mark.parametrize("where", ROUGH)
def test_matern_three_halves_is_refused_by_the_second_order_operator(where):
    with pytest.raises(ValueError, match="order 1"):
        gram(SteinKernel(ROUGH[where], order=2), a_side())


@pytest.mark.parametrize(("order", "kernel"), [(0, SquaredExponential()), (3, SquaredExponential()), (1, "rbf")])
def test_an_order_or_a_kernel_that_does_not_exist_is_refused(order, kernel):
    with pytest.raises(ValueError):
        SteinKernel(kernel, order)


def test_weights_of_the_axes_must_be_positive():
    with pytest.raises(ValueError, match="axes"):
        SteinKernel(SquaredExponential(), 1, [1.0, 0.0])
