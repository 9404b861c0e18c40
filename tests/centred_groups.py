"""Five groups with a common mean and scale, in centred coordinates, of which draws and means are exact."""

from functools import cache

import numpy as np

GROUPS, NOISE = np.array([1.2, -0.4, 0.8, 2.1, 0.3]), np.array([0.6, 1.1, 0.9, 1.5, 0.7])


#: Priors of the scale exp(v): the logarithm of the density of v, and its derivative.
PRIORS = {
    "uniform": (lambda v: v, np.ones_like),
    "half-normal": (lambda v: v - np.exp(2 * v) / 2, lambda v: 1 - np.exp(2 * v)),
    "truncated normal": (lambda v: v - 2 * (np.exp(v) - 0.8) ** 2, lambda v: 1 - 4 * (np.exp(v) - 0.8) * np.exp(v)),
    "half-Cauchy": (lambda v: v - np.log1p(4 * np.exp(2 * v)), lambda v: 1 - 2 / (1 + np.exp(-2 * v) / 4)),
    "exponential": (lambda v: v - np.exp(v), lambda v: 1 - np.exp(v)),
    "lognormal": (lambda v: -((v + 0.5) ** 2), lambda v: -2 * (v + 0.5)),
    "inverse gamma": (lambda v: -6 * v - 2 * np.exp(-2 * v), lambda v: -6 + 4 * np.exp(-2 * v)),
}


def scores_of_groups(mu, theta, v, prior):
    """Of theta_j ~ N(mu, exp(v)^2), y_j ~ N(theta_j, noise_j^2), mu ~ N(0, 3^2)."""
    away = (theta - mu[:, None]) * np.exp(-2 * v)[:, None]
    by_mu = away.sum(axis=1) - mu / 9
    by_v = np.sum(away * (theta - mu[:, None]) - 1, axis=1) + PRIORS[prior][1](v)
    return np.column_stack([by_mu, (GROUPS - theta) / NOISE**2 - away, by_v])


@cache
def exact(prior="half-normal"):
    """Means and squares of (mu, theta, v), exp(v), exp(2 v), and the density of v on a grid."""
    v = np.linspace(-40, 12, 40001)
    spread = NOISE**2 + np.exp(2 * v)[:, None]
    weight = 1 / spread
    total = weight.sum(axis=1) + 1 / 9
    centre = (weight * GROUPS).sum(axis=1) / total
    fit = np.sum(weight * GROUPS**2, axis=1) - total * centre**2
    height = -np.log(spread).sum(axis=1) / 2 - np.log(total) / 2 - fit / 2 + PRIORS[prior][0](v)
    p = np.exp(height - height.max())
    p /= p.sum()
    shrunk = np.exp(2 * v)[:, None] / spread
    theta = shrunk * GROUPS + (1 - shrunk) * centre[:, None]
    variance = shrunk * NOISE**2 + (1 - shrunk) ** 2 / total[:, None]
    means = [p @ centre, *(p @ theta), p @ v, p @ (centre**2 + 1 / total), *(p @ (theta**2 + variance)), p @ v**2]
    return v, p, np.array([*means, p @ np.exp(v), p @ np.exp(2 * v)])


def draws(n, seed, lowest=-np.inf, prior="half-normal"):
    """Exact draws of (mu, theta, v), none of them with v below the lowest."""
    rng, (grid, p, _) = np.random.default_rng(seed), exact(prior)
    p = np.where(grid >= lowest, p, 0.0)
    v = rng.choice(grid, size=n, p=p / p.sum()) + (grid[1] - grid[0]) * rng.uniform(0, 1, n)
    spread = NOISE**2 + np.exp(2 * v)[:, None]
    total = (1 / spread).sum(axis=1) + 1 / 9
    mu = (GROUPS / spread).sum(axis=1) / total + rng.normal(size=n) / np.sqrt(total)
    shrunk = np.exp(2 * v)[:, None] / spread
    theta = shrunk * GROUPS + (1 - shrunk) * mu[:, None] + np.sqrt(shrunk) * NOISE * rng.normal(size=(n, 5))
    return np.column_stack([mu, theta, v]), scores_of_groups(mu, theta, v, prior)


def divided(x, s):
    """The same with effects divided by their scale, z = (theta - mu) / exp(v)."""
    scale, score = np.exp(x[:, -1:]), s[:, 1:-1]
    z = (x[:, 1:-1] - x[:, :1]) / scale
    by_mu, by_v = s[:, 0] + score.sum(axis=1), s[:, -1] + np.sum(score * scale * z, axis=1) + z.shape[1]
    return np.column_stack([x[:, 0], z, x[:, -1]]), np.column_stack([by_mu, scale * score, by_v])


def integrands(x):
    return np.hstack([x, x**2, np.exp(x[:, -1:]), np.exp(2 * x[:, -1:])])
