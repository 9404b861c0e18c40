"""Coordinates that are Gaussian once a few scales are known, and others that are so whatever the scales are.

In a hierarchical model every group has data of its own and a prior whose width is a parameter, and the width of the
noise is another one. Along the logarithms v of such widths all else is Gaussian, or nearly, of a precision and a pull

    P(v) = sum_k g_k(v) B_k,   p(v) = sum_k g_k(v) p_k,   g_k(v) = exp(h_k . v),   so that   s = p(v) - P(v) x

which is linear in all B_k and p_k: least squares tell them without noise (`scales.py` says what is tried as v and h).
With x = W y, W such that P(0) is the unit matrix and the part that grows most is diagonal, and P = L L' in these
coordinates, (v, W L' (y - P^-1 p)) has the same precision at any v. One scale whose groups are not divided by it has
two parts, 1 and exp(h v), that are diagonal together: every y_k is then Gaussian on its own, a funnel or partly so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import LinAlgError, eigh, eigvalsh

from .lines import Rows, least_squares, standard
from .rounding import rounded

Growth = Float[np.ndarray, "K a"]
Parts = Float[np.ndarray, "K k k"]

#: The largest exponent of a growth: no precision grows so much, and squares beyond it soon are no numbers any more.
LARGEST = 300.0

#: Precisions, of a sum of one, that are none: rounding makes them, and in the neck of a funnel would grow beyond all.
NO_PRECISION = 1e-6

#: Rows whose precisions are factorised at a time: 10 MB of them in 50 dimensions.
AT_A_TIME = 512


@dataclass(frozen=True, eq=False)
class Pooled:
    """Axes, and how precisions and pulls of all others grow along these, in standard units."""

    axes: tuple[int, ...]
    middle: Float[np.ndarray, " d"]
    unit: Float[np.ndarray, " d"]
    growth: Growth
    turn: Float[np.ndarray, "k k"]
    back: Float[np.ndarray, "k k"]
    parts: Parts
    pulls: Float[np.ndarray, "K k"]

    @classmethod
    def along(cls, axes: tuple[int, ...], growth: Growth, points: Rows, scores: Rows) -> Pooled | None:
        """What least squares tell along these axes; None where no Gaussian has such precisions.

        Parts that grow along one axis each are precisions themselves, and what makes them less is noise.

        >>> rng = np.random.default_rng(0)
        >>> v, u = rng.normal(size=(2, 60, 1))
        >>> t = 1 + np.exp(v)
        >>> x, s = np.hstack([v, u / np.sqrt(t)]), np.hstack([(1 / t - u**2 / t) * np.exp(v) / 2 - v, -u * np.sqrt(t)])
        >>> pooled = Pooled.along((0,), np.array([[0.0], [x[:, 0].std()]]), x, s)
        >>> y, g = pooled.straightened(x, s)
        >>> np.allclose(g[:, 1], y[:, 1] * (g[0, 1] / y[0, 1]), atol=1e-5)
        True
        """
        x, s = standard(points, scores)
        v, others, target = apart(axes, x, s)
        line = least_squares(*weighed(v, others, target, growth)).reshape(len(growth), -1, others.shape[1])
        parts = -rounded(line[:, 1:] + line[:, 1:].transpose(0, 2, 1)) / 2
        try:
            turn = _turn(parts)
        except LinAlgError:
            return None
        back, parts = turn.T @ parts.sum(axis=0), turn.T @ parts @ turn
        if (np.count_nonzero(growth, axis=1) <= 1).all() and len(growth) == len(axes) + 1:
            parts = np.array([_precision(part) for part in parts])
        growing = np.exp(v @ growth.T)
        square = growing @ np.diagonal(parts, axis1=1, axis2=2)
        if not (square > 0).all():
            return None
        pulls = _pulls(growing, np.sqrt(square), parts, others @ back.T, target @ turn)
        if len(growth) == 2:  # diagonal together: what has no precision pulls nothing
            pulls = np.where(np.diagonal(parts, axis1=1, axis2=2) < NO_PRECISION, 0.0, pulls)
        return cls(axes, points.mean(axis=0), points.std(axis=0), growth, turn, back, parts, pulls)

    def straightened(self, points: Rows, scores: Rows) -> tuple[Rows, Rows]:
        """The coordinates (v, u), and scores of the density of these."""
        x, s = (points - self.middle) / self.unit, scores * self.unit
        v, others, target = apart(self.axes, x, s)
        y, score, along = others @ self.back.T, target @ self.turn, s[:, self.axes]
        u, found, change = in_parts(self._straight, v, y, score)
        there, scored = np.empty_like(x), np.empty_like(s)
        there[:, self.axes], scored[:, self.axes] = v, along + change
        others_at = _others(self.axes, x.shape[1])
        there[:, others_at], scored[:, others_at] = u @ self.turn.T, found @ self.back
        return there, scored

    def _straight(self, v: Rows, y: Rows, score: Rows) -> tuple[Rows, Rows, Rows]:
        """L' (y - P^-1 p), its scores, and what scores along the axes change by."""
        growing = np.exp(v @ self.growth.T)
        factor = np.linalg.cholesky(np.tensordot(growing, self.parts, 1))
        inverse = np.linalg.inv(factor)
        turned = inverse.transpose(0, 2, 1)
        middle = times(turned, times(inverse, growing @ self.pulls))
        u, change = times(factor.transpose(0, 2, 1), y - middle), np.empty_like(v)
        for axis, rate in enumerate(self.growth.T):
            slope = np.tensordot(growing * rate, self.parts, 1)  # dP / dv
            half = np.tril(inverse @ slope @ turned) * (1 - np.eye(y.shape[1]) / 2)  # dL = L half
            pulled = times(inverse, (growing * rate) @ self.pulls - times(slope, middle))
            moved = times(turned, pulled - times(half.transpose(0, 2, 1), u))  # dy / dv
            change[:, axis] = np.sum(score * moved, axis=1) - np.trace(half, axis1=1, axis2=2)
        return u, times(inverse, score), change


