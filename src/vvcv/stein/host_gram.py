"""Small Gram matrices of radial kernels in plain NumPy: there, compiled code would spend its time on being called.

The first-order formula of `kernels.radial_stein` for a side with itself, and its derivative by hand: with W = dL/dk0,

    dL/ds = W (phi' inner + 2 phi'' (pull - tr(M Lam)) - 4 phi''' q2),   dL/dinner = W phi,
    dL/dpull = 2 W phi',   dL/dq2 = -4 W phi'',   s = sum_r lam_r delta_r^2,   q2 = sum_r a_r lam_r^2 delta_r^2,
    pull = sum_r a_r lam_r delta_r (s_y - s_x)_r,   inner = sum_r a_r s_xr s_yr,

and sums over pairs of weights times delta_r^2 or delta_r (s_y - s_x)_r are matrix products again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from ..kernels import Matern, Side, SquaredExponential
from ..kernels.radial_stein import COINCIDENT
from .kernel import SteinKernel

#: Rows up to which calling compiled code takes longer than it saves.
MOST_ROWS = 256

Pull = Callable[[np.ndarray], list[np.ndarray]]


def serves(term: SteinKernel, rows: int) -> bool:
    """Whether a Stein kernel on so many rows is evaluated here."""
    return rows <= MOST_ROWS and term.order == 1 and type(term.kernel) in (SquaredExponential, Matern)


def block_and_pullback(term: SteinKernel, side: Side) -> tuple[Float[np.ndarray, "n n"], Pull]:
    """The symmetric block, and the map from a cotangent (upper triangle read) to the gradient's leaves."""
    x, scores = side.points, side.scores
    axes = np.ones(x.shape[1]) if term.log_axes is None else np.exp(term.log_axes) * np.ones(x.shape[1])
    lam = np.exp(-2 * term.kernel.log_lengthscale) * np.ones(x.shape[1])
    s, norms = _squares(x, lam)
    coincident = s <= COINCIDENT * norms
    s[coincident] = 0.0
    q2, _ = _squares(x, axes * lam**2)
    q2[coincident] = 0.0
    along = np.sum(x * scores * (axes * lam), axis=1)
    mixed = (x * (axes * lam)) @ scores.T
    pull = mixed + mixed.T - along[:, None] - (along + np.sum(axes * lam))
    inner = (scores * axes) @ scores.T
    phi = type(term.kernel).profiles(term.kernel, 4, s)  # a method bound to an equinox module takes 50 us to make

    def pullback(cotangent: Float[np.ndarray, "n n"]) -> list[np.ndarray]:
        weights = np.triu(2 * cotangent, 1)
        np.fill_diagonal(weights, np.diagonal(cotangent))
        by_s = weights * (phi[1] * inner + 2 * phi[2] * pull - 4 * phi[3] * q2)
        by_q2 = -4 * weights * phi[2]
        by_s[coincident] = by_q2[coincident] = 0.0
        by_pull = 2 * weights * phi[1]
        of_q2, of_pull = _pair_squares(by_q2, x), _pair_products(by_pull, x, scores) - np.sum(by_pull)
        by_lam = _pair_squares(by_s, x) + axes * of_pull + 2 * axes * lam * of_q2
        by_axes = np.sum(scores * ((weights * phi[0]) @ scores), axis=0) + lam * of_pull + lam**2 * of_q2
        gradients = [_like(term.kernel.log_lengthscale, -2 * lam * by_lam)]
        return gradients if term.log_axes is None else [*gradients, _like(term.log_axes, axes * by_axes)]

    return phi[0] * inner + 2 * phi[1] * pull - 4 * phi[2] * q2, pullback


def _squares(x: np.ndarray, weights: np.ndarray) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, "n n"]]:
    """sum_r weights_r (x_ir - x_jr)^2, and the sum of the two squared norms in it, which scales its rounding."""
    weighted = x * weights
    norm = np.sum(weighted * x, axis=1)
    norms = norm[:, None] + norm
    return norms - 2 * (weighted @ x.T), norms


def _pair_squares(weights: Float[np.ndarray, "n n"], x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " d"]:
    """sum_ij weights_ij (x_ir - x_jr)^2 for every r."""
    return (weights.sum(axis=0) + weights.sum(axis=1)) @ x**2 - 2 * np.sum(x * (weights @ x), axis=0)


def _pair_products(weights: np.ndarray, x: np.ndarray, scores: np.ndarray) -> Float[np.ndarray, " d"]:
    """sum_ij weights_ij (x_ir - x_jr) (scores_jr - scores_ir) for every r."""
    alone = (weights.sum(axis=0) + weights.sum(axis=1)) @ (x * scores)
    return np.sum(x * (weights @ scores) + scores * (weights @ x), axis=0) - alone


def _like(parameter: Any, gradient: Float[np.ndarray, " d"]) -> np.ndarray:
    """The gradient in a parameter that stands for all dimensions, or for each."""
    return np.reshape(gradient if np.size(parameter) == gradient.size else gradient.sum(), np.shape(parameter))
