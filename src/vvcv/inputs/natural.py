"""Inputs by logarithms and logits: other coordinates in which a model may be followed better than in Gaussian ones.

    y_j = log(x_j - low), log(high - x_j) or logit((x_j - low) / (high - low)),   y_j = z_j where x_j has no bound

Not where the law bends or jumps inside (triangular laws, histograms): where a score jumps, what is smooth may be fitted
about a wrong mean, and where a density does, Stein's identity does not hold. In z no law bends.

The score of y is a - b x for gamma and exponential inputs, a - (a + b) x for beta and uniform ones: Stein's operator
knows the mean of x itself there, and what is linear in the inputs is estimated without error.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..data.unconstrain import unconstrain
from .distribution import Distribution

#: How often windows are halved in search of a bend, and which part of all slopes a change is that stays: of 27 smooth
#: laws less than .00005 stayed, of triangles, trapezoids, histograms and a truncated Laplace law .1 to 500.
HALVINGS, JUMP = 10, 1e-2

#: Where laws are looked at, in standard deviations of z, and how far from a line of z, in its own deviations, a
#: logarithm may be that is no other coordinate: that of a lognormal input is z, to rounding.
LOOKED_AT, STRAIGHT = np.linspace(-3, 3, 13), 1e-6

#: Windows between these quantiles, in each of which the largest bend is looked for: a law has few that count.
WINDOWS = 31


def seen_otherwise(laws: Iterable[Distribution]) -> tuple[int, ...]:
    """The inputs with a bound, but for those whose logarithm or logit is another word for z.

    >>> from vvcv import inputs
    >>> seen_otherwise([inputs.lognormal(0, 1), inputs.uniform(0, 1), inputs.normal(0, 1)])
    (1,)
    """
    return tuple(j for j, law in enumerate(laws) if _is_bounded(law) and not _is_straight(law) and not _bends(law))


def _is_bounded(law: Distribution) -> bool:
    return bool(np.isfinite(law.law.support()).any())


def _bends(law: Distribution) -> bool:
    """Whether the score jumps, or even the density, in the coordinate without bounds: a change of slope that stays.

    >>> from vvcv import inputs
    >>> _bends(inputs.triangular(0, 1, 4)), _bends(inputs.beta(2, 3))
    (True, False)
    """

    def log_density(z: np.ndarray) -> np.ndarray:
        x = law.from_normal(z)
        stretch = unconstrain(x[:, None], np.ones((z.size, 1)), *law.law.support(), jacobian=False).scores[:, 0]
        return law.log_density(x) + np.log(stretch)

    z, width = np.linspace(LOOKED_AT[0], LOOKED_AT[-1], WINDOWS, retstep=True)
    with np.errstate(all="ignore"):
        at = np.array([log_density(z - width), log_density(z), log_density(z + width)])
        least = JUMP * np.ptp(at[2] - at[1]) / width
        for _ in range(HALVINGS):
            width = width / 2
            at = np.array([at[0], log_density(z - width), at[1], log_density(z + width), at[2]])
            changes = np.abs(at[2:] - 2 * at[1:-1] + at[:-2]) / width  # of slope, around z - width, z and z + width
            most = changes.argmax(axis=0)
            z, at = z + (most - 1) * width, np.array([at[most + k, np.arange(z.size)] for k in range(3)])
    return bool(changes.max() > least)


def _is_straight(law: Distribution) -> bool:
    """Whether the logarithm or logit of an input is a line of z."""
    x = law.from_normal(LOOKED_AT)[:, None]
    y = unconstrain(x, np.zeros_like(x), *law.law.support()).points[:, 0]
    line = np.polynomial.Polynomial.fit(LOOKED_AT, y, 1)(LOOKED_AT)
    return bool(np.abs(y - line).max() <= STRAIGHT * y.std())
