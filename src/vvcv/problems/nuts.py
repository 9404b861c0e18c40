"""The no-U-turn sampler with a dense mass matrix, in float64, over several chains at once, by BlackJAX.

    theta' ~ NUTS(theta; step size, M),   M and step size adapted per chain in Stan's windows during warmup

Reference: Hoffman and Gelman (2014); the paper's Section 5.3 samples with NUTS in Stan. BlackJAX is an optional
dependency: only this module needs it, and only when a chain is run.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Bool, Float

TARGET_ACCEPTANCE = 0.9

Scalar = Float[Array, ""]
Vector = Float[Array, "d"]
Starts = Float[Array, "chains d"]
ChainVectors = Float[np.ndarray, "chains draws d"]
ChainFlags = Bool[np.ndarray, "chains draws"]
ValueAndScore = Callable[[Vector], tuple[Scalar, Vector]]


class Chains(NamedTuple):
    """Draws with their scores, which the sampler has computed anyway, and the draws that ended in a divergence."""

    points: ChainVectors
    scores: ChainVectors
    divergent: ChainFlags


def sample_nuts(key: Array, value_and_score: ValueAndScore, start: Starts, n_draws: int, warmup: int) -> Chains:
    """n_draws of each chain after `warmup` steps of adaptation, from the given starting points."""
    run = _compiled(value_and_score, n_draws, warmup)
    return Chains(*map(np.array, run(jax.random.split(key, len(start)), start)))


@cache
def _compiled(
    value_and_score: ValueAndScore, n_draws: int, warmup: int
) -> Callable[[Array, Starts], tuple[Array, Array, Array]]:
    """The sampler as one compiled function, kept because compiling takes longer than a short run."""
    blackjax = _import_blackjax()
    log_density = _with_score(value_and_score)
    adaptation = blackjax.window_adaptation(
        blackjax.nuts, log_density, is_mass_matrix_diagonal=False, target_acceptance_rate=TARGET_ACCEPTANCE
    )

    def chain(key: Array, position: Vector) -> tuple[Array, Array, Array]:
        warmup_key, draw_key = jax.random.split(key)
        (state, parameters), _ = adaptation.run(warmup_key, position, warmup)
        kernel = blackjax.nuts(log_density, **parameters)

        def step(state, key):
            state, info = kernel.step(key, state)
            return state, (state.position, state.logdensity_grad, info.is_divergent)

        return jax.lax.scan(step, state, jax.random.split(draw_key, n_draws))[1]

    return jax.jit(jax.vmap(chain))


def _with_score(value_and_score: ValueAndScore) -> Callable[[Vector], Scalar]:
    """A log density whose gradient is the given score, so that BlackJAX need not differentiate in reverse."""

    @jax.custom_vjp
    def log_density(x: Vector) -> Scalar:
        return value_and_score(x)[0]

    log_density.defvjp(value_and_score, lambda score, cotangent: (cotangent * score,))
    return log_density


def _import_blackjax():
    try:
        import blackjax
    except ImportError as error:
        raise ImportError("Sampling with NUTS needs BlackJAX: pip install 'vvcv[blackjax]'.") from error
    return blackjax
