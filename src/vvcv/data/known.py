"""What is known of a target all of whose coordinates but logarithms of scales are Gaussian given these.

Its law (`pooled.py`, `law.py`) gives the means of all coordinates, of their products and of the scales without any
draw: given v the others have means and covariances, which one integral over v averages. For

    f = M(v) + a(v).u + u'C(v)u - tr C(v),   u standard normal given v,   M(v) = E[f | v]

a field G(v) along v whose Stein image under p is M - E M, and -a(v) - C(v) u along u, have together the Stein image

    f* = M(v) - E M + G(v).(s_v - (log p)'(v)) - a(v).s_u - tr C(v) - u'C(v)s_u

which is f - E f where the law holds. Of one scale G(v) = (integral of (M - E M) p up to v) / p(v), and f* has mean zero
whatever holds. Of several it is a constant that comes near, along v alone, and tells how much it matters what the law
leaves of scores there.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float

from ..runtime.once import cached_property
from .conditional import conditional
from .lattice import Lattice
from .lines import Rows, least_squares
from .margin import Margin
from .pooled import Pooled, apart
from .terms import Places

Columns = Float[np.ndarray, "n p"]
Sizes = Float[np.ndarray, "P m"]

#: Share of the variance of values that a sum of known functions may leave: rounding of single precision.
OTHER_THAN_KNOWN = 1e-10

#: Rows for each known function below which none is looked for: any values would seem to be a sum of as many as rows;
#: and as many as they are told from: more say the same.
ROWS_FOR_EACH, ENOUGH_FOR_EACH = 1.2, 2.0


@dataclass(frozen=True, eq=False)
class Known:
    """The law of the logarithms v of scales and of all others given v.

    Known functions are each v, its square, the scale and its square; all other coordinates y and their squares; where
    some of them z are divided by a scale t, those that squares of y_i + t z_j are a sum of; and all products y_i y_j.
    """

    pooled: Pooled
    margin: Margin | Lattice

    def along(self, points: Rows) -> Places:
        """Places along the scales, each as draws of a standard normal."""
        return self.margin.drawn(self._places(points))

    def told(self, points: Rows) -> Float[np.ndarray, " n"]:
        """How much each row tells beside rounding, between none, deep in a neck, and one."""
        return self.margin.law.rest.told(self._places(points))

    def _places(self, points: Rows) -> Places:
        """v, in the law's units."""
        axes = list(self.pooled.axes)
        return (points[:, axes] - self.pooled.middle[axes]) / self.pooled.unit[axes]

    def sizes(self, points: Rows, values: Float[np.ndarray, "n m"]) -> Sizes:
        """How much of each known function values are a sum of, of as few kinds as will do; no number where of none."""
        found = np.full((self.count, values.shape[1]), np.nan)
        for count in self._kinds:
            open_yet = np.isnan(found[0])
            if open_yet.any() and len(values) >= ROWS_FOR_EACH * (count + 1):
                found[:, open_yet] = 0.0
                found[:count, open_yet] = _sizes(self._functions(points, np.arange(count)), values[:, open_yet])
        return found

    def images(self, points: Rows, scores: Rows, sizes: Sizes) -> Columns:
        """The Stein images of sums of known functions."""
        which, axes = np.flatnonzero(sizes.any(axis=1)), list(self.pooled.axes)
        x, s = (points - self.pooled.middle) / self.pooled.unit, scores * self.pooled.unit
        v, others, found = apart(self.pooled.axes, x, s)
        if isinstance(self.margin, Margin):
            along = self.pooled.straightened(points, scores)[1][:, axes] - self.margin.law.slope(v)
        else:
            along = s[:, axes] - self.margin.law.scores(v, others)
        mean, fields = self.margin.integrated(v, lambda places: self._expected(places, which))
        images = self._explained(v, which, others, found) - mean + np.sum(fields * along[:, None], axis=2)
        return images @ sizes[which]

    def _functions(self, points: Rows, which: Float[np.ndarray, " p"]) -> Columns:
        x = (points - self.pooled.middle) / self.pooled.unit
        v, others, _ = apart(self.pooled.axes, x, x)
        of_scales, power, one, other = self._chosen(which)
        others = np.column_stack([others, np.ones(len(others))])
        return np.hstack([self._of_scales(v)[:, of_scales], self._grown(v, power) * others[:, one] * others[:, other]])

    def _expected(self, v: Places, which: Float[np.ndarray, " p"]) -> Columns:
        """Means M(v) of known functions given v."""
        of_scales, power, i, j = self._chosen(which)
        mean, covariance = self._given(v, (i, j))
        means = self._grown(v, power) * (mean[:, i] * mean[:, j] + covariance)
        return np.hstack([self._of_scales(v)[:, of_scales], means])

    def _explained(self, v: Places, which: Float[np.ndarray, " p"], others: Rows, found: Rows) -> Columns:
        """M(v) - a(v).s_u - tr C(v) - u'C(v)s_u of known functions."""
        of_scales, power, i, j = self._chosen(which)
        mean, _, pulled = self._given(v, (i, j), found)
        half_way = (mean + np.column_stack([others, np.ones(len(v))])) / 2
        whole = mean[:, i] * mean[:, j] - half_way[:, i] * pulled[:, j] - half_way[:, j] * pulled[:, i]
        return np.hstack([self._of_scales(v)[:, of_scales], self._grown(v, power) * whole])

    def _given(self, v: Places, pairs: tuple[np.ndarray, np.ndarray], *scores: Rows) -> tuple[Rows, ...]:
        """Means, covariances, and these times scores, of all other coordinates and of one that is always one."""
        mean, *others = self.margin.law.rest.given(v, pairs, *scores)
        mean[:, -1] = 1.0
        return mean, *others

    def _chosen(self, which: Float[np.ndarray, " p"]) -> tuple[np.ndarray, ...]:
        """Which functions of scales, and powers and pairs of coordinates of the others."""
        first = 4 * len(self.pooled.axes)
        return which[which < first], *self._products[which[which >= first] - first].T

    @cached_property
    def _products(self) -> Float[np.ndarray, "q 3"]:
        """Powers of the scale and pairs of coordinates, of which one more is always one: kind by kind."""
        return np.concatenate([np.array(kind, int).reshape(-1, 3) for kind in self._all])

    @cached_property
    def _all(self) -> list[list[tuple[int, int, int]]]:
        one, divided = len(self.pooled.turn), self.margin.law.rest.by_scale
        each, apart, pairs = range(one), np.flatnonzero(divided).tolist(), list(combinations(range(one), 2))
        plain = [*((0, i, one) for i in each), *((0, i, i) for i in each)]
        scaled = [*((1, i, one) for i in each), *((2, i, j) for i in apart for j in (i, one))]
        scaled += [(1, i, j) for i in np.flatnonzero(~divided).tolist() for j in apart]
        return [plain, *([scaled] if divided.any() else []), [(0, i, j) for i, j in pairs]]

    @property
    def count(self) -> int:
        """How many functions are known."""
        return int(self._kinds[-1])

    @property
    def _kinds(self) -> Float[np.ndarray, " k"]:
        """How many functions there are up to each kind."""
        return 4 * len(self.pooled.axes) + np.cumsum([len(kind) for kind in self._all])

    def _grown(self, v: Places, power: Float[np.ndarray, " q"]) -> Columns:
        rest = self.margin.law.rest
        axis = rest.divided or 0
        return np.exp(np.outer(rest.speeds[axis] * v[:, axis], power))

    def _of_scales(self, v: Places) -> Columns:
        scale = np.exp(v * self.margin.law.rest.speeds)
        return np.hstack([v, v**2, scale, scale**2])


