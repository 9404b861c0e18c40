"""A tail that is drawn in: the scores are those of the density in the new coordinates, whatever the user's units."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vvcv.data import Prepared, Task, Tasks
from vvcv.data.seen import seen_as
from vvcv.data.tails import AxisTails, StudentTail, tail_of
from vvcv.runtime.precision import float64


def student(seed, n, d, freedom):
    """A Student target that is neither round nor centred, and its log density."""
    rng = np.random.default_rng([seed, d])
    root, centre = np.tril(rng.normal(size=(d, d))) + 3 * np.eye(d), rng.normal(size=d)
    precision = np.linalg.inv(root @ root.T)
    round_ones = rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(freedom, size=(n, 1)) / freedom)

    def log_density(x):
        return -(freedom + d) / 2 * jnp.log1p((x - centre) @ precision @ (x - centre) / freedom)

    return centre + round_ones @ root.T, log_density


@pytest.mark.parametrize("d", [1, 2, 5])
@float64
def test_scores_are_the_slope_of_the_log_density_in_the_new_coordinates(d):
    x, log_density = student(0, 200, d, 3.0)
    s = np.asarray(jax.jit(jax.vmap(jax.grad(log_density)))(jnp.asarray(x)))
    tail = StudentTail.of(x, s)
    y, scores = tail.drawn_in(x, s)
    total, back = tail.freedom + d, jnp.linalg.inv(tail.factor)

    def original(point):
        squared = point @ point
        return tail.centre + point * jnp.sqrt(tail.freedom * jnp.expm1(squared / total) / squared) @ back

    def drawn_in(point):
        return log_density(original(point)) + jnp.linalg.slogdet(jax.jacfwd(original)(point))[1]

    np.testing.assert_allclose(jax.jit(jax.vmap(original))(jnp.asarray(y)), x, rtol=1e-9, atol=1e-9)
    slopes = np.asarray(jax.jit(jax.vmap(jax.grad(drawn_in)))(jnp.asarray(y)))
    np.testing.assert_allclose(scores, slopes, rtol=1e-7, atol=1e-7 * np.abs(slopes).max())


def test_the_centre_itself_is_no_division_by_zero():
    x, log_density = student(0, 100, 2, 3.0)
    s = np.asarray(jax.vmap(jax.grad(log_density))(jnp.asarray(x)), dtype=float)
    tail = StudentTail.of(x, s)
    steps = tail.centre + np.array([[0.0, 0.0], [1e-9, 0.0], [1e-2, 0.0]])
    y, scores = tail.drawn_in(steps, np.zeros((3, 2)))
    assert np.isfinite(y).all() and np.isfinite(scores).all() and not scores[0].any()


def test_what_is_drawn_in_has_the_tail_of_a_gaussian():
    x, log_density = student(1, 4000, 3, 3.0)
    s = np.asarray(jax.vmap(jax.grad(log_density))(jnp.asarray(x)), dtype=float)
    y, scores = StudentTail.of(x, s).drawn_in(x, s)
    after = StudentTail.of(y, scores)
    assert after is None or after.at_most > 50


@settings(max_examples=20, deadline=None)
@given(
    scale=st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=2),
    shift=st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=2),
    seed=st.integers(0, 5),
)
def test_units_and_the_order_of_rows_do_not_matter(scale, shift, seed):
    x, log_density = student(seed, 80, 2, 4.0)
    s = np.asarray(jax.vmap(jax.grad(log_density))(jnp.asarray(x)), dtype=float)
    mixed = np.random.default_rng(seed).permutation(len(x))
    moved, slopes = (x * scale + shift)[mixed], (s / scale)[mixed]
    mine, other = StudentTail.of(x, s), StudentTail.of(moved, slopes)
    assert mine.freedom == pytest.approx(other.freedom, rel=1e-6)
    for a, b in zip(mine.drawn_in(x, s), other.drawn_in(moved, slopes), strict=True):
        np.testing.assert_allclose(a[mixed], b, rtol=1e-5, atol=1e-5 * np.abs(a).max())


def test_no_tail_is_seen_in_few_points_or_where_scores_vanish():
    x = np.random.default_rng(0).standard_t(3, size=(100, 2))
    s = -5 * x / (3 + np.sum(x**2, axis=1, keepdims=True))
    assert StudentTail.of(x[:20], s[:20]) is None and StudentTail.of(x, s * [1.0, 0.0]) is None
    assert StudentTail.of(x, 0 * s) is None


def test_rows_keep_their_order_their_chains_and_their_duplicates():
    x, log_density = student(2, 60, 2, 3.0)
    x = np.repeat(x, 2, axis=0)
    s = np.asarray(jax.vmap(jax.grad(log_density))(jnp.asarray(x)), dtype=float)
    shape = (2, 60)
    tasks = Tasks.shared(
        x.reshape(*shape, 2), s.reshape(*shape, 2), np.stack([x[:, 0], x[:, 1]], -1).reshape(*shape, 2)
    )
    prepared = Prepared.of(tasks)
    tail = tail_of(prepared)
    drawn = seen_as(prepared, tail.drawn_in)
    assert drawn.tasks.share_points and drawn.tasks[0].chains == shape and drawn.tasks.names == tasks.names
    again = Prepared.of(drawn.tasks)
    assert all(len(a.values) == len(b.values) == 60 for a, b in zip(drawn.distinct, again.distinct, strict=True))
    np.testing.assert_array_equal(drawn.distinct[1].values, prepared.distinct[1].values)
    np.testing.assert_allclose(drawn.tasks[1].points, tail.drawn_in(x, s)[0], rtol=1e-9, atol=1e-9)


def test_a_gaussian_is_left_as_it_is():
    x = np.random.default_rng(3).normal(size=(300, 3))
    assert tail_of(Prepared.of(Tasks(Task(x, -x, x[:, 0])))) is None


def margins(seed, n=200):
    """A logistic coordinate, one of Student's t with 4 degrees of freedom, and two that are jointly normal."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([3 + 2 * rng.logistic(size=n), rng.standard_t(4, size=n), rng.normal(size=(n, 2))])
    x[:, 3] += x[:, 2]

    def log_density(z):
        logistic, normal = (z[0] - 3) / 2, z[2] ** 2 + (z[3] - z[2]) ** 2
        return -logistic - 2 * jnp.log1p(jnp.exp(-logistic)) - 2.5 * jnp.log1p(z[1] ** 2 / 4) - normal / 2

    return x, np.asarray(jax.vmap(jax.grad(log_density))(jnp.asarray(x)), dtype=float)


