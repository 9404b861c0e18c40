"""Angles as PyMC, and NumPyro's CircularReparam, sample them: any real number stands for its place on the circle.

    x = z wrapped into (-pi, pi),   then off these bounds with the Jacobian, as `unconstrain` does

On the real line the density of z repeats itself, so that E[z s] = -1 and its like fail: it is no density there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from ..data.unconstrain import Unconstrained, unconstrain

#: How PyMC's circular transformation marks the names of its coordinates.
MARK = "_circular__"


def circular(names: Sequence[str]) -> Bool[np.ndarray, " d"]:
    """Which of PyMC's coordinates are angles.

    >>> circular(["wind_circular__[0]", "mu"])
    array([ True, False])
    """
    return np.array([MARK in name for name in names], dtype=bool)


def cut_open(
    points: Float[np.ndarray, "chain draw d"], scores: Float[np.ndarray, "chain draw d"], angle: Bool[np.ndarray, " d"]
) -> Unconstrained:
    """Points and scores whose angles are cut open at pi; other coordinates stay as they are.

    >>> z = np.array([[[0.0, 1.0], [2 * np.pi, 2.0]]])
    >>> cut_open(z, -z, np.array([True, False])).points.round(6)
    array([[[0., 1.],
            [0., 2.]]])
    """
    if not angle.any():
        return Unconstrained(points, scores)
    wrapped = np.where(angle, (points + np.pi) % (2 * np.pi) - np.pi, points)
    return unconstrain(wrapped, scores, np.where(angle, -np.pi, -np.inf), np.where(angle, np.pi, np.inf))
