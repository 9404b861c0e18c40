"""The three problems in NumPyro, sampled with NUTS in double precision."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.distributions.transforms import StickBreakingTransform
from numpyro.infer import MCMC, NUTS
from posteriors import CONCENTRATION, COUNTS, COVARIATES, EFFECTS, ERRORS, OUTCOMES


def schools(errors, effects=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfNormal(5))
    with numpyro.plate("school", len(errors)):
        eta = numpyro.sample("eta", dist.Normal(0, 1))
        theta = numpyro.deterministic("theta", mu + tau * eta)
        numpyro.sample("effects", dist.Normal(theta, errors), obs=effects)


def simplex(counts=None):
    p = numpyro.sample("p", dist.Dirichlet(CONCENTRATION))
    numpyro.sample("counts", dist.Multinomial(int(COUNTS.sum()), probs=p), obs=counts)


def logistic(covariates, outcomes=None):
    beta = numpyro.sample("beta", dist.Normal(0, 1).expand([covariates.shape[1]]).to_event(1))
    numpyro.sample("outcomes", dist.Bernoulli(logits=covariates @ beta), obs=outcomes)


ARGUMENTS = {
    "schools": (schools, (ERRORS,), {"effects": EFFECTS}),
    "simplex": (simplex, (), {"counts": COUNTS}),
    "logistic": (logistic, (COVARIATES,), {"outcomes": OUTCOMES}),
}


def run(problem: str, chains: int = 2, draws: int = 250, fields: tuple[str, ...] = ("z_grad",)) -> MCMC:
    model, args, kwargs = ARGUMENTS[problem]
    kernel = NUTS(model, target_accept_prob=0.9)
    mcmc = MCMC(
        kernel, num_warmup=500, num_samples=draws, num_chains=chains, chain_method="vectorized", progress_bar=False
    )
    with jax.enable_x64(True):
        mcmc.run(jax.random.PRNGKey(7), *args, extra_fields=fields, **kwargs)
    return mcmc


def shares(z):
    """NumPyro's simplex coordinates: stick breaking."""
    return StickBreakingTransform()(jnp.asarray(z))
