"""Evidence of a van der Pol oscillator from noisy observations: a path of one-dimensional power posteriors.

    u_1' = u_2,   u_2' = x (1 - u_1^2) u_2 - u_1,   (u_1, u_2)(0) = (0, 2)
    y_s ~ N(u_1(s; x), 0.1^2), s = 0..10;   z = log x ~ N(0, 0.25^2);   pi_t(z) ~ p(y | z)^t p(z)

Points are z, on the whole real line, and scores are those of the density of z.
Reference: paper, Section 5.2 and Appendix E.5 (which writes the same target as a density of x).
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vvcv.problems.data import read_json
from vvcv.problems.ode import solve
from vvcv.problems.population_mcmc import Density, run_population
from vvcv.problems.precision import double_precision

Points = Float[np.ndarray, "n 1"]
Scores = Float[np.ndarray, "n 1"]
Values = Float[np.ndarray, "n"]
PathPoints = Float[np.ndarray, "31 n 1"]
PathScores = Float[np.ndarray, "31 n 1"]
PathValues = Float[np.ndarray, "31 n"]
Line = Float[Array, "n"]  # z of n chains or points
State = Float[Array, "2 n"]
Solution = Float[Array, "11 n"]

_FACTS = read_json("van_der_pol.json")
TIMES = np.array(_FACTS["times"], dtype=np.float64)
OBSERVATIONS = np.array(_FACTS["observations"])
SIGMA = _FACTS["sigma"]
INITIAL_STATE = tuple(_FACTS["initial_state"])
PRIOR_MEAN = _FACTS["prior_log_mean"]
PRIOR_SD = _FACTS["prior_log_sd"]
TEMPERATURES = (np.arange(31) / 30) ** 5

EXACT_LOG_EVIDENCE = _FACTS["log_evidence"]
EXACT_MEAN = np.array(_FACTS["mean_log_likelihood"])  # of log p(y | z) under each power posterior
EXACT_VARIANCE = np.array(_FACTS["variance_log_likelihood"])

# Relative error of the log-likelihood below 1e-9 within six prior standard deviations.
_STEPS = 80


class PowerPosteriors(NamedTuple):
    """Draws from all power posteriors; the score at temperature t is t * scores_likelihood + scores_prior."""

    points: PathPoints
    log_likelihood: PathValues
    scores_likelihood: PathScores
    scores_prior: PathScores

    @property
    def temperatures(self) -> Float[np.ndarray, "31"]:
        """The temperatures that the draws belong to."""
        return TEMPERATURES

    @property
    def scores(self) -> PathScores:
        """The score of each draw under its own power posterior."""
        return TEMPERATURES[:, None, None] * self.scores_likelihood + self.scores_prior


def sample_path(seed: int, n_samples: int, warmup: int = 200, thin: int = 5) -> PowerPosteriors:
    """n_samples states of population MCMC at every temperature, `thin` sweeps apart, after `warmup` sweeps."""
    if n_samples < 1 or warmup < 0 or thin < 1:
        found = f"n_samples={n_samples}, warmup={warmup}, thin={thin}"
        raise ValueError(f"n_samples and thin must be at least 1 and warmup at least 0; found {found}; raise them.")
    with double_precision():
        draws = _run(jax.random.key(seed), n_samples, warmup, thin)
    points, log_likelihood, gradient, _ = (np.ascontiguousarray(np.array(field).T) for field in draws)
    points = points[..., None]
    return PowerPosteriors(points, log_likelihood, gradient[..., None], score_prior(points))


@double_precision()
def log_likelihood(points: Points) -> Values:
    """log p(y | z), normalising constant of the eleven observations included."""
    return np.array(_density(_column(points)).log_likelihood)


@double_precision()
def score_likelihood(points: Points) -> Scores:
    """Derivative of log p(y | z) in z."""
    return np.array(_density(_column(points)).gradient)[:, None]


def log_prior(points: Points) -> Values:
    """log density of z ~ N(0, 0.25^2)."""
    return -0.5 * ((points[..., 0] - PRIOR_MEAN) / PRIOR_SD) ** 2 - np.log(PRIOR_SD * np.sqrt(2 * np.pi))


def score_prior(points: Points) -> Scores:
    """Derivative of the log density of z ~ N(0, 0.25^2)."""
    return (PRIOR_MEAN - points) / PRIOR_SD**2


def score(points: Points, temperature: float = 1.0) -> Scores:
    """Derivative in z of the log density of the power posterior."""
    return temperature * score_likelihood(points) + score_prior(points)


def _column(points: Points) -> Values:
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 1:
        raise ValueError(f"points must have shape (n, 1); found {points.shape}; pass z = log x as a column.")
    return points[:, 0]


@jax.jit
def _density(z: Line) -> Density:
    """Log-likelihood, its derivative and the Fisher information, from u_1 and its sensitivity du_1 / dz."""
    u, sensitivity = jax.jvp(_observed, (z,), (jnp.ones_like(z),))
    residual = (OBSERVATIONS[:, None] - u) / SIGMA
    constant = TIMES.size * np.log(SIGMA * np.sqrt(2 * np.pi))
    return Density(
        point=z,
        log_likelihood=-0.5 * jnp.sum(residual**2, axis=0) - constant,
        gradient=jnp.sum(residual * sensitivity, axis=0) / SIGMA,
        information=jnp.sum(sensitivity**2, axis=0) / SIGMA**2,
    )


def _observed(z: Line) -> Solution:
    """u_1 at the observation times."""
    x = jnp.exp(z)

    def field(u: State) -> State:
        return jnp.stack([u[1], x * (1 - u[0] ** 2) * u[1] - u[0]])

    initial = jnp.stack([jnp.full_like(z, value) for value in INITIAL_STATE])
    return solve(field, initial, TIMES, _STEPS)[:, 0]


@partial(jax.jit, static_argnums=1)
def _run(key: Array, n_samples: int, warmup: int, thin: int) -> Density:
    key, start_key = jax.random.split(key)
    start = PRIOR_MEAN + PRIOR_SD * jax.random.normal(start_key, TEMPERATURES.shape)
    return run_population(key, _density, start, TEMPERATURES, (PRIOR_MEAN, PRIOR_SD), n_samples, warmup, thin)
