"""Metropolis chains, whose rejected proposals repeat rows."""

import numpy as np


def metropolis(seed: int, draws: int) -> np.ndarray:
    """Points `(4, draws, 2)` of four random walks under a standard normal."""
    rng = np.random.default_rng(seed)
    points, here = np.empty((4, draws, 2)), rng.normal(size=(4, 2))
    for i in range(draws):
        proposed = here + 1.7 * rng.normal(size=here.shape)
        ratio = (np.sum(here**2, axis=1) - np.sum(proposed**2, axis=1)) / 2
        here = np.where(np.log(rng.uniform(size=4))[:, None] < ratio[:, None], proposed, here)
        points[:, i] = here
    return points
