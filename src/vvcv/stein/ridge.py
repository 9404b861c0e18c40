"""Parts of a covariance that need few points: polynomials, and curves along single axes, each with a prior variance.

In coordinates z in which the target is nearly a standard normal, and on each parameter's own axis a_j with the scores
that belong to it alone, c_j = (Sigma s)_j / Sigma_jj,

    linear       s_z . s_z'                                            means
    quadratic    d + z.s + z'.s' + (z.z')(s.s')                        all products of two coordinates
    axis k       sum_j f_kj f_kj',   f_kj = h_k'(a_j) + h_k(a_j) c_j   the k-th Hermite polynomial h_k, k = 1, 2, 3

are Stein kernels of order one: of k = 1, of k = x.y, and of fields Sigma e_j h_k(a_j) / Sigma_jj, whose divergence is
h_k'. Near a Gaussian posterior the last make a one-dimensional problem of every parameter, whatever the correlations.
Where parameters are independent, whatever their distributions, curves along each axis x_j with its own scores s_j do:

    curves       sum_jk f_jk f_jk',                f_jk = e_k'(x_j) + e_k(x_j) s_j
    one curve    sum_k (sum_j f_jk)(sum_j f_jk')

with e_k(x) = exp(-x^2 / 2 l^2) (x / l)^k / sqrt(k!), by which exp(-(x - y)^2 / 2 l^2) = sum_k e_k(x) e_k(y), a Gaussian
kernel on every axis alone. One curve is the same along all of them, as that of a total is, or of the likelihood of
exchangeable parameters: what d curves do not know of their means adds up to d times as much as one does not, where
chance would make it sqrt(d) times. Beside its e_k stands x, so that totals of squares are exact. Axes that are alike
are to face the same way (`data.facing`): exp(x_1) + exp(-x_2) is no total of one curve.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ..runtime.once import cached_property

#: What each part is, in words; the order of the variances.
PARTS = ("linear", "squares", "cubes", "fourths", "products", "curves", "one curve")

#: Lengthscale of curves, in standard deviations, and how many terms they have: the kernel up to eight deviations from
#: the middle. (By the restricted likelihood of totals over twenty axes 4 suits squares of log-gamma variables better
#: than 3 or 2.5, and squares of logistic ones worse; errors of the first are smallest at 4, of the second much alike.
#: With rough curves beside them, of 1.5, logistic ones are followed twice as well, but a search of two parts more ends
#: early: fifteen integrands on one sample have interval scores five times as large.)
LENGTH, TERMS = 4.0, 10


@dataclass(frozen=True, eq=False)
class Ridge:
    """The rows of one side in the coordinates of the parts, and the scale of each part."""

    points: Float[np.ndarray, "n d"]
    scores: Float[np.ndarray, "n d"]
    axes: Float[np.ndarray, "n d"]
    axis_scores: Float[np.ndarray, "n d"]
    own: Float[np.ndarray, "n d"]
    own_scores: Float[np.ndarray, "n d"]
    scale: Float[np.ndarray, " k"]

    @classmethod
    def of(cls, *rows: Float[np.ndarray, "n d"]) -> Ridge:
        """Parts whose variance on these rows is about one on average; on a single axis none is a curve, as kernels are.

        >>> x = np.linspace(-1, 1, 5)[:, None]
        >>> [bool(0.7 < np.trace(m) / 5 < 1.5) for m in Ridge.of(x, -x, x, -x, x, -x).matrices]
        [True, True, True, True, True]
        """
        count = len(PARTS if rows[0].shape[1] > 1 else _POLYNOMIALS)
        unit = cls(**dict(zip(ROWS, rows, strict=True)), scale=np.ones(count))
        size = np.array([part.variance(unit).mean() for _, part in unit._parts])
        # A power of two changes no other digit, and hangs on none.
        return replace(unit, scale=2.0 ** -np.round(np.log2(np.where(size > 0, size, 1.0))))

    def take(self, rows: Int[np.ndarray, " m"]) -> Ridge:
        """Some of the rows, at the same scale."""
        return self.mapped(lambda array: array[rows])

    def mapped(self, change: Callable[[np.ndarray], np.ndarray]) -> Ridge:
        """The same parts on rows that were changed."""
        return replace(self, **{name: change(getattr(self, name)) for name in ROWS})

    @cached_property
    def matrices(self) -> Float[np.ndarray, "k n n"]:
        """All parts between these rows, kept: for many evaluations on few rows."""
        return np.stack([scale * part.block(self, self) for scale, part in self._parts])

    def add_to(self, matrix: Float[np.ndarray, "n m"], variances: np.ndarray, other: Ridge | None = None) -> None:
        """Add the parts, each times its variance, to a matrix between these rows and others, strip by strip."""
        other = other or self
        for start in range(0, len(matrix), STRIP):
            strip = slice(start, min(start + STRIP, len(matrix)))
            mine = self.take(np.arange(strip.start, strip.stop))
            for variance, (scale, part) in zip(variances, self._parts, strict=True):
                if variance * scale > 0:
                    matrix[strip] += (variance * scale) * part.block(mine, other)

    def weighted(self, variances: Any, other: Ridge) -> Any:
        """The sum of the parts, each times its variance, between these rows and others (traceable)."""
        weights = zip(variances, self._parts, strict=True)
        return sum(v * scale * part.block(self, other) for v, (scale, part) in weights)

    @property
    def _parts(self) -> list[tuple[Any, _Part]]:
        """The scale of each part, and the part; curves come last, and are not there on a single axis."""
        return list(zip(self.scale, _PARTS, strict=False))

    @cached_property
    def curves(self) -> Float[np.ndarray, "n k*d"]:
        """The features f_jk of every axis j, term by term."""
        a = self.own / LENGTH
        home = a.__array_namespace__()  # NumPy or JAX
        term, before, features = home.exp(-(a**2) / 2), 0 * a, []
        for k in range(TERMS):
            features.append((k**0.5 * before - a * term) / LENGTH + term * self.own_scores)
            before, term = term, term * a / (k + 1) ** 0.5
        return home.concat(features, axis=1)

    @cached_property
    def one_curve(self) -> Float[np.ndarray, "n k+1"]:
        """The same and the squares, summed over axes."""
        squares = along_axes(self.own, self.own_scores, 1)
        both = squares.__array_namespace__().concat([self.curves, squares], axis=1)
        return both.reshape(len(squares), TERMS + 1, -1).sum(axis=2)


#: What the rows of a side are.
ROWS = ("points", "scores", "axes", "axis_scores", "own", "own_scores")


def along_axes(a: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"], k: int) -> Float[np.ndarray, "n d"]:
    """The features f_kj of the k-th Hermite polynomial along every axis j.

    >>> x = np.array([[-1.0], [2.0]])
    >>> along_axes(x, -x, 1).tolist()
    [[0.0], [-3.0]]
    """
    if k == 1:
        return 1.0 + a * scores
    squares = a * a
    # No a**3: a power of -a need not be minus that of a to the last bit.
    h, slope = (squares - 1, 2 * a) if k == 2 else (a * (squares - 3), 3 * squares - 3)
    return slope + h * scores


#: Rows of a large matrix that are added to at a time, so that no second one of its size is formed.
STRIP = 512


class _Part(NamedTuple):
    """A part between two sides, and its diagonal on one."""

    block: Callable[[Ridge, Ridge], np.ndarray]
    variance: Callable[[Ridge], np.ndarray]


def _of(features: Callable[[Ridge], np.ndarray]) -> _Part:
    return _Part(lambda left, right: features(left) @ features(right).T, lambda rows: (features(rows) ** 2).sum(axis=1))


def _axis(k: int) -> _Part:
    return _of(lambda rows: along_axes(rows.axes, rows.axis_scores, k))


def _products(left: Ridge, right: Ridge) -> np.ndarray:
    drift = (left.points * left.scores).sum(axis=1)[:, None] + (right.points * right.scores).sum(axis=1)
    return (left.scores @ right.scores.T) * (left.points @ right.points.T) + (drift + left.points.shape[1])


def _variance_of_products(rows: Ridge) -> np.ndarray:
    drift = (rows.points * rows.scores).sum(axis=1)
    return rows.points.shape[1] + 2 * drift + (rows.scores**2).sum(axis=1) * (rows.points**2).sum(axis=1)


_POLYNOMIALS = (
    _of(lambda rows: rows.scores),
    *(_axis(k) for k in (1, 2, 3)),
    _Part(_products, _variance_of_products),
)
_CURVES = (_of(lambda rows: rows.curves), _of(lambda rows: rows.one_curve))
_PARTS = _POLYNOMIALS + _CURVES
