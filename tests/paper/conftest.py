"""Small data sets with known targets: two tasks, unequal sizes, one target or two."""

import numpy as np
import pytest

from vvcv.data import Task, Tasks


def low(x):
    return np.sin(x[:, 0]) + 0.5 * x[:, 1] ** 2


def high(x):
    return low(x) + 0.3 * x[:, 0] + 1.0


@pytest.fixture
def one_target():
    """40 and 25 points of N(0, I) in two dimensions."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((40, 2)), rng.standard_normal((25, 2))
    return Tasks([Task(x, -x, low(x), name="low"), Task(y, -y, high(y), name="high")])


def first_score(x):
    return -x


def second_score(x):
    return -(x - 0.5) / 2.0


@pytest.fixture
def two_targets():
    """30 points of N(0, I) and 20 of N(1/2, 2 I); the score functions come with them."""
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((30, 2)), 0.5 + np.sqrt(2.0) * rng.standard_normal((20, 2))
    tasks = Tasks([Task(x, first_score(x), low(x), name="low"), Task(y, second_score(y), high(y), name="high")])
    return tasks, (first_score, second_score)


@pytest.fixture
def related():
    """A task matrix with strong transfer."""
    return np.array([[1.0, 0.8], [0.8, 1.2]])
