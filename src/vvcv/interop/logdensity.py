"""`from_logdensity`: any JAX log density of unconstrained parameters, differentiated at the draws.

s(z) = d/dz log p(z),   automatic differentiation in float64, over batches of draws
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..data import require
from ..runtime.caller import warn_caller
from ..runtime.progress import progress_bar
from ..runtime.tracing import as_array, differentiable
from .double import in_double
from .integrands import Functions
from .posterior import Posterior
from .pytrees import Flat, flatten

#: Draws differentiated at once: enough to keep a processor busy, few enough for large models.
BATCH = 256

#: More chains than anyone is likely to run, and fewer draws than a chain is likely to have.
MANY_CHAINS, FEW_DRAWS = 32, 4


def from_logdensity(
    logdensity: Callable[[Any], Any],
    draws: Any,
    *,
    constrain: Callable[[Any], Any] | None = None,
    chains: bool | None = None,
    var_names: Sequence[str] | str | None = None,
    moments: int = 1,
    functions: Functions | None = None,
) -> Posterior:
    """A posterior from draws of unconstrained parameters and a JAX function that gives their log density.

    `draws` is any pytree whose arrays have leading axes (chain, draw) or (draw,); `chains=True` or `False` says which
    where shapes do not. `logdensity` takes one draw, a pytree of the same structure, and includes the Jacobians of
    any transformation. `constrain` maps one draw to the variables to report; without it these are the draws.
    `var_names`, `moments` and `functions` choose the integrands, as in `Posterior.expect`.

    >>> import jax.numpy as jnp
    >>> z = {"log_tau": np.random.default_rng(0).normal(size=(4, 50))}
    >>> posterior = from_logdensity(
    ...     lambda z: -z["log_tau"] ** 2 / 2, z, constrain=lambda z: {"tau": jnp.exp(z["log_tau"])}
    ... )
    >>> posterior.names, bool(np.allclose(posterior.scores, -posterior.points))
    (('tau',), True)
    """
    require(
        chains is None or isinstance(chains, bool | np.bool_),
        f"chains must be True, of draws (chain, draw, ...), or False, of draws (draw, ...), but is {chains!r}.",
    )
    flat = flatten(draws, chains)
    if chains is None:
        _warn_of_guess(flat)
    return Posterior(
        flat.points,
        scores_at(logdensity, flat.points, flat.unravel),
        flat.draws if constrain is None else constrained(constrain, flat),
        parameters=flat.parameters,
        var_names=var_names,
        moments=moments,
        functions=functions,
    )


def _warn_of_guess(flat: Flat) -> None:
    """Say how draws were read where hardly anyone would have drawn so."""
    chain, draw = flat.points.shape[:2]
    scalars = all(leaf.ndim == 2 for leaf in flat.draws.values())
    if draw < FEW_DRAWS or (scalars and chain > MANY_CHAINS):
        warn_caller(
            f"The draws are read as {chain} chain(s) of {draw} draws of {flat.points.shape[-1]} parameter(s). Pass "
            "chains=False if their first axis is that of the draws, or chains=True to be sure that it is the chains'.",
            UserWarning,
        )


@in_double
def scores_at(
    logdensity: Callable[[Any], Any],
    points: Float[np.ndarray, "chain draw d"],
    unravel: Callable[[Float[Array, " d"]], Any] = lambda point: point,
) -> Float[np.ndarray, "chain draw d"]:
    """Gradients of a log density at all points, with a progress bar if it takes long; `unravel` makes one a draw."""
    require(callable(logdensity), f"logdensity must be a function of one draw, but is {logdensity!r}.")
    rows = points.reshape(-1, points.shape[-1])

    def of_point(point: Float[Array, " d"]) -> Float[Array, ""]:
        return _one_number(logdensity(unravel(point)))

    with differentiable("logdensity"):
        jax.eval_shape(of_point, rows[0])
    both = jax.jit(jax.vmap(jax.value_and_grad(of_point)))
    found = []
    with progress_bar("gradients at the draws", len(rows)) as step:
        for start in range(0, len(rows), BATCH):
            batch = rows[start : start + BATCH]
            filled = np.resize(batch, (min(BATCH, len(rows)), rows.shape[1]))  # of one size: nothing is compiled twice
            found.append([np.asarray(part)[: len(batch)] for part in both(filled)])
            step(len(batch))
    values, gradients = (np.concatenate(parts) for parts in zip(*found, strict=True))
    _check_support(values.reshape(points.shape[:-1]))
    return gradients.reshape(points.shape)


def _one_number(value: Any) -> Float[Array, ""]:
    """What a log density gave for one draw, if it is a number that has a gradient."""
    number = as_array(value)
    require(
        jnp.issubdtype(number.dtype, jnp.floating),
        "logdensity must give one real number for one draw, but gave "
        f"{value.dtype if hasattr(value, 'dtype') else type(value).__name__}. Let it return the log density itself, "
        "computed by jax.numpy from the draw.",
    )
    require(
        number.shape == (),
        f"logdensity must give one number for one draw, but gave an array of shape {number.shape}. Sum its terms; if "
        "draws have leading axes (chain, draw) or (draw,) that were mistaken for each other, say which with chains=.",
    )
    return number


def _check_support(values: Float[np.ndarray, "chain draw"]) -> None:
    """A gradient may be finite where the density is not: that of log x at a negative x is 1 / x."""
    outside = ~np.isfinite(values)
    if outside.any():
        chain, draw = (int(i) for i in np.argwhere(outside)[0])
        raise ValueError(
            f"logdensity must be finite at every draw, but is not at {int(outside.sum())} of {outside.size}; the first "
            f"is {values[chain, draw]} at draw {draw} of chain {chain}. Draws must be those that logdensity takes, "
            "without constraints (log tau, not tau), and within its support."
        )


@in_double
def constrained(constrain: Callable[[Any], Any], flat: Flat) -> dict[str, Float[np.ndarray, "chain draw *shape"]]:
    """The variables to report, by name, from the function that gives them for one draw."""
    require(callable(constrain), f"constrain must be a function of one draw, but is {constrain!r}.")
    rows = flat.points.reshape(-1, flat.points.shape[-1])
    with differentiable("constrain"):
        tree = jax.jit(jax.vmap(lambda z: constrain(flat.unravel(z))))(rows)
    leading = flat.points.shape[:2]
    return flatten(jax.tree.map(lambda leaf: np.asarray(leaf).reshape(*leading, *leaf.shape[1:]), tree), True).draws
