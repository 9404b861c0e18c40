"""Polynomial parts of a covariance that need no more points than coefficients: each kind with a prior variance.

In coordinates z in which the target is nearly a standard normal, and on each parameter's own axis a_j with the scores
that belong to it alone, c_j = (Sigma s)_j / Sigma_jj,

    linear       s_z . s_z'                                            means
    quadratic    d + z.s + z'.s' + (z.z')(s.s')                        all products of two coordinates
    axis k       sum_j f_kj f_kj',   f_kj = h_k'(a_j) + h_k(a_j) c_j   the k-th Hermite polynomial h_k, k = 1, 2, 3

are Stein kernels of order one: of k = 1, of k = x.y, and of fields Sigma e_j h_k(a_j) / Sigma_jj, whose divergence is
h_k'. Near a Gaussian posterior the last make a one-dimensional problem of every parameter, whatever the correlations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..runtime.once import cached_property

#: What each part is, in words; the order of the variances.
PARTS = ("linear", "squares", "cubes", "fourths", "products")

Block = Callable[["Ridge", "Ridge"], np.ndarray]


@dataclass(frozen=True, eq=False)
class Ridge:
    """The rows of one side in the coordinates of the polynomial parts, and the scale of each part."""

    points: Float[np.ndarray, "n d"]
    scores: Float[np.ndarray, "n d"]
    axes: Float[np.ndarray, "n d"]
    axis_scores: Float[np.ndarray, "n d"]
    scale: Float[np.ndarray, " k"]

    @classmethod
    def of(cls, points: np.ndarray, scores: np.ndarray, axes: np.ndarray, axis_scores: np.ndarray) -> Ridge:
        """Parts whose variance on these rows is about one on average.

        >>> x = np.linspace(-1, 1, 5)[:, None]
        >>> [bool(0.7 < np.trace(m) / 5 < 1.5) for m in Ridge.of(x, -x, x, -x).matrices]
        [True, True, True, True, True]
        """
        rows = cls(points, scores, axes, axis_scores, np.ones(len(PARTS)))
        size = np.array([part_variance.mean() for part_variance in rows._variances()])
        # A power of two changes no other digit, and hangs on none.
        return replace(rows, scale=2.0 ** -np.round(np.log2(np.where(size > 0, size, 1.0))))

    def take(self, rows: Int[np.ndarray, " m"]) -> Ridge:
        """Some of the rows, at the same scale."""
        return self.mapped(lambda array: array[rows])

    def mapped(self, change: Callable[[np.ndarray], np.ndarray]) -> Ridge:
        """The same parts on rows that were changed."""
        points, scores, axes, axis_scores = map(change, (self.points, self.scores, self.axes, self.axis_scores))
        return Ridge(points, scores, axes, axis_scores, self.scale)

    @cached_property
    def matrices(self) -> Float[np.ndarray, "k n n"]:
        """All parts between these rows, kept: for many evaluations on few rows."""
        return np.stack([scale * block(self, self) for scale, block in zip(self.scale, _BLOCKS, strict=True)])

    def add_to(self, matrix: Float[np.ndarray, "n m"], variances: np.ndarray, other: Ridge | None = None) -> None:
        """Add the parts, each times its variance, to a matrix between these rows and others, strip by strip."""
        other = other or self
        for start in range(0, len(matrix), STRIP):
            strip = slice(start, min(start + STRIP, len(matrix)))
            mine = self.take(np.arange(strip.start, strip.stop))
            for variance, scale, block in zip(variances, self.scale, _BLOCKS, strict=True):
                if variance * scale > 0:
                    matrix[strip] += (variance * scale) * block(mine, other)

    def weighted(self, variances: Any, other: Ridge) -> Any:
        """The sum of the parts, each times its variance, between these rows and others (traceable)."""
        return sum(v * s * block(self, other) for v, s, block in zip(variances, self.scale, _BLOCKS, strict=True))

    def _variances(self) -> list[Float[np.ndarray, " n"]]:
        """The diagonal of each part."""
        square = np.sum(self.scores**2, axis=1)
        drift = np.sum(self.points * self.scores, axis=1)
        products = self.points.shape[1] + 2 * drift + square * np.sum(self.points**2, axis=1)
        along = [np.sum(self.along_axes(k) ** 2, axis=1) for k in (1, 2, 3)]
        return [square, *along, products]

    def along_axes(self, k: int) -> Float[np.ndarray, "n d"]:
        """The features f_kj of every axis j."""
        a = self.axes
        if k == 1:
            return 1.0 + a * self.axis_scores
        h, slope = (a**2 - 1, 2 * a) if k == 2 else (a**3 - 3 * a, 3 * a**2 - 3)
        return slope + h * self.axis_scores


#: Rows of a large matrix that are added to at a time, so that no second one of its size is formed.
STRIP = 512


def _linear(left: Ridge, right: Ridge) -> np.ndarray:
    return left.scores @ right.scores.T


def _products(left: Ridge, right: Ridge) -> np.ndarray:
    drift = (left.points * left.scores).sum(axis=1)[:, None] + (right.points * right.scores).sum(axis=1)
    return (left.scores @ right.scores.T) * (left.points @ right.points.T) + (drift + left.points.shape[1])


def _axis(k: int) -> Block:
    return lambda left, right: left.along_axes(k) @ right.along_axes(k).T


_BLOCKS: tuple[Block, ...] = (_linear, _axis(1), _axis(2), _axis(3), _products)
