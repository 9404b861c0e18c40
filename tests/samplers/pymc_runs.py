"""The three problems in PyMC, sampled by PyMC itself and by nutpie."""

from __future__ import annotations

import warnings
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pymc as pm
from posteriors import CONCENTRATION, COUNTS, COVARIATES, EFFECTS, ERRORS, OUTCOMES


@cache
def model(problem: str) -> pm.Model:
    return {"schools": _schools, "simplex": _simplex, "logistic": _logistic}[problem]()


def run(problem: str, chains: int = 2, draws: int = 250):
    """PyMC's own NUTS."""
    return _quietly(
        lambda: pm.sample(
            draws, tune=500, chains=chains, cores=1, model=model(problem), random_seed=11, progressbar=False
        )
    )


@cache
def run_nutpie(problem: str, chains: int = 2, draws: int = 250):
    """nutpie on the same model, which keeps gradients and unconstrained draws."""
    import nutpie

    compiled = _quietly(lambda: nutpie.compile_pymc_model(model(problem), backend="jax", gradient_backend="jax"))
    return _quietly(
        lambda: nutpie.sample(
            compiled,
            tune=500,
            draws=draws,
            chains=chains,
            cores=1,
            seed=5,
            progress_bar=False,
            store_gradient=True,
            store_unconstrained=True,
        )
    )


def shares(z):
    """PyMC's simplex coordinates: logarithms less their mean, without the last."""
    return jax.nn.softmax(jnp.append(z, -jnp.sum(z)))


def _schools() -> pm.Model:
    with pm.Model(coords={"school": list("ABCDEFGH")}) as model:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfNormal("tau", 5)
        eta = pm.Normal("eta", 0, 1, dims="school")
        theta = pm.Deterministic("theta", mu + tau * eta, dims="school")
        pm.Normal("effects", theta, ERRORS, observed=EFFECTS)
    return model


def _simplex() -> pm.Model:
    with pm.Model() as model:
        p = pm.Dirichlet("p", CONCENTRATION)
        pm.Multinomial("counts", int(COUNTS.sum()), p, observed=COUNTS)
    return model


def _logistic() -> pm.Model:
    with pm.Model() as model:
        beta = pm.Normal("beta", 0, 1, shape=COVARIATES.shape[1])
        pm.Bernoulli("outcomes", logit_p=COVARIATES @ beta, observed=np.asarray(OUTCOMES))
    return model


def _quietly(work):
    """Samplers warn of few chains, of a missing BLAS and of their own future, none of which is tested here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work()
