"""Parameters on a bounded domain, moved to the whole real line: points, and scores with the Jacobian.

    lower only   z = log(x - l)                 dx/dz = x - l
    upper only   z = log(u - x)                 dx/dz = -(u - x)
    both         z = log((x - l) / (u - x))     dx/dz = (x - l)(u - x) / (u - l)

    d/dz log p(z) = (d/dx log p(x)) dx/dz + d/dz log |dx/dz|

Stein's identity needs a density that vanishes at the boundary; on the real line there is no boundary. Constraints on
several coordinates at once are in `transforms`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from .axes import in_order_of
from .transforms import TRANSFORMS, Transform
from .validation import finite_array, require


class Unconstrained(NamedTuple):
    """Points on the whole real line and scores of their density there."""

    points: Float[np.ndarray, "*n d"]
    scores: Float[np.ndarray, "*n d"]


def unconstrain(
    points: Any,
    scores: Any,
    lower: Any = None,
    upper: Any = None,
    *,
    transform: Transform | None = None,
    jacobian: bool = True,
) -> Unconstrained:
    """Points and scores in coordinates without bounds; values of integrands stay as they are.

    `lower` and `upper` are one number or one per coordinate; None or an infinity means no bound. `points` have shape
    (n, d), or any shape that ends in d. With `jacobian=False` the scores are those of a function that is no density,
    such as a likelihood, whose prior carries the Jacobian.

    `transform` names a joint constraint of the last axis instead: "simplex" (K entries give K - 1 coordinates) or
    "ordered"; or of the last two, "cholesky_corr", the Cholesky factor of a correlation matrix. Coordinates of
    several parameters are put side by side with `numpy.concatenate([...], axis=-1)`.

    >>> x = np.array([[0.5], [2.0]])                      # an exponential distribution: log p = -x, score -1
    >>> unconstrain(x, -np.ones((2, 1)), lower=0).scores  # log p(z) = z - exp(z)
    array([[ 0.5],
           [-1. ]])
    >>> p = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])  # uniform on the simplex: score zero
    >>> unconstrain(p, np.zeros_like(p), transform="simplex").scores
    array([[ 0.4,  0.1],
           [-0.8,  0.1]])
    """
    x, s = finite_array(points, "points"), finite_array(in_order_of(points, scores), "scores")
    require(
        x.ndim >= 2 and x.shape == s.shape,
        f"points and scores must have one shape that ends in the dimension, such as (n, d), but have {x.shape} and "
        f"{s.shape}. Write one-dimensional points as a column, x[:, None].",
    )
    if transform is not None:
        require(transform in TRANSFORMS, f"transform must be one of {list(TRANSFORMS)}, but is {transform!r}.")
        require(lower is None and upper is None, "Give bounds or a transform, not both.")
        moved = TRANSFORMS[transform](x, s)
        return Unconstrained(moved.points, moved.pulled + (moved.jacobian if jacobian else 0.0))
    z, slope, change = _without_bounds(x, lower, upper)
    return Unconstrained(z, s * slope + (change if jacobian else 0.0))


def _without_bounds(x: np.ndarray, lower: Any, upper: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every coordinate without its bounds, what its score is multiplied by, and what the Jacobian adds to it."""
    low, high = _bound(lower, -np.inf, x.shape[-1], "lower"), _bound(upper, np.inf, x.shape[-1], "upper")
    require(bool((low < high).all()), f"lower must be below upper, but they are {low.tolist()} and {high.tolist()}.")
    _check_inside(x, low, high)
    z, slope, change = np.array(x), np.ones_like(x), np.zeros_like(x)
    for j in range(x.shape[-1]):
        z[..., j], slope[..., j], change[..., j] = _coordinate(x[..., j], low[j], high[j])
    return z, slope, change


def _coordinate(x: np.ndarray, low: float, high: float) -> tuple[Any, Any, Any]:
    """z, dx/dz and d/dz log |dx/dz| of one coordinate."""
    if np.isfinite(low) and np.isfinite(high):
        below, above = x - low, high - x
        return np.log(below) - np.log(above), below * (above / (high - low)), (above - below) / (high - low)
    if np.isfinite(low):
        return np.log(x - low), x - low, 1.0
    if np.isfinite(high):
        return np.log(high - x), x - high, 1.0
    return x, 1.0, 0.0


def _bound(value: Any, default: float, d: int, name: str) -> Float[np.ndarray, " d"]:
    try:
        entries = np.ravel(np.asarray(value, dtype=object))
        bound = np.broadcast_to(np.array([default if e is None else e for e in entries], dtype=float), (d,))
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be one number or one per coordinate ({d}), but is {value!r}.") from None
    require(not np.isnan(bound).any(), f"{name} must not be nan. Use None, or an infinity, for no bound.")
    return bound


def _check_inside(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    outside = (x <= low) | (x >= high)
    if outside.any():
        index = tuple(int(i) for i in np.argwhere(outside)[0])
        raise ValueError(
            f"Points must lie strictly between their bounds, but {int(outside.sum())} entries do not; the first is "
            f"{x[index]:g} at index {index}, with bounds {low[index[-1]]:g} and {high[index[-1]]:g}. Check the bounds."
        )
