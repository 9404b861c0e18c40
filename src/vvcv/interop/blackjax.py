"""`from_blackjax`: states of a BlackJAX sampler, which carry the score of every draw.

score = state.logdensity_grad at state.position, or the gradient there of a log density that is given
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from ..data import require
from ..runtime.caller import warn_caller
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
    density; without it these are the positions. `logdensity` is differentiated at the positions, in the place of the
    states' gradients; states without gradients (a random walk's) need it. `var_names`, `moments` and `functions`
    choose the integrands, as in `Posterior.expect`.

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
    many = _several_chains(states)
    flat = flatten(_chains_first(states.position, chain_axis, many), many)
    if many is not None:
        _check_axes(np.shape(_chains_first(states.logdensity, chain_axis, many)), flat.points.shape[not many : 2])
    _warn_of_axes(flat.points.shape)
    kept = None if logdensity is not None else getattr(states, "logdensity_grad", None)
    return Posterior(
        flat.points,
        _scores(flat, logdensity) if kept is None else flatten(_chains_first(kept, chain_axis, many), many).points,
        flat.draws if constrain is None else constrained(constrain, flat),
        parameters=flat.parameters,
        var_names=var_names,
        moments=moments,
        functions=functions,
    )


def _scores(flat: Flat, logdensity: Callable[[Any], Any] | None) -> np.ndarray:
    if logdensity is None:
        raise ValueError("These states carry no logdensity_grad. Pass logdensity=, your log density.")
    return scores_at(logdensity, flat.points, flat.unravel)


def _several_chains(states: Any) -> bool | None:
    """Whether states are of several chains, by their log densities, one for each; None where there are none."""
    if not hasattr(states, "logdensity"):
        return None
    axes = np.ndim(states.logdensity)
    require(
        axes > 0,
        "This is one state, whose log density is one number; pass the stacked states that jax.lax.scan returns.",
    )
    return axes > 1


def _check_axes(found: tuple[int, ...], leading: tuple[int, ...]) -> None:
    require(
        found == leading,
        f"States must have one log density for each position, but log densities have shape {found} and positions "
        f"{leading}. Stack both along the same axes, (draw,) or (chain, draw).",
    )


def _chains_first(tree: Any, chain_axis: int, many: bool | None) -> Any:
    require(chain_axis in (0, 1), f"chain_axis must be 0 (chain, draw, ...) or 1 (draw, chain, ...), not {chain_axis}.")
    return tree if many is False or chain_axis == 0 else jax.tree.map(lambda leaf: np.swapaxes(leaf, 0, 1), tree)


def _warn_of_axes(shape: tuple[int, ...]) -> None:
    if shape[0] > shape[1]:
        warn_caller(
            f"These states are read as {shape[0]} chains of {shape[1]} draws. If they are stacked as (draw, chain, ...)"
            ", pass chain_axis=1 to vvcv.from_blackjax.",
            UserWarning,
        )
