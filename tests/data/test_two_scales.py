"""Groups in noise of unknown width: the law of two scales, on a lattice, and exact means of what hangs on them."""

import numpy as np
import pytest
from scipy.special import ndtr

import noisy_groups
from vvcv.data.bends import Bends
from vvcv.data.lattice import Lattice
from vvcv.data.law import Law
from vvcv.data.terms import Grown, Line, Square, Turn

PRIORS = [
    ("half-normal", "half-normal"),
    ("half-Cauchy", "half-Cauchy"),
    ("exponential", "inverse gamma"),
    ("lognormal", "exponential"),
    ("uniform", "half-normal"),
]


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("priors", PRIORS)
def test_means_are_told_whatever_the_priors_of_both_scales_and_the_coordinates(priors, apart):
    x, s = noisy_groups.draws(300, 6, priors)
    values, (x, s) = np.hstack([x, x**2]), noisy_groups.divided(x, s) if apart else (x, s)
    known = Bends.of(x, s).known
    left = values - known.images(x, s, known.sizes(x, values))
    assert isinstance(known.margin, Lattice)
    np.testing.assert_allclose((left.mean(axis=0) - noisy_groups.exact(priors)[2]) / values.std(axis=0), 0, atol=3e-5)
    assert (left.std(axis=0) < 2e-4 * values.std(axis=0)).all()


@pytest.mark.parametrize(("groups", "each"), [(5, 60), (32, 3)])
@pytest.mark.parametrize("apart", [False, True])
def test_noise_of_many_values_and_many_groups_are_known(groups, each, apart, monkeypatch):
    monkeypatch.setattr(noisy_groups, "MEANS", np.random.default_rng(groups).normal(1.0, 1.2, groups))
    monkeypatch.setattr(noisy_groups, "EACH", each)
    monkeypatch.setattr(noisy_groups, "WITHIN", 1.2 * groups * (each - 1))
    monkeypatch.setattr(noisy_groups, "exact", noisy_groups.exact.__wrapped__)
    x, s = noisy_groups.draws(300, 9, PRIORS[0])
    exact, values = noisy_groups.exact(PRIORS[0])[2], np.hstack([x, x**2])
    x, s = noisy_groups.divided(x, s) if apart else (x, s)
    known = Bends.of(x, s).known
    left = values - known.images(x, s, known.sizes(x, values))
    np.testing.assert_allclose((left.mean(axis=0) - exact) / values.std(axis=0), 0, atol=3e-5)


def test_the_order_and_the_units_of_coordinates_do_not_matter():
    x, s = noisy_groups.draws(300, 7, PRIORS[0])
    order, unit = np.array([7, 3, 0, 6, 1, 5, 2, 4]), np.array([1.0, 10.0, 1e-3, 1.0, 5.0, 2.0, 0.5, 1.0])
    moved = (x * unit + 1.0)[:, order], (s / unit)[:, order]
    known, other = Bends.of(x, s).known, Bends.of(*moved).known
    values = np.column_stack([x, x[:, 1] * x[:, 2]])
    means = [
        np.mean(values - law.images(*at, law.sizes(at[0], values)), axis=0)
        for law, at in ((known, (x, s)), (other, moved))
    ]
    np.testing.assert_allclose((means[0] - means[1]) / values.std(axis=0), 0, atol=1e-5)


def test_draws_lie_in_a_standard_normal_along_both_scales():
    x, s = noisy_groups.draws(300, 8, PRIORS[0])
    places, p, _ = noisy_groups.exact(PRIORS[0])
    z = Bends.of(x, s).known.along(x)
    for axis, place in enumerate(places):
        grid, cell = np.unique(place, return_inverse=True)
        below = np.interp(x[:, 6 + axis], grid + (grid[1] - grid[0]) / 2, np.cumsum(np.bincount(cell, p)))
        np.testing.assert_allclose(ndtr(z[:, axis]), below, atol=2e-3)


@pytest.mark.parametrize("term", [Line(1, 2), Square(1, 2), Grown((0.3, -0.8)), Turn(1, 2, 1.5, 0.2)])
def test_terms_have_the_slopes_they_say(term):
    v, h = np.random.default_rng(0).normal(size=(9, 2)), 1e-6
    for axis, step in enumerate(h * np.eye(2)):
        found = (term.height(v + step) - term.height(v - step)) / (2 * h)
        np.testing.assert_allclose(term.slope(v)[:, axis], found, atol=1e-8)


class Nothing:
    """Gaussians that do not hang on scales."""

    speeds, divided, by_scale = (1.0, 1.0), None, np.zeros(1, bool)

    def height(self, v):
        return np.zeros(len(v))

    def slope(self, v):
        return np.zeros_like(v)

    def told(self, v):
        return np.ones(len(v))


def test_a_lattice_is_filled_where_the_density_counts_and_sums_are_integrals():
    v = np.random.default_rng(1).normal(size=(200, 2)) * [1.0, 0.5] + [0.3, -0.2]
    lattice = Lattice.of((0, 1), Nothing(), v, (np.array([0.3, -0.2]) - v) / [1.0, 0.25])
    mean, field = lattice.integrated(v, lambda at: np.column_stack([at, at[:, 0] ** 2 * at[:, 1]]))
    np.testing.assert_allclose(mean, [0.3, -0.2, -0.2 * 1.09], atol=1e-6)
    np.testing.assert_allclose(field[0, :2], [[-1.0, 0.0], [0.0, -0.25]], atol=1e-6)


def test_a_law_that_has_no_end_is_none():
    v = np.random.default_rng(2).normal(size=(200, 2))
    assert Lattice.of((0, 1), Nothing(), v, np.column_stack([-v[:, 0], np.full(200, 0.5)])) is None
    assert np.isfinite(Law(Nothing()).height(v)).all()
