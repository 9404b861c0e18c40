"""Functions of many directions, of which few points for each dimension tell little: no harm, and honest bars."""

import numpy as np

import vvcv
from vvcv.candidates.kernel import Options
from vvcv.candidates.rungs import KernelFits
from vvcv.data import LEADING
from vvcv.tuning import chance

SEEDS = range(6)


def waves_in_all_directions(seed, n=100, d=30):
    """sum_r cos z_r + (z_1 + z_2 + z_3)^3 / 5 along turned axes z."""
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(d, d)))[0]
    x = np.random.default_rng([seed, n, d]).normal(size=(n, d))
    z = x @ turn
    return vvcv.Task(x, -x, np.cos(z).sum(axis=1) + z[:, :3].sum(axis=1) ** 3 / 5), d * np.exp(-0.5)


def errors_and_bars():
    found = []
    for seed in SEEDS:
        task, exact = waves_in_all_directions(seed)
        estimate = vvcv.estimate(task, check=False)
        plain = estimate.monte_carlo
        found.append((estimate.mean[0] - exact, estimate.std_error[0], plain.mean[0] - exact))
    return np.array(found).T


def test_what_is_chosen_by_chance_is_not_believed(monkeypatch):
    errors, bars, plain = errors_and_bars()
    monkeypatch.setattr(chance, "CLEARLY_FOLLOWED", np.inf)
    before, sure, _ = errors_and_bars()
    assert np.sqrt(np.mean((errors / bars) ** 2)) < 0.5 * np.sqrt(np.mean((before / sure) ** 2))
    assert np.sqrt(np.mean(errors**2)) < 0.7 * np.sqrt(np.mean(before**2))
    assert np.sqrt(np.mean(errors**2)) < 1.1 * np.sqrt(np.mean(plain**2))


def test_a_function_that_is_followed_keeps_a_weight_for_each_axis():
    x = np.random.default_rng(5).normal(size=(60, 8))
    estimate = vvcv.estimate(vvcv.Task(x, -x, np.exp(x[:, 0] / 2) + np.sin(x[:, 3])))
    assert "for each axis" in estimate.kernel[0]


def test_directions_that_values_have_led_count_as_parameters():
    x = np.random.default_rng(5).normal(size=(60, 8))
    prepared = Options().prepared(vvcv.Tasks([vvcv.Task(x, -x, np.exp(x.sum(axis=1) / np.sqrt(8)))]))
    led = [fit for fit in KernelFits(prepared, Options()).scalar[0] if fit.found.system == LEADING]
    assert led and all(fit.found.turned == 7 for fit in led)  # one direction of eight axes
    for fit in led:
        assert fit.hidden == np.exp((fit.found.tuned.free + 7) / 60)
