"""What is known of a target all of whose coordinates but one are Gaussian given that one, the logarithm of a scale.

Its law (`pooled.py`, `margin.py`) gives the means of all coordinates, of their squares and of the scale without any
draw: given v each of the others has a mean m(v) and a variance, which one integral over v averages. For

    f = M(v) + a(v).u + u'C(v)u - tr C(v),   u standard normal given v,   M(v) = E[f | v]

the fields G(v) = (integral of (M - E M) p up to v) / p(v) along v and -a(v) - C(v) u along u have the Stein image

    f* = M(v) - E M + G(v) (s_v - (log p)'(v)) - a(v).s_u - tr C(v) - u'C(v)s_u

which is f - E f where the law holds, and has mean zero whatever holds: f - f* then tells how well it does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from .lines import Rows, least_squares
from .margin import Margin
from .pooled import Pooled, apart

Columns = Float[np.ndarray, "n p"]

#: Share of the variance of values that a sum of known functions may leave: rounding of single precision.
OTHER_THAN_KNOWN = 1e-10

#: Rows for each known function below which none is looked for: any values would seem to be a sum of as many as rows.
ROWS_FOR_EACH = 1.2


@dataclass(frozen=True, eq=False)
class Known:
    """The law of a scale's logarithm v and of all others given v.

    Known functions are all other coordinates, their squares, v, its square, the scale and its square, in that order.
    """

    pooled: Pooled
    margin: Margin

    def along(self, points: Rows) -> Float[np.ndarray, " n"]:
        """Places along the scale, as draws of a standard normal."""
        axis = self.margin.axis
        return self.margin.drawn((points[:, axis] - self.pooled.middle[axis]) / self.pooled.unit[axis])

    def sizes(self, points: Rows, values: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "p m"]:
        """How much of each known function values are a sum of; not a number where they are none."""
        functions = self.functions(points)
        columns, centred = functions - functions.mean(axis=0), values - values.mean(axis=0)
        if len(values) < ROWS_FOR_EACH * (functions.shape[1] + 1):
            return np.full((functions.shape[1], values.shape[1]), np.nan)
        sizes = least_squares(columns, centred)
        other = np.sum((centred - columns @ sizes) ** 2, axis=0) > OTHER_THAN_KNOWN * np.sum(centred**2, axis=0)
        return np.where(other, np.nan, sizes)

    def functions(self, points: Rows) -> Columns:
        """The known functions at points."""
        x = (points - self.pooled.middle) / self.pooled.unit
        v, others, _ = apart(self.pooled.axes, x, x)
        return np.hstack([others, others**2, self._of_scale(v[:, 0])])

    def images(self, points: Rows, scores: Rows) -> Columns:
        """Their Stein images."""
        points, scores = self.pooled.straightened(points, scores)
        v, u, found = apart(self.pooled.axes, points, scores)
        along, turn = scores[:, self.margin.axis] - self.margin.law.at(v[:, 0])[1], self.pooled.turn
        linear, spread, off, pulled = self.margin.law.rest.given(v[:, 0], turn, u @ self.pooled.back.T, found @ turn)
        images, fields = self.margin.integrated(v[:, 0], self._expected)
        images += fields * along[:, None]
        k = u.shape[1]
        images[:, :k] -= pulled
        images[:, k : 2 * k] -= 2 * linear * pulled + spread + off * pulled
        return images

    def _expected(self, v: Float[np.ndarray, " n"]) -> Columns:
        """Means of the known functions given v."""
        linear, spread = self.margin.law.rest.given(v, self.pooled.turn)
        return np.hstack([linear, linear**2 + spread, self._of_scale(v)])

    def _of_scale(self, v: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 4"]:
        scale = np.exp(self.margin.law.rest.speed * v)
        return np.column_stack([v, v**2, scale, scale**2])
