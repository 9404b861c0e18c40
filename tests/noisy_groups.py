"""Five groups of three values each, with a common mean and scale, in noise of unknown width: exact draws and means."""

from functools import cache

import numpy as np

from centred_groups import PRIORS

MEANS, EACH, WITHIN = np.array([1.2, -0.4, 0.8, 2.1, 0.3]), 3, 6.0


def scores_of_groups(mu, theta, v, w, priors):
    """Of theta_j ~ N(mu, exp(v)^2), three values of mean MEANS each ~ N(theta_j, exp(w)^2), mu ~ N(0, 3^2)."""
    away, off = (theta - mu[:, None]) * np.exp(-2 * v)[:, None], (MEANS - theta) * EACH * np.exp(-2 * w)[:, None]
    by_v = np.sum(away * (theta - mu[:, None]) - 1, axis=1) + PRIORS[priors[0]][1](v)
    squares = WITHIN + EACH * np.sum((MEANS - theta) ** 2, axis=1)
    by_w = np.exp(-2 * w) * squares - EACH * len(MEANS) + PRIORS[priors[1]][1](w)
    return np.column_stack([away.sum(axis=1) - mu / 9, off - away, by_v, by_w])


@cache
def exact(priors):
    """Places (v, w), their masses, and means and squares of (mu, theta, v, w)."""
    axes = np.linspace(-30, 8, 1521), np.linspace(-3, 4, 211)
    v, w = (each.ravel() for each in np.meshgrid(*axes, indexing="ij"))
    noise = np.exp(2 * w) / EACH
    spread = noise + np.exp(2 * v)
    total = len(MEANS) / spread + 1 / 9
    centre = MEANS.sum() / spread / total
    fit = np.sum(MEANS**2) / spread - total * centre**2
    height = -len(MEANS) * np.log(spread) / 2 - np.log(total) / 2 - fit / 2
    height += -WITHIN * np.exp(-2 * w) / 2 - len(MEANS) * (EACH - 1) * w
    height += PRIORS[priors[0]][0](v) + PRIORS[priors[1]][0](w)
    p = np.exp(height - height.max())
    p /= p.sum()
    shrunk = (np.exp(2 * v) / spread)[:, None]
    theta = shrunk * MEANS + (1 - shrunk) * centre[:, None]
    variance = shrunk * noise[:, None] + (1 - shrunk) ** 2 / total[:, None]
    means = [p @ centre, *(p @ theta), p @ v, p @ w]
    return (v, w), p, np.array([*means, p @ (centre**2 + 1 / total), *(p @ (theta**2 + variance)), p @ v**2, p @ w**2])


def draws(n, seed, priors):
    """Draws of (mu, theta, v, w), at random places in cells of a grid."""
    rng, ((v, w), p, _) = np.random.default_rng(seed), exact(priors)
    cell = rng.choice(len(p), size=n, p=p)
    v, w = v[cell] + 0.025 * rng.uniform(-0.5, 0.5, n), w[cell] + rng.uniform(-0.5, 0.5, n) / 30
    noise = np.exp(2 * w) / EACH
    spread = noise + np.exp(2 * v)
    total = len(MEANS) / spread + 1 / 9
    mu = MEANS.sum() / spread / total + rng.normal(size=n) / np.sqrt(total)
    shrunk = (np.exp(2 * v) / spread)[:, None]
    middle = shrunk * MEANS + (1 - shrunk) * mu[:, None]
    theta = middle + np.sqrt(shrunk * noise[:, None]) * rng.normal(size=(n, len(MEANS)))
    return np.column_stack([mu, theta, v, w]), scores_of_groups(mu, theta, v, w, priors)


def divided(x, s):
    """The same with effects divided by their scale, z = (theta - mu) / exp(v)."""
    scale, score = np.exp(x[:, -2:-1]), s[:, 1:-2]
    z = (x[:, 1:-2] - x[:, :1]) / scale
    by_mu, by_v = s[:, 0] + score.sum(axis=1), s[:, -2] + np.sum(score * scale * z, axis=1) + z.shape[1]
    return np.column_stack([x[:, 0], z, x[:, -2:]]), np.column_stack([by_mu, scale * score, by_v, s[:, -1]])
