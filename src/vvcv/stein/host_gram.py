"""Gram matrices of radial kernels in plain NumPy, strip by strip of rows: nothing to compile, little to call.

A strip reaches from its diagonal to the right: of a symmetric matrix only what lies on and above the diagonal is
formed. What happens within a strip, forward and back, is in `host_strips`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from ..kernels import Matern, SquaredExponential
from .host_strips import Exponential, Rough, Rows
from .kernel import SteinKernel

#: Rows up to which compiling takes longer than it saves.
MOST_ROWS = 2048

#: How the strips of each family are formed (a subclass may be another kernel), and the rows up to which what they were
#: formed of is kept for the gradient: two arrays of half the matrix's size for the first, seven for the second.
FORMS: dict[type, tuple[Any, int]] = {SquaredExponential: (Exponential, 2048), Matern: (Rough, 512)}

Pull = Callable[[np.ndarray], list[np.ndarray]]


def serves(term: SteinKernel, rows: int) -> bool:
    """Whether a Stein kernel on so many rows is evaluated here."""
    return rows <= MOST_ROWS and term.order == 1 and type(term.kernel) in FORMS


def block_and_pullback(term: SteinKernel, rows: Rows) -> tuple[Float[np.ndarray, "n n"], Pull]:
    """The block on and above its diagonal, and the map from a cotangent's upper triangle to the gradient's leaves."""
    n, d = rows.points.shape
    kernel, log_axes = term.kernel, term.log_axes
    log_lengthscale = kernel.log_lengthscale
    axes = np.ones(d) if log_axes is None else np.exp(log_axes) * np.ones(d)
    lam = np.exp(-2 * log_lengthscale) * np.ones(d)
    form, most_kept = FORMS[type(kernel)]
    formed = form(kernel, rows, axes, lam)
    result, kept = np.zeros((n, n)), []
    for start, stop in rows.strips:
        strip = formed.strip(start, stop)
        result[start:stop, start:] = formed.block(strip)
        if n <= most_kept:  # of a large matrix they are formed again
            kept.append(strip)

    def pullback(cotangent: Float[np.ndarray, "n n"]) -> list[np.ndarray]:
        formed.begin()
        for k, (start, stop) in enumerate(rows.strips):
            strip = kept[k] if kept else formed.strip(start, stop)
            formed.pull(strip, twice_above(cotangent[start:stop, start:]), start, stop)
        by_lam, by_axes = formed.gradient()
        gradients = [_like(log_lengthscale, -2 * lam * by_lam)]
        return gradients if log_axes is None else [*gradients, _like(log_axes, axes * by_axes)]

    return result, pullback


def twice_above(cotangent: Float[np.ndarray, "m k"]) -> Float[np.ndarray, "m k"]:
    """The first rows of a symmetric matrix, from the diagonal on, for sums of products: entries above stand for two.

    >>> twice_above(np.array([[1.0, 2.0], [7.0, 3.0]]))
    array([[1., 4.],
           [0., 3.]])
    """
    rows = len(cotangent)
    weights = 2 * cotangent
    square = weights[:, :rows]
    np.copyto(square, 0.0, where=_below(rows))  # whatever was there, even nan
    np.fill_diagonal(square, np.diagonal(cotangent))
    return weights


@lru_cache(maxsize=32)
def _below(rows: int) -> Bool[np.ndarray, "n n"]:
    return np.tri(rows, k=-1, dtype=bool)


def _like(parameter: Any, gradient: Float[np.ndarray, " d"]) -> np.ndarray:
    """The gradient in a parameter that stands for all dimensions, or for each."""
    return np.reshape(gradient if np.size(parameter) == gradient.size else gradient.sum(), np.shape(parameter))
