"""Groups pulled together by a common scale, as scores tell them: found from few points, and taken out exactly."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vvcv.data.bends import Bends, unexplained
from vvcv.data.pooled import Pooled, likeliest
from vvcv.runtime.precision import float64

Y, NOISE = np.array([2.0, -1.0, 0.5, 1.5, 3.0]), np.array([1.0, 0.5, 2.0, 1.0, 0.7])


def centred(x):
    """Log density of (log tau, mu, theta): theta ~ N(mu, tau^2), y ~ N(theta, noise^2)."""
    v, mu, theta = x[0], x[1], x[2:]
    prior = -jnp.sum((theta - mu) ** 2) * jnp.exp(-2 * v) / 2 - len(Y) * v - mu**2 / 8
    return prior - jnp.sum(((Y - theta) / NOISE) ** 2) / 2 - v**2


def non_centred(x):
    """Theta = mu + tau z."""
    v, mu, z = x[0], x[1], x[2:]
    return -jnp.sum(z**2) / 2 - jnp.sum(((Y - mu - jnp.exp(v) * z) / NOISE) ** 2) / 2 - mu**2 / 8 - v**2


@float64
def scores(density, x):
    return np.array(jax.vmap(jax.grad(density))(jnp.asarray(x)))


def groups(n=60, seed=0):
    """Points about the centred posterior, not of it: scores tell the law wherever they are taken."""
    rng = np.random.default_rng(seed)
    v, mu = 0.7 * rng.normal(size=(n, 1)), 0.5 + rng.normal(size=(n, 1))
    x = np.hstack([v, mu, mu + np.exp(v) * rng.normal(size=(n, len(Y)))])
    return x, scores(centred, x)


def test_a_common_scale_is_found_and_taken_out_by_few_points():
    x, s = groups()
    assert likeliest(x, s) == 0
    pooled = Pooled.along(0, x, s)
    assert abs(pooled.rate / pooled.unit[0] + 2) < 1e-4
    y, g = pooled.straightened(x, s)
    assert unexplained(x, s)[1:].max() > 0.3 and unexplained(y, g)[1:].max() < 1e-8
    # As exactly at points that nobody has seen: scores of all others are one and the same line, whatever the scale is.
    line = np.linalg.lstsq(y[:, 1:], g[:, 1:], rcond=None)[0]
    there, score = pooled.straightened(*groups(seed=1))
    np.testing.assert_allclose(score[:, 1:], there[:, 1:] @ line, atol=1e-4)


def test_bends_prefer_what_leaves_nothing():
    x, s = groups()
    bends = Bends.of(x, s)
    assert bends is not None and bends.surely and [type(each) for each in bends.each] == [Pooled]


def test_other_parametrisations_are_straightened_as_far_as_they_go():
    """Non-centred effects have precisions of second degree in the scale: less than half is left, measured .3."""
    rng = np.random.default_rng(2)
    x = np.column_stack([rng.normal(size=(200, 1)), rng.normal(size=(200, 1 + len(Y)))])
    s = scores(non_centred, x)
    there = Pooled.along(0, x, s).straightened(x, s)
    assert unexplained(*there)[1:].sum() < 0.5 * unexplained(x, s)[1:].sum()


@given(seed=st.integers(0, 2**32 - 1))
@float64
def test_scores_are_those_of_the_density_in_the_new_coordinates(seed):
    """Whatever the precisions: the score of p(x(u)) |dx/du| by automatic differentiation."""
    rng, axis = np.random.default_rng(seed), seed % 4
    turn = rng.normal(size=(3, 3)) + 2 * np.eye(3)
    pooled = Pooled(
        axis, rng.normal(size=4), rng.uniform(0.5, 2, 4), rng.uniform(-2, 2), rng.uniform(0, 1, 3), turn,
        np.linalg.inv(turn), rng.normal(size=(2, 3)),
    )  # fmt: skip

    def density(x):
        return -jnp.sum(x**2) / 2 + jnp.sin(x[0] * x[1]) + x[2] * jnp.cos(x[3])

    def back(z):
        v, u = z[axis], jnp.delete(z, axis)
        growth = jnp.exp(pooled.rate * v)
        precision = 1 - pooled.share + pooled.share * growth
        y = (pooled.course[0] + pooled.course[1] * growth) / precision + pooled.back @ u / jnp.sqrt(precision)
        return pooled.middle + pooled.unit * jnp.insert(pooled.turn @ y, axis, v)

    def there(z):
        return density(back(z)) + jnp.linalg.slogdet(jax.jacfwd(back)(z))[1]

    z = jnp.asarray(rng.normal(size=(5, 4)))
    x = np.array(jax.vmap(back)(z))
    found, score = pooled.straightened(x, scores(density, x))
    np.testing.assert_allclose(found, z, atol=1e-9)
    np.testing.assert_allclose(score, np.array(jax.vmap(jax.grad(there))(z)), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5, 6], [3, 6, 0, 2, 5, 1, 4]])
def test_neither_units_nor_the_order_of_axes_matter(order):
    x, s = groups(seed=3)
    unit = np.geomspace(1e-3, 1e3, 7)
    whole, other = Bends.of(x, s), Bends.of((x * unit)[:, order], (s / unit)[:, order])
    assert order[other.each[0].axis] == whole.each[0].axis
    assert other.left == pytest.approx(whole.left, abs=1e-6)


def test_scores_of_no_gaussian_have_no_precision():
    x = np.random.default_rng(4).normal(size=(60, 3))
    assert Pooled.along(0, x, x) is None
    assert Bends.of(x, -x) is None and Bends.of(x, x) is None


def test_curves_along_axes_of_their_own_are_no_bends():
    """Independent gammas in logarithms: kernels follow them axis by axis, and nothing is taken out."""
    u = np.random.default_rng(5).gamma(1.0, size=(100, 4))
    assert unexplained(np.log(u), 1.0 - u).max() < 0.1
    assert Bends.of(np.log(u), 1.0 - u) is None


def test_one_point_deep_in_the_neck_does_not_outweigh_all_others():
    """Its scores are millions of times as large as theirs, and its law is the same."""
    x, s = groups()
    mu = x[7, 1]
    x[7, 0], x[7, 2:] = -9.0, mu + np.exp(-9.0) * np.linspace(-1, 1, len(Y))
    s = scores(centred, x)
    assert likeliest(x, s) == 0
    pooled = Pooled.along(0, x, s)
    assert abs(pooled.rate / pooled.unit[0] + 2) < 1e-4
    straightened = np.abs(pooled.straightened(x, s)[1]).max(axis=1)
    assert np.argmax(np.abs(s).max(axis=1)) == 7 and straightened[7] < np.delete(straightened, 7).max()
