"""Where all else is Gaussian given one scale, the law of the target is known: a Gaussian's coordinates, exact means."""

import numpy as np
import pytest
from scipy.special import ndtr

from centred_groups import PRIORS, divided, draws, exact, integrands
from vvcv.data.bends import Bends
from vvcv.data.conditional import Diagonal, Whole, conditional
from vvcv.data.known import Known
from vvcv.data.law import Law
from vvcv.data.margin import Margin, ends_of
from vvcv.data.pooled import Pooled
from vvcv.data.squares import squares_of
from vvcv.data.terms import Grown, Line, Square


@pytest.mark.parametrize("lowest", [-np.inf, -1.0])
def test_the_scale_becomes_a_gaussian_even_where_draws_miss_its_neck(lowest):
    x, s = draws(200, seed=1, lowest=lowest)
    bends = Bends.of(x, s)
    z, found = bends.straightened(x, s)
    np.testing.assert_allclose(found[:, -1], -z[:, -1], atol=2e-4)
    grid, p, _ = exact()
    below = [p[grid <= place].sum() for place in x[:, -1]]
    np.testing.assert_allclose(ndtr(z[:, -1]), below, atol=2e-3)


@pytest.mark.parametrize("lowest", [-np.inf, -1.0])
def test_means_squares_and_the_scale_are_told_without_the_draws_that_are_missing(lowest):
    x, s = draws(200, seed=2, lowest=lowest)
    known, values = Bends.of(x, s).known, integrands(x)
    left = values - known.images(x, s, known.sizes(x, values))
    np.testing.assert_allclose((left.mean(axis=0) - exact()[2]) / values.std(axis=0), 0, atol=3e-5)
    assert (left.std(axis=0) < 1e-4 * values.std(axis=0)).all()


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("prior", PRIORS)
def test_means_are_told_whatever_the_prior_of_the_scale_and_the_coordinates(prior, apart):
    x, s = draws(200, seed=6, lowest=-1.0, prior=prior)
    values, (x, s) = np.hstack([x, x**2]), divided(x, s) if apart else (x, s)
    known = Bends.of(x, s).known
    left = values - known.images(x, s, known.sizes(x, values))  # effects, too, where they are mu + exp(v) z
    np.testing.assert_allclose((left.mean(axis=0) - exact(prior)[2][:14]) / values.std(axis=0), 0, atol=1e-4)


def test_the_law_does_not_hang_on_units():
    x, s = draws(200, seed=3)
    unit, shift = np.array([10.0, 1e-3, 1.0, 5.0, 2.0, 1.0, 0.5]), np.arange(7.0)
    known, other = Bends.of(x, s).known, Bends.of(x * unit + shift, s / unit).known
    np.testing.assert_allclose(known.along(x), other.along(x * unit + shift), atol=1e-4)


def test_values_that_are_no_sum_of_known_functions_are_not_taken_for_one():
    x, s = draws(200, seed=4)
    known = Bends.of(x, s).known
    values = np.column_stack([np.cos(x[:, 1]), x[:, 1] ** 2 * x[:, 2], 3 + x[:, 1] - 2 * x[:, 2] ** 2])
    np.testing.assert_array_equal(np.isfinite(known.sizes(x, values)).all(axis=0), [False, False, True])
    assert np.isnan(known.sizes(x[:12], values[:12])).all()  # as many functions as rows


@pytest.mark.parametrize("exponents", [(0, 1), (0, 1, 2)])
def test_images_have_mean_zero_under_a_target_that_the_law_is_wrong_about(exponents):
    v, u = (part.ravel() for part in np.meshgrid(*2 * [np.polynomial.hermite_e.hermegauss(60)[0]]))
    weight = np.outer(*2 * [np.polynomial.hermite_e.hermegauss(60)[1]]).ravel()
    width = 1 / np.sqrt(1 + np.exp(v))
    x = np.column_stack([v, 0.5 + width * u])
    slope = -np.exp(v) * width**2 / 2  # of log width
    s = np.column_stack([-v + slope * (u**2 - 1), -u / width])
    growth, one = 0.3 * np.array(exponents)[:, None], np.eye(1)
    parts = np.array({(0, 1): [0.9, 1.3], (0, 1, 2): [0.9, 0.0, 0.4]}[exponents])[:, None, None]
    pulls = np.array([0.2, 0.1, 0.3])[: len(growth), None]
    wrong = Pooled((0,), np.array([0.1, 0.4]), np.array([1.0, 1.2]), growth, one, one, parts, pulls)
    rest = conditional(wrong)
    law = Law(rest, (Square(0, 1), Line(0, 1), Grown((0.6,))), (-1.1, 0.2, -0.8))
    known = Known(wrong, Margin(0, law, ends_of(law, -8.0, 8.0)))
    images = known.images(x, s, np.eye(known.count))
    assert np.sqrt(weight @ images**2 / weight.sum()).min() > 0.1
    np.testing.assert_allclose(weight @ images / weight.sum(), 0, atol=1e-6)


