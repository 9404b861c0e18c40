"""Modes far apart are seen, at any share and in any coordinates; tails, skewness and bends are no modes."""

from __future__ import annotations

import numpy as np
import pytest

from vvcv.checks import check
from vvcv.data import Task, in_separate_groups

RUNS = 20


def modes(seed: int, d: int, distance: float, share: float, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, d])
    x = rng.normal(size=(n, d))
    x[: round(share * n), 0] += distance
    x = rng.permutation(x)
    odds = share / (1 - share) * np.exp(distance * x[:, 0] - distance**2 / 2)
    scores = -x
    scores[:, 0] += distance * odds / (1 + odds)
    return x, scores


def banana(rng, n, d):
    x = rng.normal(size=(n, d))
    pull = x[:, 1] / 0.3
    scores = -x
    x[:, 1] = x[:, 0] ** 2 - 1 + 0.3 * x[:, 1]
    scores[:, 0], scores[:, 1] = 2 * x[:, 0] * pull - x[:, 0], -pull
    return x, scores


def funnel(rng, n, d):
    v, z = 1.5 * rng.normal(size=(n, 1)), rng.normal(size=(n, d - 1))
    by_v = -v / 1.5**2 + 0.5 * np.sum(z**2 - 1, axis=1, keepdims=True)
    return np.hstack([v, np.exp(v / 2) * z]), np.hstack([by_v, -np.exp(-v / 2) * z])


def student(rng, n, d):
    x = rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)
    return x, -(3 + d) * x / (3 + np.sum(x**2, axis=1, keepdims=True))


def correlated(rng, n, d):
    x = 0.1 * rng.normal(size=(n, d)) + np.sqrt(0.99) * rng.normal(size=(n, 1))
    return x, -x @ np.linalg.inv(0.01 * np.eye(d) + 0.99)


def exponential(rng, n, d):
    x = rng.exponential(size=(n, d))
    return np.log(x), 1 - x


def uniform(rng, n, d):
    return rng.random((n, d)), np.zeros((n, d))


@pytest.mark.parametrize("d", [1, 3, 10])
@pytest.mark.parametrize("distance", [6.0, 10.0])
@pytest.mark.parametrize("share", [0.5, 0.3, 0.05])
def test_modes_far_apart_are_seen(d, distance, share):
    """Power of at least 95 %: three misses in 20 have probability below 8 %, none is seen in most rows."""
    assert sum(in_separate_groups(*modes(seed, d, distance, share)) for seed in range(RUNS)) >= RUNS - 2


@pytest.mark.parametrize("target", [banana, funnel, student, correlated, exponential, uniform])
@pytest.mark.parametrize(("n", "d"), [(30, 2), (200, 5), (200, 20), (1000, 2)])
def test_one_cloud_of_any_shape_is_no_two(target, n, d):
    """False alarms below 1 %: two in 20 have probability below 2 %."""
    found = [in_separate_groups(*target(np.random.default_rng([seed, n, d]), n, d)) for seed in range(RUNS)]
    assert sum(found) <= 1


def test_even_modes_are_seen_without_scores_in_any_units():
    x, _ = modes(0, 5, 10.0, 0.5)
    assert in_separate_groups(x) and in_separate_groups(x * [1e-3, 1, 10, 1e5, 1])
    assert not in_separate_groups(np.random.default_rng(0).normal(size=(200, 5)))


def test_repeated_points_are_no_groups_and_degenerate_points_no_error():
    x = np.random.default_rng(0).normal(size=(12, 2))
    assert not in_separate_groups(np.tile(x, (10, 1)), np.tile(-x, (10, 1)))
    assert not in_separate_groups(np.ones((50, 2)), np.zeros((50, 2)))


def test_separate_modes_are_an_alarm_that_says_why():
    x, scores = modes(1, 2, 8.0, 0.1)
    finding = check(Task(x, scores, x[:, 0])).findings[0]
    assert finding.code == "separate-modes" and finding.severity == "warning" and "weight" in finding.message
