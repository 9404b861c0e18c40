"""Bounded parameters on the whole line: Jacobians against automatic differentiation and quadrature."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vvcv

LOW, HIGH = -1.0, 2.5
INVERSES = {
    (LOW, None): lambda z: LOW + jnp.exp(z),
    (None, HIGH): lambda z: HIGH - jnp.exp(z),
    (LOW, HIGH): lambda z: LOW + (HIGH - LOW) * jax.nn.sigmoid(z),
    (None, None): lambda z: z,
}


def log_density(x):
    return -0.3 * (x - 0.4) ** 2 + jnp.sin(x)


@pytest.mark.parametrize("bounds", list(INVERSES))
@pytest.mark.parametrize("jacobian", [True, False])
def test_scores_are_the_derivative_of_the_density_of_the_new_coordinate(bounds, jacobian):
    inverse = INVERSES[bounds]

    def of_z(z):
        extra = jnp.log(jnp.abs(jax.grad(inverse)(z))) if jacobian else 0.0
        return log_density(inverse(z)) + extra

    with jax.enable_x64(True):
        z = np.linspace(-3.0, 3.0, 13)
        x = np.asarray(jax.jit(jax.vmap(inverse))(z))[:, None]
        scores = np.asarray(jax.jit(jax.vmap(jax.grad(log_density)))(x[:, 0]))[:, None]
        expected = np.asarray(jax.jit(jax.vmap(jax.grad(of_z)))(z))
    found = vvcv.unconstrain(x, scores, *bounds, jacobian=jacobian)
    np.testing.assert_allclose(found.points[:, 0], z, atol=1e-12)
    np.testing.assert_allclose(found.scores[:, 0], expected, rtol=1e-10, atol=1e-12)


def test_the_new_scores_satisfy_steins_identity_where_the_old_ones_do_not():
    """E[s] = 0 and E[z s] = -1 under quadrature for a uniform distribution, whose own score is zero."""
    nodes, weights = np.polynomial.legendre.leggauss(300)
    x = (LOW + (HIGH - LOW) * (nodes + 1) / 2)[:, None]
    z, s = vvcv.unconstrain(x, np.zeros_like(x), LOW, HIGH)
    mass = weights / weights.sum()
    assert mass @ s[:, 0] == pytest.approx(0, abs=1e-12)
    assert mass @ (z * s)[:, 0] == pytest.approx(-1, abs=1e-3)


def test_each_coordinate_has_its_own_bounds_and_chains_keep_their_shape():
    x = np.random.default_rng(0).uniform(0.1, 0.9, size=(2, 5, 3))
    found = vvcv.unconstrain(x, np.zeros_like(x), [0, -np.inf, 0], [1, np.inf, np.inf])
    assert found.points.shape == found.scores.shape == x.shape
    np.testing.assert_array_equal(found.points[..., 1], x[..., 1])
    np.testing.assert_allclose(found.points[..., 2], np.log(x[..., 2]))


@pytest.mark.parametrize(
    ("points", "bounds", "message"),
    [
        ([[0.5], [1.0]], (0, 1), "strictly between"),
        ([[0.5], [-1.0]], (0, None), "strictly between"),
        ([[0.5], [0.6]], (1, 0), "below upper"),
        ([[0.5], [0.6]], ([0, 0], None), "one per coordinate"),
        ([[0.5], [0.6]], (np.nan, None), "nan"),
        ([0.5, 0.6], (0, 1), "column"),
    ],
)
def test_points_on_or_beyond_a_bound_are_refused(points, bounds, message):
    with pytest.raises(ValueError, match=message):
        vvcv.unconstrain(points, np.zeros_like(points), *bounds)


def test_none_stands_for_no_bound_of_one_coordinate_too():
    x = np.array([[0.5, -2.0], [2.0, 1.0]])
    found = vvcv.unconstrain(x, -x, lower=[0, None], upper=[None, 3])
    expected = vvcv.unconstrain(x, -x, lower=[0, -np.inf], upper=[np.inf, 3])
    np.testing.assert_array_equal(found.points, expected.points)
    np.testing.assert_array_equal(found.scores, expected.scores)
    with pytest.raises(ValueError, match="lower must not be nan"):
        vvcv.unconstrain(x, -x, lower=[0, np.nan])
