"""Parameters with joint constraints, moved to the whole real line: simplex, ordered vector, Cholesky factor.

    simplex (K)       z_k = log(x_k / x_K)                     log |dx/dz| = sum_k log x_k
    ordered (K)       z_1 = x_1, z_k = log(x_k - x_(k-1))      log |dx/dz| = sum_(k>1) z_k
    Cholesky (K, K)   z_ij = artanh(L_ij / r_ij), i > j        log |dL/dz| = sum_ij log(r_ij (1 - tanh(z_ij)^2))
                      r_ij^2 = 1 - sum_(l<j) L_il^2            L L' a correlation matrix

    d/dz log p(z) = (dx/dz)' d/dx log p(x) + d/dz log |dx/dz|

Scores d/dx are derivatives with respect to all entries as if they were free; only their part along the constraint
matters. Reference: Lewandowski, Kurowicka and Joe (2009) for the partial correlations tanh(z_ij).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from .validation import require

Transform = Literal["simplex", "ordered", "cholesky_corr"]

#: How far draws may be off their constraint: they may come from single precision.
TOLERANCE = 1e-4


class Moved(NamedTuple):
    """Coordinates z, (dx/dz)' s, and the derivative of log |dx/dz|, all of one shape (..., d)."""

    points: Float[np.ndarray, "*n d"]
    pulled: Float[np.ndarray, "*n d"]
    jacobian: Float[np.ndarray, "*n d"]


def simplex(x: Float[np.ndarray, "*n K"], s: Float[np.ndarray, "*n K"]) -> Moved:
    """Shares that sum to one, as logarithms of their ratios to the last: K - 1 coordinates."""
    require(
        x.shape[-1] > 1 and bool((x > 0).all()) and bool((np.abs(x.sum(axis=-1) - 1) < TOLERANCE).all()),
        "Points of a simplex must be positive and sum to one along the last axis, with two entries at least, but some "
        "are not. Draws that have rounded to zero must be left out.",
    )
    pulled = x * (s - (x * s).sum(axis=-1, keepdims=True))
    z = np.log(x[..., :-1]) - np.log(x[..., -1:])
    return Moved(z, pulled[..., :-1], 1 - x.shape[-1] * x[..., :-1])


def ordered(x: Float[np.ndarray, "*n K"], s: Float[np.ndarray, "*n K"]) -> Moved:
    """Increasing numbers, as the first and the logarithms of the gaps."""
    gaps = np.diff(x, axis=-1)
    require(bool((gaps > 0).all()), "Points of an ordered vector must increase along the last axis, but some do not.")
    later = np.cumsum(s[..., ::-1], axis=-1)[..., ::-1]  # moving one entry moves all later ones
    first = np.ones_like(x[..., :1])
    return Moved(
        np.concatenate([x[..., :1], np.log(gaps)], axis=-1),
        later * np.concatenate([first, gaps], axis=-1),
        np.concatenate([0 * first, np.ones_like(gaps)], axis=-1),
    )


def cholesky_corr(x: Float[np.ndarray, "*n K K"], s: Float[np.ndarray, "*n K K"]) -> Moved:
    """Lower triangular L with rows of length one, as partial correlations: K (K - 1) / 2 coordinates, row by row."""
    size = x.shape[-1]
    require(
        x.ndim >= 3 and x.shape[-2] == size > 1,
        f"Cholesky factors must have shape (n, K, K) with K of at least 2, but have {x.shape}.",
    )
    diagonal = np.diagonal(x, axis1=-2, axis2=-1)
    require(
        bool((diagonal > 0).all())
        and bool((np.abs((x**2).sum(axis=-1) - 1) < TOLERANCE).all())
        and not np.triu(x, 1).any(),
        "Cholesky factors of correlation matrices must be lower triangular with a positive diagonal and rows of length "
        "one, but some are not.",
    )
    rows = [_row(x[..., i, : i + 1], s[..., i, : i + 1]) for i in range(1, size)]
    return Moved(*(np.concatenate(parts, axis=-1) for parts in zip(*rows, strict=True)))


TRANSFORMS: dict[str, Callable[..., Moved]] = {"simplex": simplex, "ordered": ordered, "cholesky_corr": cholesky_corr}


def _row(row: Float[np.ndarray, "*n m1"], s: Float[np.ndarray, "*n m1"]) -> Moved:
    """One row (L_i1, ..., L_ii): each entry as a share of the length that the earlier ones leave."""
    squares = row[..., ::-1] ** 2
    left = np.sqrt(np.cumsum(squares, axis=-1)[..., ::-1])  # r_ij, by what is still to come: exact near one
    share = row[..., :-1] / left[..., :-1]
    ahead = np.cumsum((row * s)[..., ::-1], axis=-1)[..., ::-1][..., 1:]  # sum over k > j of L_ik s_ik
    rest = (left[..., 1:] / left[..., :-1]) ** 2  # 1 - share^2
    entries = share.shape[-1]
    return Moved(
        np.arctanh(share),
        s[..., :-1] * left[..., :-1] * rest - share * ahead,
        -share * (2 + np.arange(entries)[::-1]),
    )
