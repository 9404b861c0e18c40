"""Second-order quadrature along the path and its discretisation error.

    log Z = int_0^1 mu(t) dt,   mu' = v,
    log Z ~ sum_i h_i (mu_i + mu_i+1) / 2 - h_i^2 (v_i+1 - v_i) / 12,   h_i = t_i+1 - t_i

mu and v are mean and variance of the log likelihood under the power posterior (paper, section 5.2; Friel, Hurn and
Wyse, 2014). It is the integral of the cubic that matches both at both ends of an interval, with error C h^5.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

PerTemperature = Float[np.ndarray, " w"]


def quadrature_weights(temperatures: PerTemperature) -> tuple[PerTemperature, PerTemperature]:
    """Weights of the means and of the variances in log Z.

    >>> quadrature_weights(np.array([0.0, 0.5, 1.0]))[0]
    array([0.25, 0.5 , 0.25])
    """
    h = np.diff(temperatures)
    means, variances = np.zeros(len(temperatures)), np.zeros(len(temperatures))
    means[:-1] += h / 2
    means[1:] += h / 2
    variances[:-1] += h**2 / 12
    variances[1:] -= h**2 / 12
    return means, variances


def quadrature_errors(
    temperatures: PerTemperature, means: PerTemperature, variances: PerTemperature
) -> Float[np.ndarray, " w-1"]:
    """Discretisation error of each interval, signed, from what merging it with a neighbour changes.

    Two intervals h, h' with error C (h^5 + h'^5) taken as one have C (h + h')^5: their difference gives C.
    """
    h = np.diff(temperatures)
    inside = _interval(h, means[:-1], means[1:], variances[:-1], variances[1:])
    merged = _interval(h[:-1] + h[1:], means[:-2], means[2:], variances[:-2], variances[2:])
    rate = (merged - inside[:-1] - inside[1:]) / ((h[:-1] + h[1:]) ** 5 - h[:-1] ** 5 - h[1:] ** 5)
    # An interval has one such rate from each of its neighbours; those at the ends have one.
    padded = np.concatenate([rate[:1], rate, rate[-1:]])
    return 0.5 * (padded[:-1] + padded[1:]) * h**5


def _interval(h: np.ndarray, left: np.ndarray, right: np.ndarray, v_left: np.ndarray, v_right: np.ndarray):
    return h * (left + right) / 2 - h**2 * (v_right - v_left) / 12
