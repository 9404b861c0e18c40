"""Joint constraints on the whole line: points and scores against automatic differentiation of the inverse maps."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vvcv

K = 4


def simplex(z):
    return jax.nn.softmax(jnp.append(z, 0.0))


def ordered(z):
    return z[0] + jnp.concatenate([jnp.zeros(1), jnp.cumsum(jnp.exp(z[1:]))])


def cholesky_corr(z):
    factor = jnp.zeros((K, K)).at[0, 0].set(1.0)
    for i in range(1, K):
        left = 1.0
        for j in range(i):
            share = jnp.tanh(z[i * (i - 1) // 2 + j])
            factor = factor.at[i, j].set(share * jnp.sqrt(left))
            left = left * (1 - share**2)
        factor = factor.at[i, i].set(jnp.sqrt(left))
    return factor


#: the inverse map, the number of coordinates, and the entries of x that a density on the constraint is a function of
CASES = {
    "simplex": (simplex, K - 1, lambda x: x[:-1]),
    "ordered": (ordered, K, lambda x: x),
    "cholesky_corr": (cholesky_corr, K * (K - 1) // 2, lambda x: x[jnp.tril_indices(K, -1)]),
}


def log_density(x):
    return jnp.sum(jnp.sin(3 * x)) + jnp.prod(1 + x.ravel()[-2:]) - jnp.sum(x**4)


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("jacobian", [True, False])
def test_scores_are_the_derivative_of_the_density_of_the_new_coordinates(name, jacobian):
    inverse, d, free = CASES[name]

    def of_z(z):
        extra = jnp.linalg.slogdet(jax.jacfwd(lambda z: free(inverse(z)))(z))[1] if jacobian else 0.0
        return log_density(inverse(z)) + extra

    z = np.random.default_rng(3).normal(size=(2, 7, d))
    with jax.enable_x64(True):
        each = lambda f, a: np.asarray(jax.jit(jax.vmap(jax.vmap(f)))(a))  # noqa: E731
        x = each(inverse, z)
        scores, expected = each(jax.grad(log_density), x), each(jax.grad(of_z), z)
    found = vvcv.unconstrain(x, scores, transform=name, jacobian=jacobian)
    np.testing.assert_allclose(found.points, z, atol=1e-12)
    np.testing.assert_allclose(found.scores, expected, rtol=1e-9, atol=1e-11)


def test_dirichlet_draws_pass_the_check_and_give_the_means_exactly():
    alpha = np.array([2.0, 3.0, 5.0])
    x = np.random.default_rng(0).dirichlet(alpha, size=400)
    z, s = vvcv.unconstrain(x, (alpha - 1) / x, transform="simplex")
    tasks = vvcv.Tasks.shared(z, s, x)
    assert vvcv.check(tasks).ok
    np.testing.assert_allclose(vvcv.estimate(tasks, method="zv").mean, alpha / alpha.sum(), atol=1e-10)


@pytest.mark.parametrize(
    ("points", "transform", "message"),
    [
        ([[0.5, 0.6]], "simplex", "sum to one"),
        ([[1.0, 0.0]], "simplex", "positive"),
        ([[1.0, 0.5]], "ordered", "increase"),
        ([[[1.0, 0.0], [0.8, 0.8]]], "cholesky_corr", "length one"),
        ([[1.0, 0.5, 0.2]], "cholesky_corr", "shape"),
        ([[1.0, 0.5]], "sphere", "must be one of"),
    ],
)
def test_points_off_their_constraint_are_refused(points, transform, message):
    with pytest.raises(ValueError, match=message):
        vvcv.unconstrain(points, np.zeros_like(points), transform=transform)


def test_bounds_and_a_transform_together_are_refused():
    with pytest.raises(ValueError, match="not both"):
        vvcv.unconstrain([[0.5, 0.5]], [[0.0, 0.0]], lower=0, transform="simplex")
