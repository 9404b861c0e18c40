"""The law of few coordinates of a target that is known as a whole (`known.py`): a problem of few dimensions.

Of scales v and others y that are N(m(v), C(v)) given these, some coordinates alone have the density

    p(v) N(y_S; m_S(v), C_SS(v))   with all scales,   sum_k p_k N(y_S; m_S(v_k), C_SS(v_k))   with none of them,

v_k the places and p_k the masses of the integral over v. A function of few coordinates is then fitted as one of so few
dimensions, with scores of that density, wherever the others take the target: into the neck of a funnel, for one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from jaxtyping import Float, Int

from .known import Known
from .lines import Rows
from .terms import Places

#: Step of derivatives along scales, in standard deviations, of a rule whose error is its fourth power; and its weights.
STEP, RULE = 2e-3, {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}

#: Mass of a place, in units of the largest, from which on it counts (less is below the rounding of scores); and numbers
#: that are worked out at a time: 32 MB.
COUNTS, AT_A_TIME = 1e-12, 4_000_000

#: Determinant of correlations from which on they are not those of a line: effects are all the same deep in a neck, at a
#: millionth of the width that data tell them apart by, where a prior that is flat in the scale has as little mass.
NO_LINE = 1e-12


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the coordinates of a known target, all scales or none among them."""

    known: Known
    axes: tuple[int, ...]

    @classmethod
    def of(cls, known: Known, axes: Iterable[int]) -> Part:
        """That with these axes, and with all scales if one is among them."""
        scales, asked = set(known.pooled.axes), set(map(int, axes))
        return cls(known, tuple(sorted(asked | scales if asked & scales else asked)))

    @property
    def has_scales(self) -> bool:
        """Whether all scales are among them."""
        return not set(self.known.pooled.axes).isdisjoint(self.axes)

    def seen(self, points: Rows, scores: Rows) -> tuple[Rows, Rows]:
        """Points of these coordinates, scales first, in standard units, and scores of their own density."""
        pooled = self.known.pooled
        x = (points - pooled.middle) / pooled.unit
        y = x[:, [axis for axis in self.axes if axis not in pooled.axes]]
        if not self.has_scales:
            return y, self._mixed(y)
        v = x[:, list(pooled.axes)]
        along, found = self._with_scales(v, y)
        v, along = self.known.margin.as_normal(v, along)
        return np.hstack([v, y]), np.hstack([along, found])

    def _with_scales(self, v: Places, y: Rows) -> tuple[Places, Rows]:
        """Scores along scales and along others."""
        slope = self.known.margin.law.slope(v)
        for axis, move in enumerate(STEP * np.eye(v.shape[1])):
            slope[:, axis] += sum(weight * self._height(v + k * move, y) for k, weight in RULE.items()) / STEP
        mean, width = self._factor(v)
        return slope, -_solved(width, _solved(width, y - mean), True)

    def _height(self, v: Places, y: Rows) -> Float[np.ndarray, " n"]:
        """log N(y_S; m_S(v), C_SS(v)), but for a constant."""
        mean, width = self._factor(v)
        return -np.sum(_solved(width, y - mean) ** 2, axis=-1) / 2 - _log_determinant(width)

    def _mixed(self, y: Rows) -> Rows:
        """Scores of the mixture over all places."""
        places, masses = self.known.margin.mixture
        places, masses = places[masses > COUNTS * masses.max()], masses[masses > COUNTS * masses.max()]
        mean, covariance = self._given(places)
        full = _apart_from_a_line(covariance) > NO_LINE
        mean, width = mean[full], np.linalg.cholesky(covariance[full])
        height = np.log(masses[full]) - _log_determinant(width)
        parts = np.array_split(y, -(-y.size * len(height) // AT_A_TIME) or 1)
        return np.concatenate([_mixture_scores(part, mean, width, height) for part in parts])

    def _factor(self, v: Places) -> tuple[Rows, Float[np.ndarray, "n q q"]]:
        mean, covariance = self._given(v)
        return mean, np.linalg.cholesky(covariance)

    def _given(self, v: Places) -> tuple[Rows, Float[np.ndarray, "n q q"]]:
        """Means and covariances of the others among these coordinates."""
        one, other, at = self._pairs
        mean, covariance, *_ = self.known.margin.law.rest.given(v, (one, other))
        q = len(self._others)
        matrix = np.empty((len(v), q, q))
        matrix[:, at[0], at[1]] = matrix[:, at[1], at[0]] = covariance
        return mean[:, self._others], matrix

    @property
    def _others(self) -> Int[np.ndarray, " q"]:
        """Places of these coordinates among those that are no scales."""
        scales = self.known.pooled.axes
        return np.array([axis - sum(scale < axis for scale in scales) for axis in self.axes if axis not in scales], int)

    @property
    def _pairs(self) -> tuple[Int[np.ndarray, " p"], Int[np.ndarray, " p"], Int[np.ndarray, "2 p"]]:
        """All pairs of them: the coordinates of each, and where it stands in a matrix."""
        q = len(self._others)
        at = np.array(list(combinations_with_replacement(range(q), 2)), int).reshape(-1, 2).T
        return self._others[at[0]], self._others[at[1]], at


def _mixture_scores(
    y: Rows, mean: Float[np.ndarray, "m q"], width: Float[np.ndarray, "m q q"], height: Float[np.ndarray, " m"]
) -> Rows:
    off = _solved(width, y[:, None] - mean)
    log_share = height - np.sum(off**2, axis=-1) / 2
    share = np.exp(log_share - log_share.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    return -np.einsum("nm,nmq->nq", share, _solved(width, off, True))


def _solved(width: Float[np.ndarray, "m q q"], rows: Float[np.ndarray, "... m q"], turned: bool = False) -> np.ndarray:
    """L^-1 times rows, or L'^-1."""
    inverse = np.linalg.inv(width)
    return np.einsum("mqr,...mr->...mq", np.swapaxes(inverse, 1, 2) if turned else inverse, rows, optimize=True)


def _apart_from_a_line(covariance: Float[np.ndarray, "m q q"]) -> Float[np.ndarray, " m"]:
    """The determinants of correlations."""
    return np.linalg.det(covariance) / np.prod(np.diagonal(covariance, axis1=1, axis2=2), axis=1)


def _log_determinant(width: Float[np.ndarray, "m q q"]) -> Float[np.ndarray, " m"]:
    return np.sum(np.log(np.diagonal(width, axis1=1, axis2=2)), axis=1)
