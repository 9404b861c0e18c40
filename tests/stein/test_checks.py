"""Kernels that users write, and that are none, are refused where they enter."""

import jax.numpy as jnp
import numpy as np
import pytest

import vvcv
from vvcv.kernels import Custom, Fixed, General, Matern, Own, Separable, SquaredExponential
from vvcv.paper import BasisVariate, CrossFit, Exact, KernelVariate, PolynomialVariate, fit

X = np.random.default_rng(0).normal(size=(12, 2))
TASKS = vvcv.Tasks.shared(X, -X, np.column_stack([X[:, 0] ** 2, np.sin(X[:, 1]), X[:, 0]]))
SMOOTH = SquaredExponential(1.5)


def distance(x, y):
    return jnp.linalg.norm(x - y)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda x, y: (1 + distance(x, y)) * jnp.exp(-distance(x, y)), "differentiable 1 times"),
        (lambda x, y: jnp.exp(-((x - y) ** 2)), "one number"),
        (General(lambda x, y: jnp.eye(2) * jnp.exp(-jnp.sum((x - y) ** 2))), "row per task"),
        (General(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2))), "row per task"),
        (Separable(Fixed(np.eye(2)), SMOOTH), "one row per task, but has 2 for 3"),
        (Separable(Fixed(np.eye(4)), SMOOTH), "one row per task, but has 4 for 3"),
        (Separable(Fixed(np.eye(3)), SMOOTH) + Own(SMOOTH, 3), "Own needs one of the tasks, from 0 to 2"),
        (SquaredExponential([1.0, 2.0, 3.0]), "one lengthscale, or one for each of the 2"),
        (Separable(Fixed(np.eye(3)), Matern([1.0, 2.0, 3.0])), "one lengthscale"),
        (Custom(lambda x, y: x[0] - y[0]), "symmetric"),
    ],
)
def test_functions_that_are_no_kernels_of_these_tasks_are_refused(kernel, message):
    with pytest.raises(ValueError, match=message):
        fit(TASKS, KernelVariate(kernel), Exact(1e-3))


def test_an_estimate_refuses_them_too():
    with pytest.raises(ValueError, match="differentiable 1 times"):
        vvcv.estimate(TASKS[0], "cf", kernel=lambda x, y: (1 + distance(x, y)) * jnp.exp(-distance(x, y)))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda x, y: np.exp(-np.sum((x - y) ** 2)), "A kernel must be a function that JAX can differentiate"),
        (lambda x: 1.0, r"A kernel k\(x, y\) must be a function of two arguments, but <lambda>\(x\) is not"),
        (lambda x, y: x - y, "must be one number"),
    ],
)
def test_an_estimate_says_what_a_kernel_is_in_one_sentence(kernel, message):
    with pytest.raises(ValueError, match=message):
        vvcv.estimate(TASKS[0], "cf", kernel=kernel)


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        (lambda z: np.sin(z), "A basis must be a function that JAX can differentiate"),
        (lambda z, y: z, r"A basis must be a function of one argument, but <lambda>\(z, y\) is not"),
        (3, "A basis must be a function of one argument, but 3 is none"),
    ],
)
def test_a_fit_says_what_a_basis_is_in_one_sentence(basis, message):
    with pytest.raises(ValueError, match=message):
        fit(TASKS, BasisVariate(basis), Exact(1e-9))


def test_a_function_or_a_kernel_is_enough():
    found = [
        fit(TASKS, given, Exact(1e-3)).mean
        for given in (KernelVariate(SMOOTH), SMOOTH, KernelVariate(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2) / 4.5)))
    ]
    np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=1e-9)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"variate": PolynomialVariate}, "call it, PolynomialVariate"),
        ({"variate": 3}, "A variate is one of"),
        ({"selection": Exact}, "call it, Exact"),
        ({"estimator": CrossFit}, "call it, CrossFit"),
        ({"estimator": "cross-fit"}, "An estimator is None"),
    ],
)
def test_classes_and_other_things_are_told_from_variates(given, message):
    with pytest.raises(ValueError, match=message):
        fit(TASKS, **{"variate": PolynomialVariate(1), **given})
