from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from vvcv.problems.population_mcmc import Density, run_population
from vvcv.problems.precision import double_precision

TEMPERATURES = np.array([0.0, 0.02, 0.2, 1.0])
OBSERVATION, NOISE = 1.5, 0.3
PRIOR = (0.5, 1.2)


def _gaussian_likelihood(z):
    residual = (OBSERVATION - z) / NOISE
    # A wrong information on purpose: it shapes proposals, and must not touch what is sampled.
    return Density(z, -0.5 * residual**2, residual / NOISE, (1.5 + jnp.sin(z)) / NOISE**2)


def _draws(seed, n_samples):
    with double_precision():
        run = partial(run_population, warmup=50, thin=3, n_samples=n_samples, temperatures=TEMPERATURES, prior=PRIOR)
        start = jnp.zeros(TEMPERATURES.size)
        draws = jax.jit(lambda key: run(key, _gaussian_likelihood, start))(jax.random.key(seed))
        return np.asarray(draws.point)


def test_every_chain_has_the_moments_of_its_power_posterior():
    points = _draws(seed=0, n_samples=10_000)
    precision = TEMPERATURES / NOISE**2 + PRIOR[1] ** -2
    mean = (TEMPERATURES * OBSERVATION / NOISE**2 + PRIOR[0] / PRIOR[1] ** 2) / precision
    z = (points - mean) * np.sqrt(precision)
    batches = z.reshape(200, 50, -1)
    for moment, exact in ((batches, 0.0), (batches**2, 1.0)):
        means = moment.mean(axis=1)
        error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
        # Eight tests at five standard errors from 200 batch means: false alarms in about 1 of 10^5 runs.
        assert np.all(np.abs(means.mean(axis=0) - exact) < 5 * error)
        assert np.all(error < 0.03)
