"""A machine with room for few rows, so that small samples are large, and a problem of exp, cos and a cube."""

import numpy as np
import pytest
from random_walks import metropolis

from vvcv.data import lazy
from vvcv.estimation import large_ladder
from vvcv.large import look, rows

ROWS, DIMENSION = 2400, 2
DIRECTION = np.array([0.6, -0.4])


@pytest.fixture
def small_machine(monkeypatch):
    """Room for 500 rows, models tuned on 120, and chunks that are not put together."""
    for module in (lazy, large_ladder):
        monkeypatch.setattr(module, "largest_system", lambda: 500)
    monkeypatch.setattr(look, "PILOT_ROWS", 120)
    monkeypatch.setattr(rows, "LEAST_BLOCK", 1)


def integrands(points):
    along = points @ DIRECTION
    return np.stack([np.exp(along), np.cos(2 * along), points[..., 0] ** 2 * points[..., 1] + 1], axis=-1)


@pytest.fixture(scope="session")
def sample():
    """Points, scores and values of independent rows."""
    points = np.random.default_rng(7).normal(size=(ROWS, DIMENSION))
    return points, -points, integrands(points)


@pytest.fixture(scope="session")
def skewed():
    """Independent rows of a density on which the images of a polynomial depend on the units of its axes."""
    draws, units = np.random.default_rng(6).gamma(8.0, size=(ROWS, DIMENSION)), np.array([1.0, 3.0])
    points = units * np.log(draws)
    return points, (8.0 - draws) / units, integrands(points - points.mean(axis=0))


@pytest.fixture(scope="session")
def chains():
    """Four autoregressive chains with the same target."""
    rng = np.random.default_rng(8)
    points = np.empty((4, ROWS // 4, DIMENSION))
    points[:, 0] = rng.normal(size=(4, DIMENSION))
    for i in range(1, points.shape[1]):
        points[:, i] = 0.8 * points[:, i - 1] + 0.6 * rng.normal(size=(4, DIMENSION))
    return points, -points, integrands(points)


@pytest.fixture(scope="session")
def repeating():
    """Four Metropolis chains, two thirds of whose rows repeat the one before them."""
    points = metropolis(seed=9, draws=ROWS // 4)
    return points, -points, integrands(points)
