"""`from_blackjax`: states of a BlackJAX sampler, which carry the score of every draw.

score = state.logdensity_grad at state.position
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from ..data import require
from .integrands import Functions
from .logdensity import constrained, scores_at
from .posterior import Posterior
from .pytrees import Flat, flatten


def from_blackjax(
    states: Any,
    *,
    logdensity: Callable[[Any], Any] | None = None,
    constrain: Callable[[Any], Any] | None = None,
    chain_axis: int = 0,
    var_names: Sequence[str] | str | None = None,
    moments: int = 1,
    functions: Functions | None = None,
) -> Posterior:
    """A posterior from the stacked states of a BlackJAX run, of one chain (draw, ...) or several (chain, draw, ...).

    A loop over draws outside and chains inside stacks the states as (draw, chain, ...): say `chain_axis=1`.
    `constrain` maps one position to the variables to report, such as the inverse of the transformations in your log
    density; without it these are the positions. States without gradients (a random walk's) need `logdensity`.
    `var_names`, `moments` and `functions` choose the integrands, as in `Posterior.expect`.

    >>> from types import SimpleNamespace
    >>> z = np.random.default_rng(0).normal(size=(4, 50, 2))
    >>> states = SimpleNamespace(position=z, logdensity=-(z**2).sum(axis=-1) / 2, logdensity_grad=-z)
    >>> from_blackjax(states).names
    ('x[0]', 'x[1]')
    """
    require(
        hasattr(states, "position"),
        f"from_blackjax takes the stacked states of a run, with a field position, but got a {type(states).__name__}. "
        "Pass the states that jax.lax.scan over the kernel's steps returns.",
    )
    many = np.ndim(states.logdensity) > 1 if hasattr(states, "logdensity") else None
    flat = flatten(_chains_first(states.position, chain_axis, many), many)
    _warn_of_axes(flat.points.shape)
    gradient = getattr(states, "logdensity_grad", None)
    return Posterior(
        flat.points,
        _scores(flat, logdensity)
        if gradient is None
        else flatten(_chains_first(gradient, chain_axis, many), many).points,
        flat.draws if constrain is None else constrained(constrain, flat),
        parameters=flat.parameters,
        var_names=var_names,
        moments=moments,
        functions=functions,
    )


def _scores(flat: Flat, logdensity: Callable[[Any], Any] | None) -> np.ndarray:
    require(logdensity is not None, "These states carry no logdensity_grad. Pass logdensity=, your log density.")
    return scores_at(lambda z: logdensity(flat.unravel(z)), flat.points)  # type: ignore[misc]


def _chains_first(tree: Any, chain_axis: int, many: bool | None) -> Any:
    require(chain_axis in (0, 1), f"chain_axis must be 0 (chain, draw, ...) or 1 (draw, chain, ...), not {chain_axis}.")
    return tree if many is False or chain_axis == 0 else jax.tree.map(lambda leaf: np.swapaxes(leaf, 0, 1), tree)


def _warn_of_axes(shape: tuple[int, ...]) -> None:
    if shape[0] > shape[1]:
        warnings.warn(
            f"These states are read as {shape[0]} chains of {shape[1]} draws. If they are stacked as (draw, chain, ...)"
            ", pass chain_axis=1.",
            stacklevel=3,
        )
