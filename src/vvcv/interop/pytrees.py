"""Draws as a pytree <-> points (chain, draw, d): leaves in JAX's order, each flattened, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float

from ..data import require
from .integrands import elements


class Flat(NamedTuple):
    """Points, the names of their coordinates, the leaves by name, and the way back for one point."""

    points: Float[np.ndarray, "chain draw d"]
    parameters: tuple[str, ...]
    draws: dict[str, Float[np.ndarray, "chain draw *shape"]]
    unravel: Callable[[Float[Array, " d"]], Any]


def flatten(tree: Any, chains: bool | None = None) -> Flat:
    """A pytree of draws with leading axes (chain, draw) or (draw,), as points; `chains` says which, None guesses.

    >>> flat = flatten({"mu": np.zeros((4, 100)), "theta": np.ones((4, 100, 2))})
    >>> flat.points.shape, flat.parameters
    ((4, 100, 3), ('mu', 'theta[0]', 'theta[1]'))
    >>> {name: values.shape for name, values in flatten(np.zeros((100, 2))).draws.items()}
    {'x': (1, 100, 2)}
    """
    paths, structure = jax.tree_util.tree_flatten_with_path(tree)
    require(len(paths) > 0, "draws must hold at least one array, but the pytree is empty.")
    names = [_name(path) for path, _ in paths]
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    require(not repeated, f"Arrays must have names of their own, but {repeated} occur more than once. Rename them.")
    complex_ones = [name for name, (_, leaf) in zip(names, paths, strict=True) if np.iscomplexobj(leaf)]
    require(
        not complex_ones,
        f"Draws must be real numbers, but those of {complex_ones} are complex. Pass their real and imaginary parts.",
    )
    leaves = [np.asarray(leaf, dtype=np.float64) for _, leaf in paths]
    if not (_have_chains(leaves, bare=len(paths[0][0]) == 0) if chains is None else chains):
        leaves = [leaf[None] for leaf in leaves]
    leading = {leaf.shape[:2] for leaf in leaves}
    require(
        len(leading) == 1 and all(leaf.ndim >= 2 for leaf in leaves),
        "All draws must have the same leading axes, (chain, draw) or (draw,), but the shapes are "
        f"{[np.shape(leaf) for _, leaf in paths]}. Say which with chains=True or chains=False.",
    )
    draws = dict(zip(names, leaves, strict=True))
    points = np.concatenate([leaf.reshape(*leaf.shape[:2], -1) for leaf in leaves], axis=-1)
    parameters = tuple(element for name, leaf in draws.items() for element, _ in elements(name, leaf, {}))
    return Flat(points, parameters, draws, _unravel([leaf.shape[2:] for leaf in leaves], structure))


def _have_chains(leaves: list[np.ndarray], bare: bool) -> bool:
    """A bare array has one axis for the coordinates; in a pytree, two common axes are (chain, draw) if fewer chains."""
    if bare:
        return leaves[0].ndim >= 3
    if any(leaf.ndim < 2 for leaf in leaves) or len({leaf.shape[:2] for leaf in leaves}) > 1:
        return False
    chain, draw = leaves[0].shape[:2]
    return chain <= draw


def _name(path: tuple[Any, ...]) -> str:
    parts = [getattr(key, "key", getattr(key, "name", getattr(key, "idx", key))) for key in path]
    return ".".join(map(str, parts)) or "x"


def _unravel(shapes: list[tuple[int, ...]], structure: Any) -> Callable[[Float[Array, " d"]], Any]:
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])

    def unravel(point: Float[Array, " d"]) -> Any:
        pieces = [
            point[end - int(np.prod(shape)) : end].reshape(shape) for end, shape in zip(ends, shapes, strict=True)
        ]
        return jax.tree_util.tree_unflatten(structure, pieces)

    return unravel
