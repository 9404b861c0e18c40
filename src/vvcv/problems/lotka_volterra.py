"""Posterior of a Lotka-Volterra model given pelts of hare and lynx, and the expected abundance of the hare.

    v_1' = a v_1 - b v_1 v_2,   v_2' = d v_1 v_2 - g v_2,   log y_k(s) ~ N(log v_k(s), sigma_k^2),  s = 1900..1920
    x = log(a, b, d, g, v_1(0), v_2(0), sigma_1, sigma_2) in R^8 with independent Gaussian priors;  f_t(x) = v_1(s_t; x)

Reference: paper, Section 5.3 and Appendix E.6, where v_2(0) lacks its exponential once; it is read as exp here.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vvcv.problems.data import read_columns, read_text
from vvcv.problems.nuts import Chains, sample_nuts
from vvcv.problems.ode import solve
from vvcv.problems.precision import double_precision
from vvcv.problems.stan import sample_stan

Sampler = Literal["blackjax", "stan"]
Species = Literal["hare", "lynx"]
SPECIES: tuple[Species, ...] = ("hare", "lynx")
Points = Float[np.ndarray, "n 8"]
Scores = Float[np.ndarray, "n 8"]
Values = Float[np.ndarray, "n"]
Times = Float[np.ndarray, "T"]
Abundance = Float[np.ndarray, "n T"]
Scalar = Float[Array, ""]
Parameters = Float[Array, "8 ..."]  # trailing axes: one orbit for each of many points
State = Float[Array, "2 ..."]
Orbit = Float[Array, "years 2 ..."]

NAMES = ("alpha", "beta", "delta", "gamma", "v_1(0)", "v_2(0)", "sigma_1", "sigma_2")  # each on the log scale
PRIOR_MEAN = np.array([0.0, -3.0, -3.0, 0.0, np.log(10.0), np.log(10.0), -1.0, -1.0])
PRIOR_SD = np.array([0.5, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0])

_TABLE = read_columns("hare_lynx.csv")
YEARS = _TABLE["year"]
OBSERVATIONS = np.stack([_TABLE["hare"], _TABLE["lynx"]], axis=1)  # (years, 2)

# Years of the tasks by their number T: the paper's Table 3, and Table 5 (additional experiments).
TASK_TIMES = {
    2: (1913.0, 1913.2),
    5: (1912.0, 1912.2, 1912.4, 1912.6, 1912.8),
    10: (1912.0, 1912.2, 1912.4, 1912.6, 1912.8, 1913.0, 1913.2, 1913.4, 1913.6, 1913.8),
}
ADDITIONAL_TASK_TIMES = {
    2: (1915.0, 1915.2),
    5: (1915.0, 1915.2, 1915.4, 1915.6, 1915.8),
    10: (1914.0, 1914.2, 1914.4, 1914.6, 1914.8, 1915.0, 1915.2, 1915.4, 1915.6, 1915.8),
}

# Chains start near the posterior's bulk: from the prior's mean, ascent ends in a second mode, an orbit of too short a
# period, whose log density is lower by 40 (so that it holds no mass worth the visit).
_START = np.log([0.55, 0.028, 0.024, 0.8, 34.0, 5.9, 0.25, 0.25])
_START_SD = 0.1
# Steps per year: error of the log posterior near 1e-8 in the bulk.
_STEPS = 10


class Draws(NamedTuple):
    """Draws of all chains, chain after chain, and the gradient of the log posterior at each."""

    points: Points
    scores: Scores


def sample(seed: int, n_draws: int, n_chains: int = 4, warmup: int = 500, sampler: Sampler = "blackjax") -> Draws:
    """n_chains * n_draws posterior points by NUTS; `points.reshape(n_chains, n_draws, 8)` has the chains apart."""
    chains = sample_chains(seed, n_draws, n_chains, warmup, sampler)
    return Draws(chains.points.reshape(-1, _START.size), chains.scores.reshape(-1, _START.size))


def sample_chains(
    seed: int, n_draws: int, n_chains: int = 4, warmup: int = 500, sampler: Sampler = "blackjax"
) -> Chains:
    """The same draws with the chains apart, and which of them ended in a divergence."""
    if n_draws < 1 or n_chains < 1:
        raise ValueError(f"n_draws and n_chains must be at least 1; found {n_draws} and {n_chains}; raise them.")
    if sampler == "stan":
        return _sample_with_stan(seed, n_draws, n_chains, warmup)
    if sampler != "blackjax":
        raise ValueError(f'sampler must be "blackjax" or "stan"; found {sampler!r}; name one of these.')
    with double_precision():
        key, start_key = jax.random.split(jax.random.key(seed))
        start = jnp.asarray(_START) + _START_SD * jax.random.normal(start_key, (n_chains, _START.size))
        return sample_nuts(key, _log_posterior_and_score, start, n_draws, warmup)


@double_precision()
def log_posterior(points: Points) -> Values:
    """Log density of the posterior on R^8, up to a constant."""
    return np.array(_log_posterior_batch(_rows(points)))


@double_precision()
def score(points: Points) -> Scores:
    """Gradient of the log posterior."""
    return np.array(_score_batch(_rows(points)))


def abundance(points: Points, times: Sequence[float] | Times, species: Species = "hare") -> Abundance:
    """Number of hares v_1 or of lynxes v_2, in thousands, at the given times in years (1900 or later)."""
    times = np.atleast_1d(np.asarray(times, dtype=np.float64))
    if times.ndim != 1 or not np.all(times >= YEARS[0]):
        raise ValueError(f"times must be years from {YEARS[0]:.0f} on; found {times}; the model starts there.")
    # Whole years in between keep every interval, and so every step, short.
    grid = np.union1d(times, np.arange(YEARS[0], times.max()))
    with double_precision():
        numbers = np.asarray(_numbers(_rows(points), grid))[:, SPECIES.index(species)]
    return np.ascontiguousarray(numbers[np.searchsorted(grid, times)].T)


def _sample_with_stan(seed: int, n_draws: int, n_chains: int, warmup: int) -> Chains:
    start = _START + _START_SD * np.random.default_rng(seed).normal(size=(n_chains, _START.size))
    data = {"n": YEARS.size - 1, "elapsed": (YEARS[1:] - YEARS[0]).tolist(), "y": OBSERVATIONS.tolist()}
    points, divergent = sample_stan(read_text("lotka_volterra.stan"), data, seed, start, n_draws, warmup)
    # The program has no scores to give away: they come from the model here.
    return Chains(points, score(points.reshape(-1, _START.size)).reshape(points.shape), divergent)


def _rows(points: Points) -> Points:
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != len(NAMES):
        raise ValueError(f"points must have shape (n, 8); found {points.shape}; pass one row for each point.")
    return points


def _orbit(x: Parameters, years: Times) -> Orbit:
    alpha, beta, delta, gamma = jnp.exp(x[:4])

    def field(v: State) -> State:
        return jnp.stack([(alpha - beta * v[1]) * v[0], (delta * v[0] - gamma) * v[1]])

    return solve(field, jnp.exp(x[4:6]), years, _STEPS)


def _log_posterior(x: Parameters) -> Scalar:
    log_sd = x[6:]
    residual = (np.log(OBSERVATIONS) - jnp.log(_orbit(x, YEARS))) / jnp.exp(log_sd)
    log_likelihood = -0.5 * jnp.sum(residual**2) - YEARS.size * jnp.sum(log_sd)
    return log_likelihood - 0.5 * jnp.sum(((x - PRIOR_MEAN) / PRIOR_SD) ** 2)


@jax.jit
def _log_posterior_and_score(x: Parameters) -> tuple[Scalar, Parameters]:
    # Forward mode: with eight inputs it costs half of reverse mode through the solver, and stores nothing.
    gradient, value = jax.jacfwd(lambda x: (_log_posterior(x),) * 2, has_aux=True)(x)
    return value, gradient


_log_posterior_batch = jax.jit(jax.vmap(_log_posterior))
_score_batch = jax.jit(jax.vmap(lambda x: _log_posterior_and_score(x)[1]))


@jax.jit
def _numbers(points: Points, years: Times) -> Orbit:
    return _orbit(jnp.asarray(points).T, years)
