"""Inputs by logarithms and logits: other coordinates in which a model may be followed better than in Gaussian ones.

    y_j = log(x_j - low), log(high - x_j) or logit((x_j - low) / (high - low)),   y_j = z_j where x_j has no bound

The score of y is a - b x for gamma and exponential inputs, a - (a + b) x for beta and uniform ones: Stein's operator
knows the mean of x itself there, and what is linear in the inputs is estimated without error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from ..data.unconstrain import unconstrain
from .distribution import Distribution

if TYPE_CHECKING:
    from .joint import GaussianInputs

Rows = Float[np.ndarray, "n d"]

#: Where laws are looked at, in standard deviations of z, and how far from a line of z, in its own deviations, a
#: logarithm may be that is no other coordinate: that of a lognormal input is z, to rounding.
LOOKED_AT, STRAIGHT = np.linspace(-3, 3, 13), 1e-6


@dataclass(frozen=True)
class LogarithmsAndLogits:
    """From points and scores in Gaussian coordinates to those in which the inputs of some axes have no bounds."""

    given: GaussianInputs
    axes: tuple[int, ...]

    @classmethod
    def of(cls, given: GaussianInputs) -> LogarithmsAndLogits | None:
        """For all inputs with a bound; None where these are other words for Gaussian coordinates.

        >>> from vvcv import inputs
        >>> given = inputs.independent(a=inputs.lognormal(0, 1), b=inputs.uniform(0, 1), c=inputs.normal(0, 1))
        >>> LogarithmsAndLogits.of(given).axes
        (1,)
        """
        laws = given.marginals.values()
        axes = tuple(j for j, law in enumerate(laws) if np.isfinite(law.law.support()).any() and not _is_straight(law))
        return cls(given, axes) if axes else None

    def __call__(self, points: Rows, scores: Rows) -> tuple[Rows, Rows]:
        """The same points there; whatever scores are given, those of the inputs' law."""
        x, own = self.given.from_coordinates(points), self.given.coordinates_apart(points)
        there, slopes = (array.copy() for array in own)
        laws = list(self.given.marginals.values())
        low, high = np.array([laws[j].law.support() for j in self.axes]).T
        axes = list(self.axes)
        there[:, axes], slopes[:, axes] = unconstrain(x[:, axes], self.given.score(x)[:, axes], low, high)
        return there, slopes


def _is_straight(law: Distribution) -> bool:
    """Whether the logarithm or logit of an input is a line of z."""
    x = law.from_normal(LOOKED_AT)[:, None]
    y = unconstrain(x, np.zeros_like(x), *law.law.support()).points[:, 0]
    line = np.polynomial.Polynomial.fit(LOOKED_AT, y, 1)(LOOKED_AT)
    return bool(np.abs(y - line).max() <= STRAIGHT * y.std())
