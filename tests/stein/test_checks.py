"""Kernels that users write, and that are none, are refused where they enter."""

import jax.numpy as jnp
import numpy as np
import pytest

import vvcv
from vvcv.kernels import Custom, Fixed, General, Matern, Own, Separable, SquaredExponential
from vvcv.paper import CrossFit, Exact, KernelVariate, PolynomialVariate, fit

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
