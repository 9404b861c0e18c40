"""Scalar kernels are the formulas of the paper, positive semi-definite, and refuse parameters that make no sense."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vvcv.kernels import (
    Custom,
    InverseMultiquadric,
    Matern,
    Polynomial,
    PreconditionedSquaredExponential,
    Product,
    ProductOverDimensions,
    RationalQuadratic,
    Scaled,
    SquaredExponential,
    Sum,
    Weighted,
    as_kernel,
)

X, Y = np.array([0.3, -1.2]), np.array([1.1, 0.4])
R2 = float(np.sum((X - Y) ** 2))
DOT = float(X @ Y)


def matern(nu, r):
    """The textbook formula, with the Bessel function."""
    from scipy.special import gamma, kv

    z = np.sqrt(2 * nu) * r
    return 2 ** (1 - nu) / gamma(nu) * z**nu * kv(nu, z)


FORMULAS = {
    "squared exponential": (SquaredExponential(1.7), np.exp(-R2 / (2 * 1.7**2))),
    "two lengthscales": (SquaredExponential([0.5, 2.0]), np.exp(-(0.8**2 / 0.25 + 1.6**2 / 4) / 2)),
    "matern 3/2": (Matern(1.4, nu=1.5), matern(1.5, np.sqrt(R2) / 1.4)),
    "matern 5/2": (Matern(1.4, nu=2.5), matern(2.5, np.sqrt(R2) / 1.4)),
    "matern 7/2": (Matern(1.4, nu=3.5), matern(3.5, np.sqrt(R2) / 1.4)),
    "rational quadratic": (RationalQuadratic(1.4, alpha=0.7), (1 + R2 / (1.4 * 1.4**2)) ** -0.7),
    "inverse multiquadric": (InverseMultiquadric(1.4), (1 + R2 / 1.4**2) ** -0.5),
    "polynomial": (Polynomial(3, c=0.4), (DOT + 0.4) ** 3),
    "preconditioned": (
        PreconditionedSquaredExponential(1.7, alpha=0.2),
        np.exp(-R2 / (2 * 1.7**2)) / ((1 + 0.2 * X @ X) * (1 + 0.2 * Y @ Y)),
    ),
    "weighted": (Weighted(Polynomial(1, c=2.0), lambda x: x @ x), (X @ X) * (Y @ Y) * (DOT + 2)),
    "product over dimensions": (
        ProductOverDimensions((SquaredExponential(1.0), Polynomial(1, c=1.0))),
        np.exp(-(0.8**2) / 2) * (1 - 1.2 * 0.4),
    ),
    "sum": (SquaredExponential() + Polynomial(1), np.exp(-R2 / 2) + DOT + 1),
    "product": (SquaredExponential() * Polynomial(1), np.exp(-R2 / 2) * (DOT + 1)),
    "scaled": (0.3 * SquaredExponential(), 0.3 * np.exp(-R2 / 2)),
    "custom": (Custom(lambda x, y: jnp.exp(x @ y)), np.exp(DOT)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_kernel_is_its_formula_and_symmetric(name):
    kernel, expected = FORMULAS[name]
    with jax.enable_x64(True):
        assert float(kernel(jnp.asarray(X), jnp.asarray(Y))) == pytest.approx(expected, rel=1e-13)
        assert float(kernel(jnp.asarray(Y), jnp.asarray(X))) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("name", FORMULAS)
def test_kernel_is_positive_semidefinite(name):
    points = np.random.default_rng(0).normal(size=(8, 2))
    with jax.enable_x64(True):
        rows = jax.vmap(FORMULAS[name][0], in_axes=(None, 0))
        k = np.asarray(jax.jit(jax.vmap(rows, in_axes=(0, None)))(points, points))
    assert np.linalg.eigvalsh(k)[0] > -1e-12 * np.trace(k)


def test_a_large_shape_of_the_rational_quadratic_is_the_squared_exponential():
    with jax.enable_x64(True):
        assert float(RationalQuadratic(1.3, alpha=1e8)(X, Y)) == pytest.approx(
            float(SquaredExponential(1.3)(X, Y)), 1e-7
        )


def test_parameters_are_unconstrained_leaves_in_float64():
    for kernel, count in ((SquaredExponential([1.0, 2.0]), 2), (RationalQuadratic(), 2), (2.0 * Polynomial(2), 2)):
        leaves = jax.tree.leaves(kernel)
        assert sum(np.size(leaf) for leaf in leaves) == count
        assert all(np.asarray(leaf).dtype == np.float64 for leaf in leaves)


def test_operators_build_sums_products_and_scaled_kernels():
    one, other = SquaredExponential(), Polynomial(2)
    assert isinstance(one + other, Sum) and isinstance(one * other, Product)
    assert isinstance(2.0 * one, Scaled) and isinstance(one * 2.0, Scaled)
    assert isinstance(as_kernel(lambda x, y: x @ y), Custom) and as_kernel(one) is one


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, [1.0, -2.0]])
def test_a_lengthscale_that_is_not_positive_is_refused(bad):
    for family in (SquaredExponential, Matern, RationalQuadratic, PreconditionedSquaredExponential):
        with pytest.raises(ValueError, match="lengthscale must be positive"):
            family(bad)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Matern(nu=2.0),
        lambda: Polynomial(0),
        lambda: Polynomial(1.5),
        lambda: Polynomial(2, c=-1.0),
        lambda: RationalQuadratic(alpha=0.0),
        lambda: PreconditionedSquaredExponential(alpha=-0.1),
        lambda: -1.0 * SquaredExponential(),
        lambda: as_kernel("rbf"),
        lambda: SquaredExponential() + 1.0,
        lambda: ProductOverDimensions((SquaredExponential(),))(X, Y),
    ],
)
def test_parameters_that_make_no_sense_are_refused(make):
    with pytest.raises(ValueError, match="must|needs|implemented"):
        make()
