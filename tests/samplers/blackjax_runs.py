"""The three problems in BlackJAX, whose users write down their log densities and transformations themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import blackjax
import jax
import jax.numpy as jnp
from posteriors import LOG_DENSITIES


def shares(z):
    """Coordinates of a simplex: logarithms of ratios to the last share."""
    return jax.nn.softmax(jnp.append(z, 0.0))


def constrain_schools(z):
    tau = jnp.exp(z["log_tau"])
    return {"mu": z["mu"], "tau": tau, "eta": z["eta"], "theta": z["mu"] + tau * z["eta"]}


class Written(NamedTuple):
    """What a user of BlackJAX writes: a start, the way to the variables, and the log of its Jacobian."""

    start: Any
    constrain: Callable[[Any], dict[str, Any]]
    log_jacobian: Callable[[Any], Any]


WRITTEN = {
    "schools": Written(
        {"mu": jnp.array(0.0), "log_tau": jnp.array(1.0), "eta": jnp.zeros(8)},
        constrain_schools,
        lambda z: z["log_tau"],
    ),
    "simplex": Written(
        {"p": jnp.zeros(3)}, lambda z: {"p": shares(z["p"])}, lambda z: jnp.sum(jnp.log(shares(z["p"])))
    ),
    "logistic": Written({"beta": jnp.zeros(25)}, lambda z: z, lambda z: 0.0),
}


def log_density(problem: str) -> Callable[[Any], Any]:
    """The log density of the unconstrained parameters."""
    return lambda z: LOG_DENSITIES[problem](WRITTEN[problem].constrain(z)) + WRITTEN[problem].log_jacobian(z)


@cache
def run(problem: str, chains: int = 2, draws: int = 250, warmup: int = 500):
    """Stacked states (chain, draw, ...)."""
    density = log_density(problem)
    adaptation = blackjax.window_adaptation(blackjax.nuts, density, target_acceptance_rate=0.9)

    def chain(key):
        warmup_key, key = jax.random.split(key)
        start = jax.tree.map(lambda leaf: leaf.astype(float), WRITTEN[problem].start)
        (state, parameters), _ = adaptation.run(warmup_key, start, warmup)
        step = blackjax.nuts(density, **parameters).step

        def move(state, key):
            state, _ = step(key, state)
            return state, state

        return jax.lax.scan(move, state, jax.random.split(key, draws))[1]

    with jax.enable_x64(True):
        return jax.jit(jax.vmap(chain))(jax.random.split(jax.random.PRNGKey(3), chains))
