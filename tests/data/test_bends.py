"""Funnels and bananas, as scores tell them: found from few points, taken out exactly, never where there is none."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vvcv.data import Prepared, Task, Tasks
from vvcv.data.bends import Bend, Bends, bends_of, unexplained
from vvcv.runtime.precision import float64

#: Log densities, and draws from standard normal numbers.
TARGETS = {
    "funnel": (
        lambda x: -(x[0] ** 2) / 2 - jnp.sum(x[1:] ** 2) * jnp.exp(-2 * x[0]) / 2 - (len(x) - 1) * x[0],
        lambda z: np.hstack([z[:, :1], np.exp(z[:, :1]) * z[:, 1:]]),
    ),
    "funnel of correlated variables": (
        lambda x: -(x[2] ** 2) / 2 - jnp.sum((_MIX @ jnp.delete(x, 2)) ** 2) * jnp.exp(-x[2]) / 2 - 1.5 * x[2],
        lambda z: np.insert(np.linalg.solve(_MIX, np.delete(z, 2, 1).T).T * np.exp(z[:, [2]] / 2), 2, z[:, 2], 1),
    ),
    "banana": (
        lambda x: -(x[0] ** 2) / 2 - (x[1] - x[0] ** 2) ** 2 / 2 - jnp.sum(x[2:] ** 2) / 2,
        lambda z: np.column_stack([z[:, 0], z[:, 1] + z[:, 0] ** 2, z[:, 2:]]),
    ),
    "two funnels": (
        lambda x: -jnp.sum(x[:2] ** 2) / 2 - jnp.sum((x[2:] * jnp.exp(-x[:2])) ** 2) / 2 - jnp.sum(x[:2]),
        lambda z: np.hstack([z[:, :2], np.exp(z[:, :2]) * z[:, 2:]]),
    ),
}
_MIX = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, -0.7], [0.0, 0.0, 2.0]])


@float64
def sample(name, n=60, seed=0):
    density, from_normal = TARGETS[name]
    x = from_normal(np.random.default_rng(seed).normal(size=(n, 4)))
    return x, np.array(jax.vmap(jax.grad(density))(jnp.asarray(x)))


@pytest.mark.parametrize("name", TARGETS)
def test_bends_are_taken_out_exactly_by_few_points(name):
    x, s = sample(name)
    bends = Bends.of(x, s)
    assert bends is not None and bends.surely and len(bends.each) == (2 if name.startswith("funnel") else 1)
    assert unexplained(x, s).max() > 0.3
    assert unexplained(*bends.straightened(x, s)).max() < 1e-6
    others = sample(name, seed=1)  # as exactly at points that nobody has seen
    assert unexplained(*bends.straightened(*others)).max() < 1e-6


@given(seed=st.integers(0, 2**32 - 1))
@float64
def test_scores_are_those_of_the_density_in_the_new_coordinates(seed):
    """Whatever the bend: the score of p(x(u)) |dx/du| by automatic differentiation."""
    rng, d, axis = np.random.default_rng(seed), 4, seed % 4
    growth, course = rng.normal(size=d), rng.normal(size=(3, d))
    growth[axis], course[:, axis] = 0.0, 0.0
    bend = Bend(axis, rng.normal(size=d), rng.uniform(0.5, 2, size=d), growth, course)
    u = rng.normal(size=(5, d))
    x, s, expected = (np.asarray(a) for a in there_and_back(u, (bend.middle, bend.unit, growth, course), axis))
    found, scores = bend.straightened(x, s)
    np.testing.assert_allclose(found, u, atol=1e-8)
    np.testing.assert_allclose(scores, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


@partial(jax.jit, static_argnums=2)
def there_and_back(u, numbers, axis):
    """Points of a banana, its scores there, and those in the coordinates u."""
    (middle, unit, growth, course), density = numbers, TARGETS["banana"][0]

    def given_at(u):
        v = u[axis]
        x = course[0] + course[1] * v + course[2] * v**2 + jnp.exp(growth * v) * u
        return middle + unit * x.at[axis].set(v)

    def there(u):
        return density(given_at(u)) + jnp.linalg.slogdet(jax.jacobian(given_at)(u))[1]

    x = jax.vmap(given_at)(u)
    return x, jax.vmap(jax.grad(density))(x), jax.vmap(jax.grad(there))(u)


def test_neither_units_nor_the_order_of_axes_matter():
    x, s = sample("funnel of correlated variables")
    unit, middle, order = np.array([1e3, 1e-4, 7.0, 0.2]), np.array([5.0, -3.0, 1e2, 0.0]), [3, 1, 0, 2]
    usual, other = Bends.of(x, s), Bends.of(x[:, order] * unit + middle, s[:, order] / unit)
    assert other.each[0].axes == tuple(order.index(axis) for axis in usual.each[0].axes)
    points, scores = other.straightened(x[:, order] * unit + middle, s[:, order] / unit)
    expected = [numbers[:, order] for numbers in usual.straightened(x, s)]
    np.testing.assert_allclose(points, expected[0], atol=1e-5)
    np.testing.assert_allclose(scores, expected[1], atol=1e-4)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["normal", "log-gamma", "logistic", "correlated", "Student"])
def test_a_target_that_is_not_bent_is_left_alone(kind, seed):
    rng = np.random.default_rng([seed, 4])
    z = rng.normal(size=(120, 4))
    x, s = {
        "normal": lambda: (z, -z),
        "log-gamma": lambda: (x := np.log(rng.gamma(2.0, size=(120, 4))), 2 - np.exp(x)),
        "logistic": lambda: (x := rng.logistic(size=(120, 4)), -np.tanh(x / 2)),
        "correlated": lambda: (z @ np.tri(4).T, -z @ np.linalg.inv(np.tri(4))),
        "Student": lambda: (
            x := z / np.sqrt(rng.chisquare(5, size=(120, 1)) / 5),
            -9 * x / (5 + np.sum(x**2, axis=1, keepdims=True)),
        ),
    }[kind]()
    assert Bends.of(x, s) is None


def test_few_points_one_axis_and_columns_that_stand_still_are_left_alone():
    x, s = sample("funnel", n=15)
    assert Bends.of(x, s) is None
    x, s = sample("funnel")
    assert Bends.of(x[:, :1], s[:, :1]) is None
    assert Bends.of(np.column_stack([x, np.ones(60)]), np.column_stack([s, np.zeros(60)])) is None


@pytest.mark.parametrize("far", [1e4, 1e9, 1e100])
def test_a_point_beyond_all_others_leads_to_numbers_or_to_nothing(far):
    x, s = sample("funnel", n=600)
    x[7, 0], s[7, 0] = far, -far
    bends = bends_of(Prepared.of(Tasks([Task(x, s, np.sin(x[:, 0]))])))
    assert bends is None or np.isfinite(bends.straightened(x, s)).all()
