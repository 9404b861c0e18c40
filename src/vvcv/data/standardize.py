"""Coordinates in which nothing depends on the user's units (scores travel with the points).

If z = L^-1 (x - m) then grad_z log pi = L' grad_x log pi. Two systems: `scaled`, L the diagonal of spreads, and
`whitened`, L the Cholesky factor of the sample covariance. Values become (f - shift) / scale, task by task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.linalg import solve_triangular

CoordinateSystem = Literal["scaled", "whitened"]


@dataclass(frozen=True, eq=False)
class Coordinates:
    """An affine change of variables x = origin + factor z with lower-triangular factor.

    >>> x = np.array([[0., 10.], [2., 30.], [4., 20.]])
    >>> Coordinates.fit(x, "scaled").points(x).std(axis=0)
    array([1., 1.])
    """

    origin: Float[np.ndarray, " d"]
    factor: Float[np.ndarray, "d d"]
    system: CoordinateSystem

    @classmethod
    def fit(cls, points: Float[np.ndarray, "n d"], system: CoordinateSystem, weights=None) -> Coordinates:
        """Centre at the mean of the points and measure each axis (or the whole cloud) by its spread."""
        origin = np.average(points, axis=0, weights=weights)
        centred = points - origin
        spread = np.sqrt(np.average(centred**2, axis=0, weights=weights))
        # A coordinate that never varies carries no information: any scale will do, and 1 keeps it finite.
        spread = np.where(spread > 1e-12 * (np.abs(origin) + np.abs(centred).max(axis=0)), spread, 1.0)
        if system == "scaled":
            return cls(origin, np.diag(spread), system)
        unit = centred / spread
        mass = np.full(len(points), 1.0) if weights is None else weights
        correlation = (unit * (mass / mass.sum())[:, None]).T @ unit
        return cls(origin, spread[:, None] * np.linalg.cholesky(correlation), system)

    def points(self, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """z = L^-1 (x - origin)."""
        return np.ascontiguousarray(solve_triangular(self.factor, (points - self.origin).T, lower=True).T)

    def scores(self, scores: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """grad_z log pi = L' grad_x log pi."""
        return scores @ self.factor


def can_whiten(points: Float[np.ndarray, "n d"]) -> bool:
    """Whether the sample covariance is well enough determined for a Cholesky factor to be trusted (n > 2 d)."""
    n, d = points.shape
    if d == 1 or n <= 2 * d:
        return False
    centred = points - points.mean(axis=0)
    spread = centred.std(axis=0)
    if not (spread > 0).all():
        return False
    return np.linalg.eigvalsh(np.corrcoef(centred / spread, rowvar=False))[0] > 1e-10
