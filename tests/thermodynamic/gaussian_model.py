"""A model whose power posteriors and evidence are known: x ~ N(0, 1) in each coordinate, y ~ N(x, noise^2)."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

NOISE = 0.4
Y = np.array([0.7, -0.3])


def gaussian_path(seed: int, temperatures: int = 9, draws: int = 10, d: int = 1, shift: float = 0.0) -> SimpleNamespace:
    """Independent draws of every power posterior as a sampler would hand them over."""
    rng, y = np.random.default_rng(seed), Y[:d]
    t = np.linspace(0, 1, temperatures) ** 3
    precision = 1 + t / NOISE**2
    centre = t[:, None] * y / NOISE**2 / precision[:, None]
    x = centre[:, None, :] + rng.normal(size=(temperatures, draws, d)) / np.sqrt(precision)[:, None, None]
    constant = d * np.log(NOISE * np.sqrt(2 * np.pi))
    variance = 1 + NOISE**2
    exact = shift - 0.5 * np.sum(y**2) / variance - 0.5 * d * np.log(2 * np.pi * variance)
    spread = centre - y
    mean = -0.5 * (d / precision + np.sum(spread**2, axis=1)) / NOISE**2 - constant + shift
    return SimpleNamespace(
        temperatures=t,
        points=x,
        log_likelihoods=-0.5 * np.sum((x - y) ** 2, axis=-1) / NOISE**2 - constant + shift,
        scores_likelihood=(y - x) / NOISE**2,
        scores_prior=-x,
        exact=exact,
        exact_means=mean,
        exact_variances=(0.5 * d / precision**2 + np.sum(spread**2, axis=1) / precision) / NOISE**4,
    )