def in_parts(work: Callable[..., tuple[np.ndarray, ...]], *rows: np.ndarray) -> list[np.ndarray]:
    """Work on some rows at a time, put together: each has a matrix of its own."""
    parts = np.array_split(np.arange(len(rows[0])), -(-len(rows[0]) // AT_A_TIME))
    return [np.concatenate(each) for each in zip(*(work(*(r[part] for r in rows)) for part in parts), strict=True)]


def apart(axes: tuple[int, ...], x: Rows, s: Rows) -> tuple[Float[np.ndarray, "n a"], Rows, Rows]:
    """Some axes, the others, and the others' scores.

    >>> apart((1,), np.array([[1.0, 2.0, 3.0]]), np.array([[4.0, 5.0, 6.0]]))
    (array([[2.]]), array([[1., 3.]]), array([[4., 6.]]))
    """
    others = _others(axes, x.shape[1])
    return x[:, axes], x[:, others], s[:, others]


def weighed(v: Float[np.ndarray, "n a"], others: Rows, target: Rows, growth: Growth) -> tuple[np.ndarray, Rows]:
    """Columns of all lines, and scores, over how large the scores are: a point deep in the neck of a funnel would
    outweigh all others. Where lines have no noise, weights do not change them.

    >>> weighed(np.zeros((1, 1)), np.array([[3.0]]), np.array([[4.0]]), np.array([[0.0], [1.0]]))
    (array([[0.5, 1.5, 0.5, 1.5]]), array([[2.]]))
    """
    line, square = np.column_stack([np.ones(len(v)), others]), np.mean(target**2, axis=1, keepdims=True)
    weight = 1 / (1 + square / np.maximum(np.median(square), 1e-300))  # free of the law: all laws are compared alike
    growing = weight * np.exp(np.minimum(v @ growth.T, LARGEST))
    return (growing[:, :, None] * line[:, None, :]).reshape(len(v), -1), weight * target


def _others(axes: tuple[int, ...], d: int) -> Float[np.ndarray, " k"]:
    return np.delete(np.arange(d), axes)


def _turn(parts: Parts) -> Float[np.ndarray, "k k"]:
    """Coordinates in which the sum of all parts is one, and the largest of those that grow diagonal."""
    whole = parts.sum(axis=0)
    most = max(parts[1:], key=lambda part: round(float(np.sum(eigvalsh(part, whole) ** 2)), 4))
    return eigh(most, whole)[1]


def _precision(part: Float[np.ndarray, "k k"]) -> Float[np.ndarray, "k k"]:
    """The nearest matrix that is a precision."""
    values, vectors = np.linalg.eigh((part + part.T) / 2)
    return (vectors * np.where(values < NO_PRECISION, 0.0, values)) @ vectors.T


def _pulls(growing: Float[np.ndarray, "n K"], width: Rows, parts: Parts, y: Rows, score: Rows) -> np.ndarray:
    """All p_k by least squares, every row weighed by the width that it has."""
    pull = (score + sum(growing[:, [k]] * (y @ part) for k, part in enumerate(parts))) / width
    each = [least_squares(growing / width[:, [j]], pull[:, j]) for j in range(pull.shape[1])]
    return rounded(np.array(each).T)


def times(matrices: Float[np.ndarray, "n k k"], vectors: Rows) -> Rows:
    return np.matmul(matrices, vectors[:, :, None])[:, :, 0]
