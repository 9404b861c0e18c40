"""Hierarchical posteriors with weakly identified scales, of which exact draws and exact means are known.

    y ~ N(X C w, (noise sigma)^2),  w ~ N(0, prior^2),  C diagonal with scales tau where columns have them

Given the scales, w is normal; the scales themselves have a density in closed form on a grid, from whose cells they are
drawn by rejection. Points are (w, logarithms of the scales).

    schools   mu ~ N(0, 10^2), tau half-normal of width 10, the eight estimates of Rubin (1981); d = 10
    walk      a path of steps tau, seen in noise sigma, both half-normal of width 1; d = length + 2
    slopes    a + (b + tau z_j) x_ij, a and b ~ N(0, 2^2), tau and sigma half-normal of width 1, 21 groups of 4; d = 25
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

Points = Float[np.ndarray, "n d"]

#: Lower ends of a grid along the logarithms of scales, and its cells: scales may be hardly more than none, the noise of
#: slopes is between .5 and .9. And how far a density may rise within a cell.
ONE, NOISY, WALK, RISE = ((-40.0, 1000),), ((-40.0, 700), (-3.0, 160)), ((-32.0, 500), (-32.0, 500)), 2.0


class Model:
    """Non-centred: `scaled[k, p]` says that column p has scale k, `noisy[k]` that the noise has."""

    def __init__(self, columns, y, noise, prior, scaled, noisy, widths, grid=ONE) -> None:
        self.columns, self.y, self.noise, self.prior = columns, y, np.broadcast_to(noise, y.shape), np.array(prior)
        self.scaled, self.noisy, self.widths = np.array(scaled, float), np.array(noisy, float), np.array(widths)
        white, target = columns / self.noise[:, None], y / self.noise
        self.gram, self.pull, self.square = white.T @ white, white.T @ target, target @ target
        lowest, cells = np.array(grid).T
        self.steps = (np.log(6 * self.widths) - lowest) / cells
        axes = [low + step * (np.arange(n) + 0.5) for low, step, n in zip(lowest, self.steps, cells, strict=True)]
        self.grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        height = np.concatenate([self._height(part) for part in np.array_split(self.grid, len(self.grid) // 250 + 1)])
        self.height, self.mass = height, np.exp(height - height.max())
        self.mass /= self.mass.sum()

    def _given(self, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Precision and pull of w given scales, and the precision of the noise."""
        scale, weight = np.exp(logs @ self.scaled), np.exp(-2 * logs @ self.noisy)
        precision = weight[:, None, None] * scale[:, :, None] * scale[:, None, :] * self.gram
        return precision + np.diag(self.prior**-2.0), weight[:, None] * scale * self.pull, weight

    def _height(self, logs: np.ndarray) -> np.ndarray:
        """Log density of the scales' logarithms."""
        precision, pull, weight = self._given(logs)
        fit = np.sum(pull * np.linalg.solve(precision, pull[..., None])[..., 0], axis=1)
        determinants = np.linalg.slogdet(precision)[1] - len(self.y) * np.log(weight)
        prior = np.sum(logs - np.exp(2 * logs) / (2 * self.widths**2), axis=1)
        return -(weight * self.square - fit + determinants) / 2 + prior

    def exact(self) -> np.ndarray:
        """Means, then squares, of all coordinates, by the midpoint rule: the density vanishes at both ends."""
        keep = self.mass > 1e-12
        logs, mass = self.grid[keep], self.mass[keep]
        mean, second = self._moments(logs)
        return np.concatenate([mass @ mean, mass @ logs, mass @ second, mass @ logs**2])

    def _moments(self, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means and squares of the coordinates given scales."""
        precision, pull, _ = self._given(logs)
        change = self._change(logs)
        covariance = change @ np.linalg.inv(precision) @ np.swapaxes(change, 1, 2)
        mean = np.einsum("gpq,gq->gp", change, np.linalg.solve(precision, pull[..., None])[..., 0])
        return mean, np.diagonal(covariance, axis1=1, axis2=2) + mean**2

    def _change(self, logs: np.ndarray) -> np.ndarray:
        """The coordinates as lines in w given scales."""
        return np.repeat(np.eye(len(self.prior))[None], len(logs), axis=0)

    def sample(self, rng: np.random.Generator, n: int) -> Points:
        """Independent draws."""
        logs = self._scales(rng, 4 * n + 50)[:n]
        precision, pull, _ = self._given(logs)
        upper = np.swapaxes(np.linalg.cholesky(precision), 1, 2)
        noise = np.linalg.solve(upper, rng.normal(size=pull.shape)[..., None])[..., 0]
        return np.concatenate([np.linalg.solve(precision, pull[..., None])[..., 0] + noise, logs], axis=1)

    def _scales(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Places in cells, accepted in proportion to their density over the cell's, about one in RISE."""
        cells = rng.choice(len(self.mass), size=n, p=self.mass)
        logs = self.grid[cells] + self.steps * rng.uniform(-0.5, 0.5, size=(n, len(self.steps)))
        ratio = np.exp(self._height(logs) - self.height[cells])
        return logs[rng.random(n) * RISE < ratio]

    def score(self, x: Points) -> Points:
        """Gradients of the log density."""
        w, logs = x[:, : len(self.prior)], x[:, len(self.prior) :]
        scaled = w * np.exp(logs @ self.scaled)
        weight = np.exp(-2 * logs @ self.noisy)[:, None] * self.noise**-2.0
        left = self.y - scaled @ self.columns.T
        pull = (weight * left) @ self.columns
        by_w = pull * np.exp(logs @ self.scaled) - w / self.prior**2
        by_noise = np.sum(weight * left**2 - 1, axis=1, keepdims=True) * self.noisy
        by_scale = (pull * scaled) @ self.scaled.T + by_noise + 1 - np.exp(2 * logs) / self.widths**2
        return np.concatenate([by_w, by_scale], axis=1)


class Centred(Model):
    """Groups in coordinates (mu, theta, log tau): the eight schools, for one."""

    def _change(self, logs: np.ndarray) -> np.ndarray:
        """Mu and theta = mu + tau z."""
        change = super()._change(logs) * np.exp(logs @ self.scaled)[:, None, :]
        change[:, 1:, 0] = 1.0
        return change

    def sample(self, rng: np.random.Generator, n: int) -> Points:
        x = super().sample(rng, n)
        x[:, 1:-1] = x[:, :1] + np.exp(x[:, -1:]) * x[:, 1:-1]
        return x

    def score(self, x: Points) -> Points:
        mu, theta, log_tau = x[:, :1], x[:, 1:-1], x[:, -1:]
        away = (theta - mu) * np.exp(-2 * log_tau)
        by_mu = away.sum(axis=1, keepdims=True) - mu / self.prior[0] ** 2
        by_tau = np.sum(away * (theta - mu) - 1, axis=1, keepdims=True) + 1 - np.exp(2 * log_tau) / self.widths**2
        return np.concatenate([by_mu, (self.y - theta) / self.noise**2 - away, by_tau], axis=1)


class Walk(Model):
    """Steps w that add up, in coordinates (path, log step, log noise).

    Along the axes of the path's covariance all is in closed form, to all digits where one of both widths is tiny.
    """

    def _height(self, logs: np.ndarray) -> np.ndarray:
        spread, _, seen = self._along(logs)
        prior = np.sum(logs - np.exp(2 * logs) / (2 * self.widths**2), axis=1)
        return -np.sum(np.log(spread) + seen**2 / spread, axis=1) / 2 + prior

    def _moments(self, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        (spread, variance, seen), turn = self._along(logs), self._axes[1]
        mean = (variance / spread * seen) @ turn.T
        return mean, mean**2 + (variance / spread * np.exp(2 * logs[:, 1:])) @ (turn**2).T

    def _along(self, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Variances of what is seen along each axis, of the path there, and what is seen."""
        values, turn = self._axes
        variance = np.exp(2 * logs[:, :1]) * values
        return variance + np.exp(2 * logs[:, 1:]), variance, self.y @ turn

    @property
    def _axes(self) -> tuple[np.ndarray, np.ndarray]:
        return np.linalg.eigh(self.columns @ self.columns.T)

    def sample(self, rng: np.random.Generator, n: int) -> Points:
        logs = self._scales(rng, 4 * n + 50)[:n]
        (spread, variance, seen), turn = self._along(logs), self._axes[1]
        left = np.sqrt(variance / spread) * np.exp(logs[:, 1:]) * rng.normal(size=variance.shape)
        return np.concatenate([(variance / spread * seen + left) @ turn.T, logs], axis=1)

    def score(self, x: Points) -> Points:
        step = np.exp(x[:, -2:-1])
        w = np.linalg.solve(self.columns, x[:, :-2].T).T / step
        found = super().score(np.hstack([w, x[:, -2:]]))
        by_w = found[:, :-2].copy()
        found[:, :-2] = np.linalg.solve(self.columns.T, by_w.T).T / step
        found[:, -2] -= np.sum(w * by_w, axis=1) + w.shape[1]
        return found


def schools(kind: type[Model]) -> Model:
    """Effects of coaching in eight schools."""
    y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    noise = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    columns = np.column_stack([np.ones(8), np.eye(8)])
    return kind(columns, y, noise, [10.0] + [1.0] * 8, [[0] + [1] * 8], [0], [10.0])


def slopes() -> Model:
    """Slopes that hardly differ between 21 groups of four, simulated."""
    rng = np.random.default_rng(21)
    group, x = np.repeat(np.arange(21), 4), rng.normal(size=84)
    y = 0.5 + (1.0 + 0.15 * rng.normal(size=21)[group]) * x + 0.7 * rng.normal(size=84)
    columns = np.column_stack([np.ones(84), x, np.eye(21)[group] * x[:, None]])
    return Model(columns, y, 1.0, [2.0, 2.0] + [1.0] * 21, [[0, 0] + [1] * 21, [0] * 23], [0, 1], [1.0, 1.0], NOISY)


def walk(length: int) -> Model:
    """A random walk seen in noise, simulated."""
    rng = np.random.default_rng([37, length])
    y = np.cumsum(0.4 * rng.normal(size=length)) + 0.6 * rng.normal(size=length)
    ones = [1.0] * length
    return Walk(np.tri(length), y, 1.0, ones, [ones, [0.0] * length], [0, 1], [1.0, 1.0], WALK)
