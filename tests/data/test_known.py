"""Where all else is Gaussian given one scale, the law of the target is known: a Gaussian's coordinates, exact means."""

import numpy as np
import pytest
from scipy.special import ndtr

from centred_groups import PRIORS, divided, draws, exact, integrands
from vvcv.data.bends import Bends
from vvcv.data.conditional import Diagonal, Whole, conditional
from vvcv.data.known import Known
from vvcv.data.margin import LINEAR, Law, Margin, ends_of
from vvcv.data.pooled import Pooled


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
    left = values - known.images(x, s) @ known.sizes(x, values)
    np.testing.assert_allclose((left.mean(axis=0) - exact()[2]) / values.std(axis=0), 0, atol=3e-5)
    assert (left.std(axis=0) < 1e-4 * values.std(axis=0)).all()


#: Of a uniform prior the tail is so long that divided groups lose all digits on the way to its end, and are fitted.
CASES = [(prior, False) for prior in PRIORS] + [(prior, True) for prior in PRIORS if prior != "uniform"]


@pytest.mark.parametrize(("prior", "apart"), CASES)
def test_means_are_told_whatever_the_prior_of_the_scale(prior, apart):
    x, s = draws(200, seed=6, lowest=-1.0, prior=prior)
    x, s = divided(x, s) if apart else (x, s)
    known, values = Bends.of(x, s).known, np.hstack([x, x**2])
    left = values - known.images(x, s) @ known.sizes(x, values)
    same = [0, 6, 7, 13] if apart else range(14)  # of mu and v, or of all
    off = (left.mean(axis=0) - exact(prior)[2][:14]) / values.std(axis=0)
    np.testing.assert_allclose(off[same], 0, atol=1e-4)


def test_the_law_does_not_hang_on_units():
    x, s = draws(200, seed=3)
    unit, shift = np.array([10.0, 1e-3, 1.0, 5.0, 2.0, 1.0, 0.5]), np.arange(7.0)
    known, other = Bends.of(x, s).known, Bends.of(x * unit + shift, s / unit).known
    np.testing.assert_allclose(known.along(x), other.along(x * unit + shift), atol=1e-4)


def test_values_that_are_no_sum_of_known_functions_are_not_taken_for_one():
    x, s = draws(200, seed=4)
    known = Bends.of(x, s).known
    values = np.column_stack([np.cos(x[:, 1]), x[:, 1] * x[:, 2], 3 + x[:, 1] - 2 * x[:, 2] ** 2])
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
    parts, pulls = np.array([0.9, 1.3, 0.2])[: len(growth), None, None], np.array([0.2, 0.1, 0.3])[: len(growth), None]
    wrong = Pooled((0,), np.array([0.1, 0.4]), np.array([1.0, 1.2]), growth, one, one, parts, pulls)
    rest = conditional(wrong)
    law = Law(rest, (LINEAR, 0, 2 if rest.speed > 0 else -2), (-1.1, 0.2, -0.5))
    known = Known(wrong, Margin(0, law, ends_of(law, -8.0, 8.0)))
    images = known.images(x, s)
    assert np.sqrt(weight @ images**2 / weight.sum()).min() > 0.1
    np.testing.assert_allclose(weight @ images / weight.sum(), 0, atol=1e-6)


def test_what_integrating_out_leaves_has_the_slope_it_says_and_both_ways_agree():
    parts, pulls = np.array([np.diag([0.4, 0.7]), np.diag([0.6, 0.3])]), np.array([[0.3, -0.2], [0.5, 0.1]])
    pooled = Pooled((0,), np.zeros(3), np.ones(3), np.array([[0.0], [-1.4]]), np.eye(2), np.eye(2), parts, pulls)
    v, h = np.linspace(-4, 3, 15), 1e-5
    for rest in (Diagonal(pooled), Whole(pooled)):
        height, slope = rest.integrated(v)
        np.testing.assert_allclose(slope, (rest.integrated(v + h)[0] - rest.integrated(v - h)[0]) / (2 * h), atol=1e-8)
        given = rest.given(v, np.eye(2), np.ones((15, 2)))
        for mine, other in zip(given, Whole(pooled).given(v, np.eye(2), np.ones((15, 2))), strict=True):
            np.testing.assert_allclose(mine, other, atol=1e-12)
        np.testing.assert_allclose(given[2] ** 2, given[1], atol=1e-12)
    apart = Diagonal(pooled).integrated(v)[0] - height
    terms = np.column_stack([np.ones_like(v), np.exp(-1.4 * v)])  # which the law has of its own
    assert np.abs(apart - terms @ np.linalg.lstsq(terms, apart)[0]).max() < 1e-9


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
