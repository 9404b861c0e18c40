"""Coordinates in which nothing depends on the user's units (scores travel with the points).

If z = L^-1 (x - m) then grad_z log pi = L' grad_x log pi. Three systems: `scaled`, L the diagonal of spreads,
`whitened`, L the Cholesky factor of the sample covariance, and `precision`, that of the inverse of P, where -P is the
slope of a regression of scores on points. By Stein's identity both have the covariance as their limit; for a Gaussian
the second is exact from n = d + 1 points on. A fourth, `leading`, is one of these turned so that its first axes are
the directions along which values change most (`data.directions`); `few scaled` and `few precision` are the part of one
that the few axes span which values hang on (`data.few_axes`). Values become (f - shift) / scale, task by task.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import solve_triangular

from ..runtime.once import cached_property

#: Ratio of eigenvalues of a precision matrix that is believed: smaller ones rounding or noise has made.
SMALLEST_PRECISION = 1e-8

CoordinateSystem = Literal["scaled", "whitened", "precision"]

#: The system whose axes follow the values, beside those that points and scores tell.
LEADING: Literal["leading"] = "leading"
AnySystem = Literal["scaled", "whitened", "precision", "leading", "few scaled", "few precision"]

#: Which axis comes first, second, ...; None where all are in the places they were given in.
Order = Int[np.ndarray, " d"] | None


@dataclass(frozen=True, eq=False)
class Coordinates:
    """An affine change of variables x = origin + factor turn z, the factor lower-triangular, the turn orthogonal.

    `order` says which of the user's axes comes first, second, ...; origins are in the user's, all else is in this one.

    >>> x = np.array([[0., 10.], [2., 30.], [4., 20.]])
    >>> Coordinates.fit(x, "scaled").points(x).std(axis=0)
    array([1., 1.])
    """

    origin: Float[np.ndarray, " d"]
    factor: Float[np.ndarray, "d d"]
    system: AnySystem
    order: Order = None
    turn: Float[np.ndarray, "d k"] | None = None

    @classmethod
    def fit(
        cls,
        points: Float[np.ndarray, "n d"],
        system: CoordinateSystem,
        weights: Float[np.ndarray, " n"] | None = None,
        order: Order = None,
    ) -> Coordinates:
        """Centre at the mean of the points and measure each axis (or the whole cloud) by its spread."""
        origin = np.average(points, axis=0, weights=weights)
        centred = points - origin
        variance, farthest = np.average(centred**2, axis=0, weights=weights), np.abs(centred).max(axis=0)
        scaled = cls.by_axis(origin, variance, farthest, order)
        if system == "scaled":
            return scaled
        spread = np.diag(scaled.factor)
        unit = scaled._in_order(centred) / spread
        mass = np.full(len(points), 1.0) if weights is None else weights
        correlation = (unit * (mass / mass.sum())[:, None]).T @ unit
        return cls(origin, spread[:, None] * np.linalg.cholesky(correlation), system, order)

    @classmethod
    def by_scores(
        cls,
        points: Float[np.ndarray, "n d"],
        scores: Float[np.ndarray, "n d"],
        covariance: Float[np.ndarray, "d d"],
        weights: Float[np.ndarray, " n"] | None = None,
        order: Order = None,
    ) -> Coordinates:
        """The system `precision`, given what `covariance_from_scores` finds, centred where the regression is zero.

        For a Gaussian that is its mean, and squares of centred coordinates need no linear terms beside them.

        >>> x = np.random.default_rng(0).normal(size=(9, 1)) + 7.0
        >>> Coordinates.by_scores(x, 7.0 - x, np.eye(1)).origin.round(9)
        array([7.])
        """
        origin, slope = (np.average(rows, axis=0, weights=weights) for rows in (points, scores))
        placed = covariance if order is None else covariance[np.ix_(order, order)]
        return cls(origin + covariance @ slope, np.linalg.cholesky(placed), "precision", order)

    @classmethod
    def by_axis(
        cls,
        origin: Float[np.ndarray, " d"],
        variance: Float[np.ndarray, " d"],
        farthest: Float[np.ndarray, " d"],
        order: Order = None,
    ) -> Coordinates:
        """The system `scaled` of points with these means, variances and largest distances from the means."""
        spread = np.sqrt(variance)
        # A coordinate that never varies carries no information: any scale will do, and 1 keeps it finite.
        spread = np.where(spread > 1e-12 * (np.abs(origin) + farthest), spread, 1.0)
        return cls(origin, np.diag(spread if order is None else spread[order]), "scaled", order)

    def on_axes(self, axes: Int[np.ndarray, " k"]) -> Coordinates:
        """What some of the user's axes span here, alone: x_S = origin_S + L_S z, and z is seen along the rows of L_S.

        >>> x = np.random.default_rng(0).normal(size=(9, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0], [0, 0, 2]])
        >>> few = Coordinates.by_scores(x, -x, np.cov(x.T)).on_axes(np.array([1]))
        >>> few.points(x).shape, np.corrcoef(few.points(x)[:, 0], x[:, 1])[0, 1].round(9)
        ((9, 1), np.float64(1.0))
        """
        places = axes if self.order is None else np.argsort(self.order)[axes]
        turn, upper = np.linalg.qr(self.factor[places].T)
        system: AnySystem = "few scaled" if self.system == "scaled" else "few precision"
        return replace(self, system=system, turn=turn * np.sign(np.diag(upper)))

    def points(self, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """z = Q' L^-1 (x - origin)."""
        centred = self._in_order(points - self.origin)
        return self._turned(np.ascontiguousarray(solve_triangular(self.factor, centred.T, lower=True).T))

    def scores(self, scores: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """grad_z log pi = Q' L' grad_x log pi."""
        return self._turned(self._in_order(scores) @ self.factor)

    def gradient(self, slope: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
        """What a slope in all of z is in the user's coordinates and order: L^-T slope.

        >>> Coordinates.fit(np.array([[0.0, 0.0], [4.0, 8.0]]), "scaled").gradient(np.ones(2))
        array([0.5 , 0.25])
        """
        given = solve_triangular(self.factor, slope, lower=True, trans=1)
        return given if self.order is None else given[np.argsort(self.order)]

    @cached_property
    def covariance(self) -> Float[np.ndarray, "d d"]:
        """Sigma = L L'."""
        return self.factor @ self.factor.T

    def axes(self, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """Each of the user's own coordinates, centred, in units of its spread sqrt(Sigma_jj)."""
        return self._in_order(points - self.origin) / np.sqrt(np.diag(self.covariance))

    def axis_scores(self, scores: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """(Sigma s)_j / sqrt(Sigma_jj): the scores along which one coordinate moves and its mean follows."""
        return (self._in_order(scores) @ self.covariance) / np.sqrt(np.diag(self.covariance))

    def _in_order(self, rows: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        return rows if self.order is None else np.ascontiguousarray(rows[:, self.order])

    def _turned(self, rows: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        return rows if self.turn is None else rows @ self.turn


def covariance_from_scores(
    points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"], origins: Float[np.ndarray, "n d"]
) -> Float[np.ndarray, "d d"] | None:
    """Inverse of minus the slope of scores on points around their origins; None where that is no covariance.

    >>> x = np.random.default_rng(0).normal(size=(9, 2)) * [1.0, 5.0]
    >>> covariance_from_scores(x, -x / [1.0, 25.0], np.zeros_like(x)).round(9)
    array([[ 1.,  0.],
           [ 0., 25.]])
    """
    n, d = points.shape
    spread = np.sqrt(np.mean((points - origins) ** 2, axis=0))
    if n < d + 2 or not (spread > 0).all():
        return None
    unit = np.hstack([np.ones((n, 1)), (points - origins) / spread])
    slope = np.linalg.lstsq(unit, scores * spread, rcond=None)[0][1:]
    eigenvalues, vectors = np.linalg.eigh(-(slope + slope.T) / 2)
    if not np.isfinite(eigenvalues).all() or eigenvalues[0] <= SMALLEST_PRECISION * eigenvalues[-1]:
        return None
    return (vectors / eigenvalues) @ vectors.T * np.outer(spread, spread)


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
