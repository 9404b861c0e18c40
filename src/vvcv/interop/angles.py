"""Angles as PyMC samples them: any real number stands for its place on the circle.

    x = z wrapped into (-pi, pi),   then off these bounds with the Jacobian, as `unconstrain` does

On the real line the density of z repeats itself, so that E[z s] = -1 and its like fail: it is no density there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ..data.unconstrain import Unconstrained, unconstrain

#: How PyMC's circular transformation marks the names of its coordinates.
MARK = "_circular__"


def cut_open(
    points: Float[np.ndarray, "chain draw d"], scores: Float[np.ndarray, "chain draw d"], names: Sequence[str]
) -> Unconstrained:
    """Points and scores whose angles, known by their names, are cut open at pi; others stay as they are.

    >>> z = np.array([[[0.0, 1.0], [2 * np.pi, 2.0]]])
    >>> cut_open(z, -z, ["wind_circular__", "mu"]).points.round(6)
    array([[[0., 1.],
            [0., 2.]]])
    """
    angle = np.array([MARK in name for name in names])
    if not angle.any():
        return Unconstrained(points, scores)
    wrapped = np.where(angle, (points + np.pi) % (2 * np.pi) - np.pi, points)
    return unconstrain(wrapped, scores, np.where(angle, -np.pi, -np.inf), np.where(angle, np.pi, np.inf))
