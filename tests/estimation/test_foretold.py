"""Estimates of a target whose law is known: exact, at once, and open about draws that miss a part of it."""

import numpy as np
import pytest

import noisy_groups
import vvcv
from centred_groups import draws, exact, integrands, scores_of_groups
from vvcv.checks.visited import FALSE_ALARM


def estimate(x, s, values, **settings):
    return vvcv.estimate(vvcv.Tasks.shared(x, s, values), progress=False, **settings)


def test_a_posterior_summary_of_centred_groups_is_exact_from_draws_that_miss_the_neck():
    x, s = draws(300, seed=10, lowest=-0.5)
    found = estimate(x, s, integrands(x), on_alarm="ignore")
    spread = integrands(x).std(axis=0)
    assert np.abs((found.mean - exact()[2]) / spread).max() < 1e-4
    assert (np.abs(found.mean - exact()[2]) < 3 * found.std_error).all()
    assert (found.std_error < 1e-3 * spread).all()
    assert all("law of its scales" in words for words in found.kernel)
    left = integrands(x)[:, 6] - found.control_variate(x, s, 6)
    assert left.mean() == pytest.approx(found.mean[6], abs=1e-9)


def test_effects_of_groups_that_are_divided_by_their_scale_are_told_in_noise_of_unknown_width():
    x, s = noisy_groups.draws(250, 14, ("half-normal", "half-normal"))
    values = np.hstack([x, x**2])  # of mu + tau z, not of z
    found = estimate(*noisy_groups.divided(x, s), values, on_alarm="ignore")
    off = np.abs(found.mean - noisy_groups.exact(("half-normal", "half-normal"))[2])
    assert (off < 1e-4 * values.std(axis=0)).all() and (off < 2 * found.std_error).all()
    assert all("law of its scales" in words for words in found.kernel)


def test_other_integrands_are_fitted_beside_those_that_are_known():
    x, s = draws(120, seed=11)
    values = np.column_stack([x[:, 1], np.tanh(x[:, 1] + x[:, 2])])
    found = estimate(x, s, values, on_alarm="ignore", check=False)
    assert "law of its scales" in found.kernel[0]
    assert "law of its scales" not in found.kernel[1]
    assert 0 < found.std_error[1] < found.monte_carlo.std_error[1] / 3


def test_a_part_of_the_target_that_draws_miss_raises_an_alarm_and_is_told_in_numbers():
    x, s = draws(300, seed=12, lowest=-0.5)
    with pytest.warns(vvcv.AlarmWarning, match="of the target lies beyond all 300 draws"):
        found = estimate(x, s, x[:, :1])
    assert "unvisited" in [finding.code for finding in found.check]


def test_draws_of_the_whole_target_raise_none():
    """Of 12 samples one raises an alarm by chance in 6 % of cases."""
    assert FALSE_ALARM == 0.005
    for seed in range(12):
        x, s = draws(200, seed=100 + seed)
        found = estimate(x, s, x[:, :1], on_alarm="ignore")
        assert "unvisited" not in [finding.code for finding in found.check or ()]


def test_a_rung_that_is_named_answers_as_itself():
    x, s = draws(80, seed=13)
    found = estimate(x, s, x[:, :2], method="cf", on_alarm="ignore", check=False)
    assert found.methods == ("cf", "cf")
    assert (np.abs(found.mean - exact()[2][:2]) < 4 * found.std_error).all()


def test_a_draw_deep_in_the_neck_where_rounding_decides_has_no_say():
    x, s = draws(300, seed=15)
    x[0, -1] = -17.0  # effects of a scale of e^-17, as exact as numbers are
    x[0, 1:-1] = x[0, 0] + np.exp(-17.0) * np.linspace(-1, 1, 5)
    s[0] = scores_of_groups(*(part[:1] for part in (x[:, 0], x[:, 1:-1], x[:, -1])), "half-normal")[0]
    found = estimate(x, s, integrands(x), on_alarm="ignore")
    assert all("law of its scales" in words for words in found.kernel)
    assert (np.abs(found.mean - exact()[2]) < 2 * found.std_error).all()
