"""Inputs by logarithms and logits: other coordinates in which a model may be followed better than in Gaussian ones.

    y_j = log(x_j - low), log(high - x_j) or logit((x_j - low) / (high - low)),   y_j = z_j where x_j has no bound

The score of y is a - b x for gamma and exponential inputs, a - (a + b) x for beta and uniform ones: Stein's operator
knows the mean of x itself there, and what is linear in the inputs is estimated without error.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..data.unconstrain import unconstrain
from .distribution import Distribution

#: Where laws are looked at, in standard deviations of z, and how far from a line of z, in its own deviations, a
#: logarithm may be that is no other coordinate: that of a lognormal input is z, to rounding.
LOOKED_AT, STRAIGHT = np.linspace(-3, 3, 13), 1e-6


def seen_otherwise(laws: Iterable[Distribution]) -> tuple[int, ...]:
    """The inputs with a bound, but for those whose logarithm or logit is another word for z.

    >>> from vvcv import inputs
    >>> seen_otherwise([inputs.lognormal(0, 1), inputs.uniform(0, 1), inputs.normal(0, 1)])
    (1,)
    """
    return tuple(j for j, law in enumerate(laws) if np.isfinite(law.law.support()).any() and not _is_straight(law))


def _is_straight(law: Distribution) -> bool:
    """Whether the logarithm or logit of an input is a line of z."""
    x = law.from_normal(LOOKED_AT)[:, None]
    y = unconstrain(x, np.zeros_like(x), *law.law.support()).points[:, 0]
    line = np.polynomial.Polynomial.fit(LOOKED_AT, y, 1)(LOOKED_AT)
    return bool(np.abs(y - line).max() <= STRAIGHT * y.std())
