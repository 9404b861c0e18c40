"""Targets that can be drawn from exactly, with their scores: what the problems of the trust suite integrate against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Points = Float[np.ndarray, "... d"]


@dataclass(frozen=True)
class Gaussian:
    """N(mean, covariance)."""

    mean: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]

    @classmethod
    def standard(cls, d: int) -> Gaussian:
        """N(0, I)."""
        return cls((0.0,) * d, tuple(map(tuple, np.eye(d).tolist())))

    def sample(self, rng: np.random.Generator, n: int) -> Points:
        return self.shape(rng.normal(size=(n, len(self.mean))))

    def shape(self, standard: Points) -> Points:
        """Standard normal points made into points of this target."""
        return np.array(self.mean) + standard @ np.linalg.cholesky(np.array(self.covariance)).T

    def score(self, x: Points) -> Points:
        return (np.array(self.mean) - x) @ np.linalg.inv(np.array(self.covariance))

    def log_density(self, x: Points) -> np.ndarray:
        return 0.5 * np.sum((x - np.array(self.mean)) * self.score(x), axis=-1)


@dataclass(frozen=True)
class Student:
    """Multivariate Student with unit shape matrix."""

    freedom: float
    d: int

    def sample(self, rng: np.random.Generator, n: int) -> Points:
        return rng.normal(size=(n, self.d)) / np.sqrt(rng.chisquare(self.freedom, size=(n, 1)) / self.freedom)

    def score(self, x: Points) -> Points:
        return -(self.freedom + self.d) * x / (self.freedom + np.sum(x**2, axis=-1, keepdims=True))


@dataclass(frozen=True)
class Logistic:
    """The standard logistic density in one dimension, score -tanh(x/2)."""

    def sample(self, rng: np.random.Generator, n: int) -> Points:
        return rng.logistic(size=(n, 1))

    def score(self, x: Points) -> Points:
        return -np.tanh(x / 2)


@dataclass(frozen=True)
class Modes:
    """Two Gaussian modes at +centre and -centre with standard deviation `width`; the first has weight `weight`."""

    centre: tuple[float, ...]
    width: float
    weight: float

    def sample(self, rng: np.random.Generator, n: int) -> Points:
        sign = np.where(rng.random((n, 1)) < self.weight, 1.0, -1.0)
        return sign * np.array(self.centre) + self.width * rng.normal(size=(n, len(self.centre)))

    def score(self, x: Points) -> Points:
        centre, variance = np.array(self.centre), self.width**2
        logit = 2 * x @ centre / variance + np.log(self.weight / (1 - self.weight))
        return (np.tanh(logit / 2)[..., None] * centre - x) / variance


@dataclass(frozen=True)
class Banana:
    """x_1 ~ N(0, 1), x_2 = bend (x_1^2 - 1) + width z."""

    bend: float
    width: float

    def sample(self, rng: np.random.Generator, n: int) -> Points:
        x, z = rng.normal(size=(2, n))
        return np.column_stack([x, self.bend * (x**2 - 1) + self.width * z])

    def score(self, x: Points) -> Points:
        pull = (x[..., 1] - self.bend * (x[..., 0] ** 2 - 1)) / self.width**2
        return np.stack([2 * self.bend * x[..., 0] * pull - x[..., 0], -pull], axis=-1)


@dataclass(frozen=True)
class Funnel:
    """v ~ N(0, width^2), then x_i ~ N(0, exp(v)) for the other d - 1 coordinates; v comes first."""

    width: float
    d: int

    def sample(self, rng: np.random.Generator, n: int) -> Points:
        v = self.width * rng.normal(size=(n, 1))
        return np.column_stack([v, np.exp(v / 2) * rng.normal(size=(n, self.d - 1))])

    def score(self, x: Points) -> Points:
        v, rest = x[..., :1], x[..., 1:]
        precision = np.exp(-v)
        by_v = -v / self.width**2 + 0.5 * np.sum(rest**2 * precision - 1, axis=-1, keepdims=True)
        return np.concatenate([by_v, -rest * precision], axis=-1)


def autoregressive(rng: np.random.Generator, target: Gaussian, chains: int, draws: int, rho: float) -> Points:
    """Stationary Gaussian chains u_i = rho u_(i-1) + sqrt(1 - rho^2) e_i."""
    u = rng.normal(size=(chains, draws, len(target.mean)))
    for i in range(1, draws):
        u[:, i] = rho * u[:, i - 1] + np.sqrt(1 - rho**2) * u[:, i]
    return target.shape(u)


def metropolis(rng: np.random.Generator, target: Gaussian, chains: int, draws: int, step: float) -> Points:
    """Stationary random-walk Metropolis chains; a rejected proposal repeats its point."""
    x = target.sample(rng, chains)
    states = []
    for _ in range(draws):
        proposal = x + step * rng.normal(size=x.shape)
        accept = np.log(rng.random(chains)) < target.log_density(proposal) - target.log_density(x)
        x = np.where(accept[:, None], proposal, x)
        states.append(x)
    return np.stack(states, axis=1)