def known_of(pooled: Pooled, points: Rows, scores: Rows) -> Known | None:
    """The law of a target in whose straightened coordinates points and scores are; None where it is no such law."""
    rest, axes = conditional(pooled), pooled.axes
    v, s = points[:, list(axes)], scores[:, list(axes)]
    margin: Margin | Lattice | None = None
    with suppress(np.linalg.LinAlgError):  # a precision that is none beyond the draws
        if rest is not None:
            margin = Margin.of(axes[0], rest, v, s) if len(axes) == 1 else Lattice.of(axes, rest, v, s)
    return None if margin is None else Known(pooled, margin)


def _sizes(functions: Columns, values: Float[np.ndarray, "n m"]) -> Sizes:
    """Sizes of functions in a sum; not a number where values are none."""
    some = np.linspace(0, len(values) - 1, min(len(values), int(ENOUGH_FOR_EACH * functions.shape[1]))).astype(int)
    columns, centred = functions - functions.mean(axis=0), values - values.mean(axis=0)
    sizes = least_squares(columns[some] - columns[some].mean(axis=0), centred[some] - centred[some].mean(axis=0))
    other = np.sum((centred - columns @ sizes) ** 2, axis=0) > OTHER_THAN_KNOWN * np.sum(centred**2, axis=0)
    return np.where(other, np.nan, sizes)
