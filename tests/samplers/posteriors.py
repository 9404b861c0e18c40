"""Three posteriors that every adapter meets, with their exact means, and their log densities written once more in JAX.

schools    eight schools, non-centred, with a half-normal scale       exact means by quadrature over the scale
simplex    shares with a Dirichlet prior and multinomial counts       exact means in closed form
logistic   logistic regression with 25 coefficients                   means of a long run (long_run.py)
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
COUNTS, CONCENTRATION = np.array([12, 30, 7, 21]), np.full(4, 2.0)

_rng = np.random.default_rng(1)
COVARIATES = _rng.normal(size=(300, 25)) / 5
OUTCOMES = (_rng.uniform(size=300) < 1 / (1 + np.exp(-COVARIATES @ _rng.normal(size=25)))).astype(int)

LONG_RUN = Path(__file__).with_name("logistic_long_run.json")


class Reference(NamedTuple):
    """Means of a variable's elements, and their standard errors (zero where exact)."""

    mean: np.ndarray
    std_error: np.ndarray


def schools(draw):
    """Log density of mu, tau > 0 and eta, up to a constant."""
    theta = draw["mu"] + draw["tau"] * draw["eta"]
    prior = draw["mu"] ** 2 / 25 + draw["tau"] ** 2 / 25 + jnp.sum(draw["eta"] ** 2)
    return -(prior + jnp.sum(((EFFECTS - theta) / ERRORS) ** 2)) / 2


def simplex(draw):
    """Log density of shares p, up to a constant."""
    return jnp.sum((COUNTS + CONCENTRATION - 1) * jnp.log(draw["p"]))


def logistic(draw):
    """Log density of the coefficients beta, up to a constant."""
    logits = COVARIATES @ draw["beta"]
    return jnp.sum(OUTCOMES * logits - jax.nn.softplus(logits)) - jnp.sum(draw["beta"] ** 2) / 2


LOG_DENSITIES = {"schools": schools, "simplex": simplex, "logistic": logistic}


def reference(problem: str) -> dict[str, Reference]:
    """Posterior means by variable."""
    if problem == "schools":
        return {name: Reference(mean, np.zeros_like(mean)) for name, mean in _schools_means().items()}
    if problem == "simplex":
        mean = (COUNTS + CONCENTRATION) / (COUNTS + CONCENTRATION).sum()
        return {"p": Reference(mean, np.zeros_like(mean))}
    stored = json.loads(LONG_RUN.read_text())
    return {"beta": Reference(np.array(stored["mean"]), np.array(stored["std_error"]))}


def _schools_means() -> dict[str, np.ndarray]:
    """Given tau, all else is Gaussian: mu with known mean and variance, and theta_j = mu + tau eta_j given mu."""
    tau = 0.002 * (np.arange(20_000)[:, None] + 0.5)  # the midpoint rule: estimates know six digits of these means
    precision = 1 / (tau**2 + ERRORS**2)
    total = precision.sum(axis=1) + 1 / 25
    mu = (precision * EFFECTS).sum(axis=1) / total
    log_weight = -(tau[:, 0] ** 2) / 50 + (np.log(precision).sum(axis=1) - np.log(total)) / 2
    log_weight -= ((precision * EFFECTS**2).sum(axis=1) - mu**2 * total) / 2
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    gap = EFFECTS - mu[:, None]  # E[y_j - mu | tau]
    eta = tau * precision * gap
    average = lambda values: np.tensordot(weight, values, axes=1)  # noqa: E731
    return {
        "mu": average(mu),
        "tau": average(tau[:, 0]),
        "eta": average(eta),
        "theta": average(mu[:, None] + tau * eta),
    }
