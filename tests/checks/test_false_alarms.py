"""Correct scores raise no alarm, on independent draws and on chains.

The nominal rate of false alarms is 0.2 % per data set. With 40 data sets each, more than two alarms have probability
below 1e-4 at that rate, and below 5 % at 2 %, the rate promised.
"""

from __future__ import annotations

import numpy as np
import pytest

from vvcv.checks import check
from vvcv.data import Task

D, DATA_SETS = 5, 40
FACTOR = np.linalg.cholesky(0.5 * np.eye(D) + 0.5)


def chains_of(rng: np.random.Generator, chains: int, draws: int, width: int, rho: float) -> np.ndarray:
    u = rng.normal(size=(chains, draws, width))
    for i in range(1, draws):
        u[:, i] = rho * u[:, i - 1] + np.sqrt(1 - rho**2) * u[:, i]
    return u


def gaussian(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x = u @ FACTOR.T
    return x, -np.linalg.solve(FACTOR @ FACTOR.T, x[..., None])[..., 0]


def log_exponential(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of exponential variables, a skewed target: density exp(x - e^x)."""
    from scipy.special import ndtr

    e = -np.log(ndtr(-u))
    return np.log(e), 1 - e


@pytest.mark.parametrize("target", [gaussian, log_exponential])
@pytest.mark.parametrize(("chains", "draws", "rho"), [(1, 500, 0.0), (4, 125, 0.9), (4, 400, 0.9)])
def test_correct_scores_raise_no_alarm(target, chains, draws, rho):
    alarms = 0
    for seed in range(DATA_SETS):
        x, s = target(chains_of(np.random.default_rng(seed), chains, draws, D, rho))
        task = Task(x[0], s[0], x[0, :, 0]) if chains == 1 else Task(x, s, x[..., 0])
        alarms += not check(task).ok
    assert alarms <= 2


def test_a_flattened_chain_is_told_from_independent_draws_and_its_scores_are_not_accused():
    codes = []
    for seed in range(DATA_SETS):
        x, s = gaussian(chains_of(np.random.default_rng(seed), 1, 500, D, 0.9))
        found = check(Task(x[0], s[0], x[0, :, 0]))
        codes.append([finding.code for finding in found if finding.severity in ("warning", "error")])
    assert sum("chain" in found for found in codes) == DATA_SETS
    assert sum(found != ["chain"] for found in codes) <= 2


@pytest.mark.parametrize("n", [2, 3, 5, 10, 30])
@pytest.mark.parametrize("d", [1, 3, 12])
def test_few_points_are_noted_without_an_alarm(n, d):
    for seed in range(5):
        x = np.random.default_rng(seed).normal(size=(n, d))
        result = check(Task(x, -x, x[:, 0]))
        assert not any(finding.severity == "error" for finding in result)
        assert "few-draws" in result.codes
