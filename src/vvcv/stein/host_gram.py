"""Gram matrices of radial kernels in plain NumPy, strip by strip of rows: nothing to compile, little to call.

The first-order formula of `kernels.radial_stein` between rows and columns, and its derivative by hand: with W = dL/dk0,

    dL/ds = W (phi' inner + 2 phi'' (pull - tr(M Lam)) - 4 phi''' q2),   dL/dinner = W phi,
    dL/dpull = 2 W phi',   dL/dq2 = -4 W phi'',   s = sum_r lam_r delta_r^2,   q2 = sum_r a_r lam_r^2 delta_r^2,
    pull = sum_r a_r lam_r delta_r (s_y - s_x)_r,   inner = sum_r a_r s_xr s_yr,

and sums over pairs of weights times delta_r^2 or delta_r (s_y - s_x)_r are matrix products again. A strip reaches from
its diagonal to the right: of a symmetric matrix only what lies on and above the diagonal is formed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..kernels import Matern, Side, SquaredExponential
from ..kernels.radial_stein import COINCIDENT
from .kernel import SteinKernel

#: Kernels that state their profile in NumPy and have no parameter but the lengthscale; a subclass may be another.
FAMILIES = (SquaredExponential, Matern)

#: Rows up to which compiling takes longer than it saves.
MOST_ROWS = 2048

#: Entries of a strip: a few arrays of this size stay in the processor's cache.
STRIP_ENTRIES = 65_536

#: Rows up to which what the matrix was formed of is kept for its gradient: nine arrays of its size.
KEPT_ROWS = 512

Pull = Callable[[np.ndarray], list[np.ndarray]]


def serves(term: SteinKernel, rows: int) -> bool:
    """Whether a Stein kernel on so many rows is evaluated here."""
    return rows <= MOST_ROWS and term.order == 1 and type(term.kernel) in FAMILIES


def block_and_pullback(term: SteinKernel, side: Side) -> tuple[Float[np.ndarray, "n n"], Pull]:
    """The block on and above its diagonal, and the map from a cotangent's upper triangle to the gradient's leaves."""
    n, d = side.points.shape
    axes = np.ones(d) if term.log_axes is None else np.exp(term.log_axes) * np.ones(d)
    lam = np.exp(-2 * term.kernel.log_lengthscale) * np.ones(d)
    strips = list(_strips(n))
    parts = (_Strip.of(term, axes, lam, side, start, stop) for start, stop in strips)
    kept = list(parts) if n <= KEPT_ROWS else None  # of a large matrix they are formed again
    result = np.zeros((n, n))
    for (start, stop), part in zip(strips, kept or parts, strict=True):
        result[start:stop, start:] = part.block()

    def pullback(cotangent: Float[np.ndarray, "n n"]) -> list[np.ndarray]:
        by_lam, by_axes = np.zeros(d), np.zeros(d)
        for k, (start, stop) in enumerate(strips):
            part = kept[k] if kept else _Strip.of(term, axes, lam, side, start, stop)
            of_lam, of_axes = part.pull(_twice_above(cotangent[start:stop, start:]), axes, lam)
            by_lam += of_lam
            by_axes += of_axes
        gradients = [_like(term.kernel.log_lengthscale, -2 * lam * by_lam)]
        return gradients if term.log_axes is None else [*gradients, _like(term.log_axes, axes * by_axes)]

    return result, pullback


class _Strip(NamedTuple):
    """Everything the formula needs between some rows and all rows from the first of them on."""

    x: Float[np.ndarray, "m d"]
    s_x: Float[np.ndarray, "m d"]
    y: Float[np.ndarray, "k d"]
    s_y: Float[np.ndarray, "k d"]
    coincident: Any
    q2: Float[np.ndarray, "m k"]
    pull_term: Float[np.ndarray, "m k"]
    inner: Float[np.ndarray, "m k"]
    phi: list[Float[np.ndarray, "m k"]]

    @classmethod
    def of(cls, term: SteinKernel, axes: np.ndarray, lam: np.ndarray, side: Side, start: int, stop: int) -> _Strip:
        x, s_x, y, s_y = side.points[start:stop], side.scores[start:stop], side.points[start:], side.scores[start:]
        s, norms = _squares(x, y, lam)
        coincident = s <= COINCIDENT * norms
        s[coincident] = 0.0
        q2, _ = _squares(x, y, axes * lam**2)
        q2[coincident] = 0.0
        weights = axes * lam
        pull = (x * weights) @ s_y.T
        pull += (s_x * weights) @ y.T
        pull -= np.sum(x * s_x * weights, axis=1)[:, None]
        pull -= np.sum(y * s_y * weights, axis=1) + np.sum(weights)
        phi = type(term.kernel).profiles(term.kernel, 4, s)  # a method bound to an equinox module takes 50 us to make
        return cls(x, s_x, y, s_y, coincident, q2, pull, (s_x * axes) @ s_y.T, phi)

    def block(self) -> Float[np.ndarray, "m k"]:
        return self.phi[0] * self.inner + 2 * self.phi[1] * self.pull_term - 4 * self.phi[2] * self.q2

    def pull(
        self, weights: Float[np.ndarray, "m k"], axes: np.ndarray, lam: np.ndarray
    ) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
        """The gradient in Lam and in M."""
        phi = self.phi
        by_s = weights * (phi[1] * self.inner + 2 * phi[2] * self.pull_term - 4 * phi[3] * self.q2)
        by_q2 = -4 * weights * phi[2]
        by_s[self.coincident] = by_q2[self.coincident] = 0.0
        by_pull = 2 * weights * phi[1]
        of_q2, of_pull = self._pair_squares(by_q2), self._pair_products(by_pull) - np.sum(by_pull)
        by_lam = self._pair_squares(by_s) + axes * of_pull + 2 * axes * lam * of_q2
        by_axes = np.sum(self.s_x * ((weights * phi[0]) @ self.s_y), axis=0) + lam * of_pull + lam**2 * of_q2
        return by_lam, by_axes

    def _pair_squares(self, weights: Float[np.ndarray, "m k"]) -> Float[np.ndarray, " d"]:
        """sum_ij weights_ij (x_ir - y_jr)^2 for every r."""
        alone = weights.sum(axis=1) @ self.x**2 + weights.sum(axis=0) @ self.y**2
        return alone - 2 * np.sum(self.x * (weights @ self.y), axis=0)

    def _pair_products(self, weights: Float[np.ndarray, "m k"]) -> Float[np.ndarray, " d"]:
        """sum_ij weights_ij (x_ir - y_jr) (s_yjr - s_xir) for every r."""
        alone = weights.sum(axis=1) @ (self.x * self.s_x) + weights.sum(axis=0) @ (self.y * self.s_y)
        return np.sum(self.x * (weights @ self.s_y) + self.s_x * (weights @ self.y), axis=0) - alone


def _strips(n: int) -> Iterator[tuple[int, int]]:
    """First and last row of strips of about the same number of entries."""
    start = 0
    while start < n:
        stop = min(n, start + max(STRIP_ENTRIES // (n - start), 32))
        yield start, stop
        start = stop


def _twice_above(cotangent: Float[np.ndarray, "m k"]) -> Float[np.ndarray, "m k"]:
    """A strip of a symmetric cotangent whose entries above the diagonal stand for two, those below for none."""
    rows = len(cotangent)
    weights = 2 * cotangent
    weights[:, :rows] = np.triu(weights[:, :rows], 1)
    weights[np.arange(rows), np.arange(rows)] = np.diagonal(cotangent)
    return weights


def _squares(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """sum_r weights_r (x_ir - y_jr)^2, and the sum of the two squared norms in it, which scales its rounding."""
    weighted = x * weights
    norms = np.sum(weighted * x, axis=1)[:, None] + np.sum(y * y * weights, axis=1)
    return norms - 2 * (weighted @ y.T), norms


def _like(parameter: Any, gradient: Float[np.ndarray, " d"]) -> np.ndarray:
    """The gradient in a parameter that stands for all dimensions, or for each."""
    return np.reshape(gradient if np.size(parameter) == gradient.size else gradient.sum(), np.shape(parameter))
