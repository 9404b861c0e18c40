"""The three problems in Stan, sampled through PyStan (which has no builds for ARM)."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import stan
from posteriors import CONCENTRATION, COUNTS, COVARIATES, EFFECTS, ERRORS, OUTCOMES

PROGRAMS = {
    "schools": """
        data { int J; vector[J] effects; vector<lower=0>[J] errors; }
        parameters { real mu; real<lower=0> tau; vector[J] eta; }
        transformed parameters { vector[J] theta = mu + tau * eta; }
        model { mu ~ normal(0, 5); tau ~ normal(0, 5); eta ~ std_normal(); effects ~ normal(theta, errors); }
    """,
    "simplex": """
        data { int K; array[K] int counts; vector[K] concentration; }
        parameters { simplex[K] p; }
        model { p ~ dirichlet(concentration); counts ~ multinomial(p); }
    """,
    "logistic": """
        data { int N; int K; matrix[N, K] covariates; array[N] int outcomes; }
        parameters { vector[K] beta; }
        model { beta ~ std_normal(); outcomes ~ bernoulli_logit(covariates * beta); }
    """,
}

DATA = {
    "schools": {"J": 8, "effects": EFFECTS.tolist(), "errors": ERRORS.tolist()},
    "simplex": {"K": 4, "counts": COUNTS.tolist(), "concentration": CONCENTRATION.tolist()},
    "logistic": {"N": 300, "K": 25, "covariates": COVARIATES.tolist(), "outcomes": OUTCOMES.tolist()},
}


def run(problem: str, chains: int = 2, draws: int = 250):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what PyStan's own server is told by newer versions of its packages
        built = stan.build(PROGRAMS[problem], data=DATA[problem], random_seed=1)
        return built.sample(num_chains=chains, num_samples=draws, num_warmup=500, delta=0.9)


def shares(z):
    """Stan's simplex coordinates up to version 2.36: stick breaking, centred so that zero is the uniform vector."""
    count = len(z)
    broken = jax.nn.sigmoid(z - jnp.log(np.arange(count, 0, -1.0)))
    left = jnp.concatenate([jnp.ones(1), jnp.cumprod(1 - broken)])
    return jnp.append(broken, 1.0) * left
