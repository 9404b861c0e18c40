"""Student's t is known from its scores exactly, and squares are followed under it from few points."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

import vvcv
from vvcv.data import Tasks, student
from vvcv.data.student import student_law
from vvcv.data.tails import StudentTail, TailWeight
from vvcv.runtime.precision import float64


def turned(seed, n, d, freedom):
    """Points of a t that is neither round nor centred, their scores, its centre and its precision."""
    rng = np.random.default_rng([seed, d])
    root, centre = np.tril(rng.normal(size=(d, d))) + 3 * np.eye(d), 10 * rng.normal(size=d)
    z = rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(freedom, size=(n, 1)) / freedom)
    x, precision = centre + z @ root.T, np.linalg.inv(root @ root.T)
    return (
        x,
        -(freedom + d) * (x - centre) @ precision / (freedom + np.sum(z**2, axis=1, keepdims=True)),
        centre,
        precision,
    )


@pytest.mark.parametrize("freedom", [1.5, 3.0, 8.0, 20.0])
@pytest.mark.parametrize("d", [1, 2, 5, 10])
def test_forty_points_tell_centre_units_and_degrees_of_freedom(d, freedom):
    x, s, centre, precision = turned(0, 40, d, freedom)
    law = student_law(x, s, 6.0, 1 + np.sum((x - np.median(x, axis=0)) ** 2, axis=1) / 60, np.arange(d))
    assert law.freedom == pytest.approx(freedom, rel=1e-6)
    np.testing.assert_allclose(law.centre, centre, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(law.factor @ law.factor.T, precision, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_units_and_origins_do_not_matter(unit):
    x, s, centre, _ = turned(1, 60, 3, 5.0)
    law = StudentTail.of(x * unit - 300 * unit, s / unit)
    assert law.freedom == pytest.approx(5.0, rel=1e-6)
    np.testing.assert_allclose(law.centre / unit + 300, centre, rtol=1e-6)


def test_no_other_target_is_taken_for_one():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = rng.logistic(size=(60, 2))
        y = np.log(rng.gamma(1.0, size=(60, 2)))
        for points, scores in ((x, -np.tanh(x / 2)), (y, 1 - np.exp(y)), (x, rng.normal(size=x.shape))):
            assert student_law(points, scores, 6.0, 1 + np.sum(points**2, axis=1) / 6, np.arange(2)) is None


def test_a_gaussian_has_no_tail():
    x = np.random.default_rng(3).normal(size=(100, 3))
    tail = StudentTail.of(x, -x)
    assert tail is None or not tail.heavy


@float64
def test_scores_under_the_weight_are_the_slope_of_the_density_times_it():
    x, s, centre, precision = turned(2, 50, 3, 4.0)
    weight = TailWeight(StudentTail.of(x, s))
    squared = lambda point: (point - centre) @ precision @ (point - centre)  # noqa: E731
    slopes = jax.vmap(jax.grad(lambda point: -7 / 2 * jnp.log1p(squared(point) / 4) + jnp.log1p(squared(point) / 4)))
    np.testing.assert_allclose(weight.drawn(x, s)[1], slopes(jnp.asarray(x)), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(weight.weight(x), 1 + np.array([squared(row) for row in x]) / 4, rtol=1e-6)


def test_stein_images_under_the_weight_times_it_have_mean_zero():
    x = stats.t(5).rvs(size=(80, 1), random_state=0)
    weight = TailWeight(StudentTail.of(x, -6 * x / (5 + x**2)))

    def integrand(y):
        point = np.array([[y]])
        score = weight.drawn(point, -6 * point / (5 + point**2))[1][0, 0]
        return weight.weight(point)[0] * (np.cos(y) + np.sin(y) * score) * stats.t(5).pdf(y)

    assert integrate.quad(integrand, -200, 200, limit=500)[0] == pytest.approx(0.0, abs=1e-4)


def test_squares_are_known_from_forty_points_of_a_t(monkeypatch):
    """Measured without the law: off by .03 to .31, up to four error bars."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(40, 4)) / np.sqrt(rng.chisquare(8, size=(40, 1)) / 8)
    s = -12 * x / (8 + np.sum(x**2, axis=1, keepdims=True))
    tasks, exact = Tasks.shared(x, s, np.column_stack([x**2, x[:, 0] * x[:, 1]])), np.array([8 / 6] * 4 + [0.0])
    known = vvcv.estimate(tasks, check=False)
    assert (np.abs(known.mean - exact) <= 1e-4).all() and (np.abs(known.mean - exact) <= 4 * known.std_error).all()
    monkeypatch.setattr(student, "EXACT", -1.0)
    guessed = vvcv.estimate(tasks, check=False)
    assert np.abs(guessed.mean - exact).max() > 100 * np.abs(known.mean - exact).max()


def test_tasks_on_points_of_their_own_have_the_weight_one_by_one():
    rng, tasks = np.random.default_rng(5), []
    for n in (60, 50):
        x = rng.normal(size=(n, 2)) / np.sqrt(rng.chisquare(6, size=(n, 1)) / 6)
        tasks.append(vvcv.Task(x, -8 * x / (6 + np.sum(x**2, axis=1, keepdims=True)), x[:, 0] ** 2 + len(tasks)))
    estimate = vvcv.estimate(tasks, check=False)
    np.testing.assert_allclose(estimate.mean, [1.5, 2.5], atol=1e-3)
    assert (np.abs(estimate.mean - [1.5, 2.5]) <= 4 * estimate.std_error).all()
