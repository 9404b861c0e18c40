"""Probabilities and quantiles: right within their error bars, and honest about small gains."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import vvcv


def normal(seed: int, n: int = 300) -> vvcv.Tasks:
    x = np.random.default_rng([seed, 7]).normal(size=(n, 1))
    return vvcv.Tasks.shared(x, -x, np.exp(x), names=["growth"])


@pytest.mark.parametrize("prob", [0.1, 0.5, 0.9])
def test_intervals_of_quantiles_hold_the_exact_ones_and_are_narrower_than_plain_ones(prob):
    held, gains = 0, []
    for seed in range(40):
        found = vvcv.quantile(normal(seed), "growth", prob, method="zv", check=False)
        low, high = found.interval()
        held += bool(low <= np.exp(norm.ppf(prob)) <= high)
        gains.append(float(found.gain))
    assert held >= 33  # of 40; at a coverage of 95 % fewer are held once in a thousand
    assert 1.2 < np.median(gains) < 20


def test_the_probability_of_an_event_is_the_mean_of_its_indicator():
    tasks = normal(0)
    found = vvcv.probability(tasks, "growth", below=1.0, method="mc")
    assert found.value == np.mean(tasks[0].values <= 1) and found.gain == 1
    better = vvcv.probability(tasks, "growth", below=1.0, method="zv")
    assert abs(better.value - 0.5) < 3 * better.std_error and better.std_error < found.std_error


def test_what_draws_cannot_tell_is_refused():
    with pytest.raises(ValueError, match="five different draws"):
        vvcv.quantile(normal(0), "growth", 0.001)
    with pytest.raises(ValueError, match="strictly between"):
        vvcv.quantile(normal(0), "growth", 95)
    with pytest.raises(ValueError, match="no task named"):
        vvcv.quantile(normal(0), "decline", 0.5)