@float64
def test_axes_with_heavy_tails_of_their_own_are_drawn_in_one_by_one():
    x, s = margins(0)
    tail = tail_of(Prepared.of(Tasks([Task(x, s, x[:, 0])])))
    assert isinstance(tail, AxisTails) and sorted(tail.tails) == [0, 1]
    y, scores = tail.drawn_in(x, s)
    np.testing.assert_array_equal(y[:, 2:], x[:, 2:])
    np.testing.assert_array_equal(scores[:, 2:], s[:, 2:])
    for axis in (0, 1):
        alone = tail.tails[axis].drawn_in(x[:, [axis]], s[:, [axis]])
        np.testing.assert_array_equal(np.column_stack([y[:, axis], scores[:, axis]]), np.hstack(alone))


def test_axes_that_lean_on_others_are_left_as_they_are():
    """Of ten samples of a funnel, of a normal whose axes are correlated, and of 50 normal axes none is drawn in."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        v = rng.normal(size=100)
        x = np.column_stack([v, np.exp(v / 2) * rng.normal(size=100)])
        funnel = np.column_stack([-v + (x[:, 1] ** 2 * np.exp(-v) - 1) / 2, -x[:, 1] * np.exp(-v)])
        z = rng.normal(size=(60, 50))
        mixed = z[:, :2] @ np.array([[1.0, 0.6], [0.0, 0.8]])
        precision = np.array([[1.0, -0.6], [-0.6, 1.0]]) / 0.64
        for points, scores in ((x, funnel), (mixed, -mixed @ precision), (z, -z)):
            assert tail_of(Prepared.of(Tasks([Task(points, scores, points[:, 0])]))) is None
