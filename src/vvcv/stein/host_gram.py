"""Gram matrices of radial kernels in plain NumPy, strip by strip of rows: nothing to compile, little to call.

A strip reaches from its diagonal to the right: of a symmetric matrix only what lies on and above the diagonal is
formed. What happens within a strip, forward and back, is in `host_strips`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from jaxtyping import Float

from ..kernels import Matern, Side, SquaredExponential
from .host_strips import ExponentialStrip, RadialStrip
from .kernel import SteinKernel

#: Rows up to which compiling takes longer than it saves.
MOST_ROWS = 2048

#: Entries of a strip: a few arrays of this size stay in the processor's cache, and few strips are few calls.
STRIP_ENTRIES = 32_768

#: How the strips of each family are formed (a subclass may be another kernel), and the rows up to which what they were
#: formed of is kept for the gradient: two arrays of the matrix's size for the first, eight for the second.
FORMS: dict[type, tuple[Any, int]] = {SquaredExponential: (ExponentialStrip, 2048), Matern: (RadialStrip, 512)}

Pull = Callable[[np.ndarray], list[np.ndarray]]


def serves(term: SteinKernel, rows: int) -> bool:
    """Whether a Stein kernel on so many rows is evaluated here."""
    return rows <= MOST_ROWS and term.order == 1 and type(term.kernel) in FORMS


def block_and_pullback(term: SteinKernel, side: Side) -> tuple[Float[np.ndarray, "n n"], Pull]:
    """The block on and above its diagonal, and the map from a cotangent's upper triangle to the gradient's leaves."""
    n, d = side.points.shape
    axes = np.ones(d) if term.log_axes is None else np.exp(term.log_axes) * np.ones(d)
    lam = np.exp(-2 * term.kernel.log_lengthscale) * np.ones(d)
    form, most_kept = FORMS[type(term.kernel)]
    strips = list(_strips(n))
    parts = (form(term.kernel, axes, lam, side, start, stop) for start, stop in strips)
    kept = list(parts) if n <= most_kept else None  # of a large matrix they are formed again
    result = np.zeros((n, n))
    for (start, stop), part in zip(strips, kept or parts, strict=True):
        result[start:stop, start:] = part.block

    def pullback(cotangent: Float[np.ndarray, "n n"]) -> list[np.ndarray]:
        by_lam, by_axes = np.zeros(d), np.zeros(d)
        for k, (start, stop) in enumerate(strips):
            part = kept[k] if kept else form(term.kernel, axes, lam, side, start, stop)
            of_lam, of_axes = part.pull(twice_above(cotangent[start:stop, start:]))
            by_lam += of_lam
            by_axes += of_axes
        gradients = [_like(term.kernel.log_lengthscale, -2 * lam * by_lam)]
        return gradients if term.log_axes is None else [*gradients, _like(term.log_axes, axes * by_axes)]

    return result, pullback


def twice_above(cotangent: Float[np.ndarray, "m k"]) -> Float[np.ndarray, "m k"]:
    """The first rows of a symmetric matrix, from the diagonal on, for sums of products: entries above stand for two.

    >>> twice_above(np.array([[1.0, 2.0], [7.0, 3.0]]))
    array([[1., 4.],
           [0., 3.]])
    """
    rows = len(cotangent)
    weights = 2 * cotangent
    weights[:, :rows] = np.triu(weights[:, :rows], 1)
    weights[np.arange(rows), np.arange(rows)] = np.diagonal(cotangent)
    return weights


def _strips(n: int) -> Iterator[tuple[int, int]]:
    """First and last row of strips of about the same number of entries."""
    start = 0
    while start < n:
        stop = min(n, start + max(STRIP_ENTRIES // (n - start), 32))
        yield start, stop
        start = stop


def _like(parameter: Any, gradient: Float[np.ndarray, " d"]) -> np.ndarray:
    """The gradient in a parameter that stands for all dimensions, or for each."""
    return np.reshape(gradient if np.size(parameter) == gradient.size else gradient.sum(), np.shape(parameter))