def pooled_of(growth, parts, pulls):
    """In coordinates as they are; the sum of all parts need not be one."""
    size = len(parts[0]) + growth.shape[1]
    back = np.linalg.cholesky(sum(parts)).T
    turn = np.linalg.inv(back)
    axes = tuple(range(size - growth.shape[1], size))
    return Pooled(axes, np.zeros(size), np.ones(size), growth, turn, back, turn.T @ parts @ turn, pulls @ turn)


def laws():
    """Growths, parts and pulls of groups: one scale, two, and divided by one in noise of known and unknown width."""
    rng = np.random.default_rng(8)
    first, second, third = (root.T @ root for root in rng.normal(size=(3, 2, 3)))
    two = np.array([[0.0, 0.0], [-1.4, 0.0], [0.0, -0.8]])
    yield two, np.array([first, second, third]), np.array([first, second, third]) @ rng.normal(size=3)
    common, own, (off, far) = rng.normal(size=(4, 1)), rng.normal(size=(4, 2)), rng.normal(size=(2, 4))
    zero = np.zeros((2, 2))
    parts = np.array(
        [
            np.eye(3),
            np.block([[common.T @ common + 0.3, np.zeros((1, 2))], [np.zeros((2, 1)), zero]]),
            np.block([[np.zeros((1, 1)), common.T @ own], [own.T @ common, zero]]),
            np.block([[np.zeros((1, 3))], [np.zeros((2, 1)), own.T @ own]]),
        ]
    )
    off, far = (own @ np.linalg.solve(own.T @ own, own.T @ each) for each in (off, far))
    pulls = np.array(
        [
            [0.4, 0.0, 0.0],
            [*(common.T @ off) + 0.2, 0.0, 0.0],
            [*(common.T @ far), *(own.T @ off)],
            [0.0, *(own.T @ far)],
        ]
    )
    noise = np.array([[0.0, 0.0], [0.0, -0.5], [0.9, -0.5], [1.8, -0.5]])
    yield noise, parts, pulls
    known = np.array([[0.0], [0.9], [1.8]])
    yield known, np.array([parts[0] + parts[1], *parts[2:]]), np.array([pulls[0] + pulls[1], *pulls[2:]])


@pytest.mark.parametrize("which", range(3))
def test_means_and_covariances_given_scales_are_those_of_precision_and_pull(which):
    growth, parts, pulls = list(laws())[which]
    v = np.random.default_rng(9).normal(size=(15, growth.shape[1]))
    rest, h = conditional(pooled_of(growth, parts, pulls)), 1e-5
    growing, pairs = np.exp(v @ growth.T), (np.array([0, 1, 2]), np.array([2, 1, 0]))
    covariance = np.linalg.inv(np.tensordot(growing, parts, 1))
    mean, some, moved = rest.given(v, pairs, np.ones((15, 3)))
    np.testing.assert_allclose(mean[:, :3], (covariance @ (growing @ pulls)[:, :, None])[:, :, 0], rtol=1e-8)
    np.testing.assert_allclose(some, covariance[:, *pairs], rtol=1e-8)
    np.testing.assert_allclose(moved[:, :3], covariance.sum(axis=2), atol=1e-8)
    slope = rest.slope(v)
    for axis, step in enumerate(h * np.eye(growth.shape[1])):
        found = (rest.height(v + step) - rest.height(v - step)) / (2 * h)
        np.testing.assert_allclose(slope[:, axis], found, atol=1e-7)


def test_parts_that_are_diagonal_together_leave_what_any_sum_of_squares_does():
    parts, pulls = np.array([np.diag([0.4, 0.7]), np.diag([0.6, 0.3])]), np.array([[0.3, -0.2], [0.5, 0.1]])
    pooled = pooled_of(np.array([[0.0], [-1.4]]), parts, pulls)
    v, pairs, score = np.linspace(-4, 3, 15)[:, None], (np.array([0, 0]), np.array([0, 1])), np.ones((15, 2))
    diagonal, whole = Diagonal(pooled), Whole(squares_of(pooled))
    for mine, other in zip(diagonal.given(v, pairs, score), whole.given(v, pairs, score), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-12)
    np.testing.assert_allclose(diagonal.slope(v), whole.slope(v), atol=1e-9)
    np.testing.assert_allclose(diagonal.scores(v, score), whole.scores(v, score), rtol=1e-9)
    apart = diagonal.height(v) - whole.height(v)
    np.testing.assert_allclose(apart, apart[0], atol=1e-9)


def test_places_beyond_all_draws_are_answered():
    x, s = draws(200, seed=7)
    bends, far = Bends.of(x, s), np.repeat(x[:1], 3, axis=0)
    far[:, -1] = [-300.0, -30.0, 8.0]
    with np.errstate(over="ignore"):
        assert np.isfinite(bends.known.along(far)).all()
    assert (np.diff(bends.known.along(far)) > 0).all()


def test_a_density_that_rises_outside_its_draws_is_none():
    x, s = draws(200, seed=5)
    s[:, -1] += 3 * np.exp(-0.5 * x[:, -1])  # no density: it grows without end on the right
    bends = Bends.of(x, s)
    assert bends is None or bends.known is None
