"""Few coordinates of groups whose law is known: scores of their own density, against sums over a fine grid."""

import numpy as np
import pytest

import noisy_groups
from vvcv.data.bends import Bends
from vvcv.data.part import NO_LINE, Part

PRIORS = ("half-normal", "half-normal")
EFFECT, SCALES = 1, (6, 7)


def given(v, w):
    """Mean and variance of the first effect given logarithms of scales, and the logarithm of the density of these."""
    noise, means = np.exp(2 * w) / noisy_groups.EACH, noisy_groups.MEANS
    spread = noise + np.exp(2 * v)
    total = len(means) / spread + 1 / 9
    centre, shrunk = means.sum() / spread / total, np.exp(2 * v) / spread
    fit = np.sum(means**2) / spread - total * centre**2
    height = -len(means) * np.log(spread) / 2 - np.log(total) / 2 - fit / 2
    height += -noisy_groups.WITHIN * np.exp(-2 * w) / 2 - len(means) * (noisy_groups.EACH - 1) * w
    height += sum(noisy_groups.PRIORS[prior][0](each) for prior, each in zip(PRIORS, (v, w), strict=True))
    return shrunk * means[0] + (1 - shrunk) * centre, shrunk * noise + (1 - shrunk) ** 2 / total, height


def log_density(theta, v, w):
    mean, variance, height = given(v, w)
    return height - np.log(variance) / 2 - (theta - mean) ** 2 / (2 * variance)


def slopes(density, x):
    """Derivatives of the logarithm of a density, coordinate by coordinate."""
    step = 1e-5 * np.eye(x.shape[1])
    return np.column_stack([(density(*(x + h).T) - density(*(x - h).T)) / 2e-5 for h in step])


@pytest.fixture(scope="module")
def sample():
    x, s = noisy_groups.draws(300, 3, PRIORS)
    return x, s, Bends.of(x, s).known


def seen(known, axes, x, s):
    """Points and scores of a part, in the user's units."""
    points, scores = Part.of(known, axes).seen(x, s)
    at = [*(a for a in known.pooled.axes if a in Part.of(known, axes).axes), *(a for a in axes if a not in SCALES)]
    unit, middle = known.pooled.unit[at], known.pooled.middle[at]
    np.testing.assert_allclose(points * unit + middle, x[:, at])
    return at, scores / unit


def test_an_effect_alone_is_a_mixture_over_the_scales(sample):
    x, s, known = sample
    (v, w), p, _ = noisy_groups.exact(PRIORS)
    mean, variance, _ = given(v[p > 1e-12], w[p > 1e-12])
    off = x[:, [EFFECT]] - mean
    share = p[p > 1e-12] * np.exp(-(off**2) / (2 * variance)) / np.sqrt(variance)
    expected = -np.sum(share * off / variance, axis=1) / share.sum(axis=1)
    _, found = seen(known, (EFFECT,), x, s)
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-4 * expected.std())


@pytest.mark.parametrize("axes", [SCALES[:1], SCALES, (EFFECT, *SCALES)])
def test_with_one_scale_come_all_of_them_and_what_is_gaussian_given_them(sample, axes):
    x, s, known = sample
    at, found = seen(known, axes, x, s)
    assert set(at) == {*SCALES, *axes}
    places = np.array([at.index(axis) for axis in (EFFECT, *SCALES) if axis in at])
    density = log_density if EFFECT in axes else lambda v, w: given(v, w)[2]
    expected = slopes(density, x[:, np.array(at)[places]])
    np.testing.assert_allclose(found[:, places], expected, atol=1e-4 * np.abs(expected).max())


def test_divided_by_their_scale_groups_have_the_same_law_of_scales(sample):
    x, s, known = sample
    other = Bends.of(*noisy_groups.divided(x, s)).known
    at, found = seen(other, SCALES, *noisy_groups.divided(x, s))
    there, expected = seen(known, SCALES, x, s)
    order = [there.index(axis) for axis in at]
    np.testing.assert_allclose(found, expected[:, order], atol=1e-4 * np.abs(expected).max())


def test_places_where_effects_are_all_the_same_are_left_out(sample):
    """Deep in the neck two effects have a correlation of one; scores are numbers all the same."""
    x, s, known = sample
    part = Part.of(known, (1, 2))
    covariance = part._given(known.margin.mixture[0])[1]
    correlation = covariance[:, 0, 1] / np.sqrt(covariance[:, 0, 0] * covariance[:, 1, 1])
    assert (1 - correlation**2 < NO_LINE).any()
    assert np.isfinite(part.seen(x, s)[1]).all()
