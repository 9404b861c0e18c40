"""Population MCMC over a path of one-dimensional power posteriors: manifold MALA in each chain, swaps between.

    pi_i(z) ~ p(y | z)^{t_i} N(z; m, s^2),     G_i(z) = t_i I(z) + 1 / s^2,     I(z) = Fisher information
    proposal   z' ~ N(z + (e^2 / 2) grad log pi_i(z) / G_i(z),  e^2 / G_i(z)),   Metropolis-adjusted
    swap       i <-> i + 1 with probability min{1, exp[(t_{i+1} - t_i) (l_i - l_{i+1})]},   l = log-likelihood

Reference: paper, Section 5.2; Girolami and Calderhead (2011), Section 5, in the simplified form that holds the metric
constant within a proposal (the accept step corrects for it); Calderhead and Girolami (2009) for the population.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

# Near the step that makes a Gaussian proposal forget its start (e^2 = 2), short of where acceptance falls off.
STEP = 1.2

PerChain = Float[Array, "chains"]
Temperatures = Float[np.ndarray, "chains"]


class Density(NamedTuple):
    """What the sampler knows at one point of every chain."""

    point: PerChain
    log_likelihood: PerChain
    gradient: PerChain  # of the log-likelihood
    information: PerChain  # Fisher information of the likelihood


class _Target(NamedTuple):
    temperatures: PerChain
    mean: float
    sd: float

    def log_density(self, at: Density) -> PerChain:
        return self.temperatures * at.log_likelihood - 0.5 * ((at.point - self.mean) / self.sd) ** 2

    def proposal(self, at: Density) -> tuple[PerChain, PerChain]:
        """Mean and standard deviation of the manifold MALA proposal."""
        metric = self.temperatures * at.information + self.sd**-2
        gradient = self.temperatures * at.gradient - (at.point - self.mean) / self.sd**2
        return at.point + 0.5 * STEP**2 * gradient / metric, STEP / jnp.sqrt(metric)


def run_population(
    key: Array,
    density: Callable[[PerChain], Density],
    start: PerChain,
    temperatures: Temperatures,
    prior: tuple[float, float],
    n_samples: int,
    warmup: int,
    thin: int,
) -> Density:
    """States (n_samples, chains) after `warmup` sweeps, `thin` sweeps apart; `prior` is (mean, sd)."""
    target = _Target(jnp.asarray(temperatures), *prior)

    def draw(state: Density, step: tuple[Array, Array]) -> tuple[Density, Density]:
        # Keys by counter: the number of sweeps stays a run-time value, so that changing it does not compile anew.
        key, count = step
        state = jax.lax.fori_loop(0, count, lambda i, s: _sweep(jax.random.fold_in(key, i), s, density, target), state)
        return state, state

    # Warmup is extra sweeps before the first draw: one loop to compile instead of two.
    counts = jnp.full(n_samples, thin).at[0].add(warmup)
    _, states = jax.lax.scan(draw, density(start), (jax.random.split(key, n_samples), counts))
    return states


def _sweep(key: Array, state: Density, density: Callable[[PerChain], Density], target: _Target) -> Density:
    """One manifold MALA update of every chain, then swaps of the even and of the odd neighbours."""
    move_key, even_key, odd_key = jax.random.split(key, 3)
    state = _move(move_key, state, density, target)
    state = _swap(even_key, state, target.temperatures, parity=0)
    return _swap(odd_key, state, target.temperatures, parity=1)


def _move(key: Array, state: Density, density: Callable[[PerChain], Density], target: _Target) -> Density:
    normal_key, uniform_key = jax.random.split(key)
    mean, sd = target.proposal(state)
    proposed = density(mean + sd * jax.random.normal(normal_key, mean.shape))
    forward = _log_normal(proposed.point, mean, sd)
    backward = _log_normal(state.point, *target.proposal(proposed))
    log_ratio = target.log_density(proposed) + backward - target.log_density(state) - forward
    # A solution that overflowed gives a log ratio of nan, which compares false: the proposal is rejected.
    accept = jnp.log(jax.random.uniform(uniform_key, mean.shape)) < log_ratio
    return jax.tree.map(lambda new, old: jnp.where(accept, new, old), proposed, state)


def _swap(key: Array, state: Density, temperatures: PerChain, parity: int) -> Density:
    likelihood = state.log_likelihood
    log_ratio = jnp.diff(temperatures) * (likelihood[:-1] - likelihood[1:])
    lower = np.arange(log_ratio.size)
    accept = (jnp.log(jax.random.uniform(key, log_ratio.shape)) < log_ratio) & (lower % 2 == parity)
    order = jnp.arange(temperatures.size) + jnp.pad(accept, (0, 1)) - jnp.pad(accept, (1, 0)).astype(int)
    return jax.tree.map(lambda field: field[order], state)


def _log_normal(x: PerChain, mean: PerChain, sd: PerChain) -> PerChain:
    return -0.5 * ((x - mean) / sd) ** 2 - jnp.log(sd)
