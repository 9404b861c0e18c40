"""Groups pulled together by a common scale, as scores tell them: found from few points, and taken out exactly."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vvcv.data.bends import Bends, unexplained
from vvcv.data.pooled import Pooled
from vvcv.data.scales import pooled
from vvcv.runtime.precision import float64

Y, NOISE = np.array([2.0, -1.0, 0.5, 1.5, 3.0]), np.array([1.0, 0.5, 2.0, 1.0, 0.7])


def misfit(theta, noise):
    return jnp.sum(((Y - theta) / NOISE / noise) ** 2) / 2 + len(Y) * jnp.log(noise)


def centred(x):
    """Log density of (log tau, mu, theta): theta ~ N(mu, tau^2), y ~ N(theta, noise^2)."""
    v, mu, theta = x[0], x[1], x[2:]
    return -jnp.sum((theta - mu) ** 2) * jnp.exp(-2 * v) / 2 - len(Y) * v - mu**2 / 8 - misfit(theta, 1.0) - v**2


def divided(x):
    """Theta = mu + tau z."""
    v, mu, z = x[0], x[1], x[2:]
    return -jnp.sum(z**2) / 2 - misfit(mu + jnp.exp(v) * z, 1.0) - mu**2 / 8 - v**2


def centred_in_noise(x):
    """Of (log tau, mu, theta, log noise)."""
    return centred(x[:-1]) + misfit(x[2:-1], 1.0) - misfit(x[2:-1], jnp.exp(x[-1])) - x[-1] ** 2


def divided_in_noise(x):
    theta = x[1] + jnp.exp(x[0]) * x[2:-1]
    return divided(x[:-1]) + misfit(theta, 1.0) - misfit(theta, jnp.exp(x[-1])) - x[-1] ** 2


#: Axes that are scales, and exponents of their precisions, in units of the points.
LAWS = {
    centred: ((0,), [[0], [-2]]),
    divided: ((0,), [[0], [1], [2]]),
    centred_in_noise: ((0, 7), [[0, 0], [-2, 0], [0, -2]]),
    divided_in_noise: ((0, 7), [[0, 0], [0, -2], [1, -2], [2, -2]]),
}


@float64
def scores(density, x):
    return np.array(jax.vmap(jax.grad(density))(jnp.asarray(x)))


def groups(n=60, seed=0):
    """Points about the centred posterior, not of it: scores tell the law wherever they are taken."""
    rng = np.random.default_rng(seed)
    v, mu = 0.7 * rng.normal(size=(n, 1)), 0.5 + rng.normal(size=(n, 1))
    x = np.hstack([v, mu, mu + np.exp(v) * rng.normal(size=(n, len(Y)))])
    return x, scores(centred, x)


def about(density, n, seed=0):
    """Points about these posteriors, of any number of coordinates."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 7 + ("noise" in density.__name__)))
    if "centred" in density.__name__:
        x[:, 2:7] = x[:, [1]] + np.exp(0.7 * x[:, [0]]) * x[:, 2:7]
    x[:, [0, -1]] *= 0.7
    return x, scores(density, x)


@pytest.mark.parametrize("density", LAWS)
def test_scales_are_found_and_taken_out_by_few_points(density):
    x, s = about(density, 80)
    bends = Bends.of(x, s)
    assert bends is not None and bends.surely and isinstance(bends.each[0], Pooled)
    law, (axes, exponents) = bends.each[0], LAWS[density]
    assert sorted(law.axes) == sorted(axes)
    found = law.growth[:, np.argsort(law.axes)] / law.unit[list(axes)]
    np.testing.assert_allclose(sorted(found.tolist()), sorted(exponents), atol=1e-3)
    # As exactly at points that nobody has seen: scores of all others are one line, whatever the scales are.
    others = [1, 2, 3, 4, 5, 6]
    y, g = law.straightened(x, s)
    line = np.linalg.lstsq(y[:, others], g[:, others], rcond=None)[0]
    there, score = law.straightened(*about(density, 60, seed=1))
    np.testing.assert_allclose(score[:, others], there[:, others] @ line, atol=5e-3)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=8)
@float64
def test_scores_are_those_of_the_density_in_the_new_coordinates(seed):
    """Whatever the precisions: the score of p(x(u)) |dx/du| by automatic differentiation."""
    rng, axes = np.random.default_rng(seed), [(0,), (2,), (1, 3), (3, 0)][seed % 4]
    k = 5 - len(axes)
    turn, roots = rng.normal(size=(k, k)) + 2 * np.eye(k), rng.normal(size=(3, k, k))
    law = Pooled(
        axes, rng.normal(size=5), rng.uniform(0.5, 2, 5), rng.uniform(-1, 1, (3, len(axes))), turn, np.linalg.inv(turn),
        roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(k), rng.normal(size=(3, k)),
    )  # fmt: skip

    z = rng.normal(size=(5, 5))
    numbers = (law.middle, law.unit, law.growth, law.turn, law.back, law.parts, law.pulls)
    x, s, expected = (np.array(a) for a in there_and_back(z, numbers, axes))
    found, score = law.straightened(x, s)
    np.testing.assert_allclose(found, z, atol=1e-7)
    np.testing.assert_allclose(score, expected, rtol=1e-6, atol=1e-6)


@partial(jax.jit, static_argnums=2)
def there_and_back(z, numbers, axes):
    """Points of a density, its scores there, and those in the coordinates z."""
    middle, unit, growth, turn, back, parts, pulls = numbers

    def density(x):
        return -jnp.sum(x**2) / 2 + jnp.sin(x[0] * x[1]) + x[2] * jnp.cos(x[3]) - x[4] ** 2

    def given_at(z):
        others = np.delete(np.arange(5), axes)
        v, u = z[np.array(axes)], back @ z[others]
        growing = jnp.exp(growth @ v)
        precision = jnp.tensordot(growing, parts, 1)
        y = jnp.linalg.solve(precision, growing @ pulls) + jnp.linalg.solve(jnp.linalg.cholesky(precision).T, u)
        x = jnp.zeros(5).at[np.array(axes)].set(v).at[others].set(turn @ y)
        return middle + unit * x

    def there(z):
        return density(given_at(z)) + jnp.linalg.slogdet(jax.jacfwd(given_at)(z))[1]

    x = jax.vmap(given_at)(z)
    return x, jax.vmap(jax.grad(density))(x), jax.vmap(jax.grad(there))(z)


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5, 6], [3, 6, 0, 2, 5, 1, 4]])
def test_neither_units_nor_the_order_of_axes_matter(order):
    x, s = groups(seed=3)
    unit = np.geomspace(1e-3, 1e3, 7)
    whole, other = Bends.of(x, s), Bends.of((x * unit)[:, order], (s / unit)[:, order])
    assert order[other.each[0].axes[0]] == whole.each[0].axes[0]
    assert other.left == pytest.approx(whole.left, abs=1e-6)


def test_scores_of_no_gaussian_have_no_precision():
    x = np.random.default_rng(4).normal(size=(60, 3))
    assert Pooled.along((0,), np.array([[0.0], [1.0]]), x, x) is None and not list(pooled(x, x))
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
    law = next(pooled(x, s))
    assert law.axes == (0,) and abs(law.growth[1, 0] / law.unit[0] + 2) < 1e-3
    straightened = np.abs(law.straightened(x, s)[1]).max(axis=1)
    assert np.argmax(np.abs(s).max(axis=1)) == 7 and straightened[7] < np.delete(straightened, 7).max()
