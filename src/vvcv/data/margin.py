"""The logarithm of one scale as a Gaussian's coordinate, by the law of all that hangs on it (`law.py`).

With F the distribution of v z = Phi^-1(F(v)) is Gaussian. The score of z is (s_v - s(v)) / z' - z, z' = p(v) / phi(z),
s = (log p)', whatever was found: expectations are the same in all coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.interpolate import CubicHermiteSpline
from scipy.special import ndtri

from ..runtime.once import cached_property
from .conditional import Conditional
from .law import Law, likeliest
from .lines import Rows
from .terms import Numbers, Places

#: By how much less likely both ends of the integral are than the mode (in logarithms), how far away they may be, in
#: standard deviations of the draws, and cells between them, each integrated by a rule of so many places.
FAR_BELOW, FARTHEST, CELLS, PLACES = 35.0, 1000.0, 800, 6

NODES, WEIGHTS = np.polynomial.legendre.leggauss(PLACES)


@dataclass(frozen=True, eq=False)
class Margin:
    """An axis, the law of its density, and the ends between which that is integrated."""

    axis: int
    law: Law
    ends: tuple[float, float]

    @classmethod
    def of(cls, axis: int, rest: Conditional, v: Places, s: Rows) -> Margin | None:
        """That of places and scores along an axis, given which all else is Gaussian; None where no density has such."""
        for law in likeliest(rest, v, s):
            ends = ends_of(law, float(v.min()), float(v.max()))
            if ends is not None and np.isfinite(law.height(np.linspace(*ends, CELLS)[:, None])).all():
                return cls(axis, law, ends)
        return None

    def straightened(self, points: Rows, scores: Rows) -> tuple[Rows, Rows]:
        """The axis as a Gaussian's, and scores of the density there."""
        there, found, axis = points.copy(), scores.copy(), [self.axis]
        there[:, axis], found[:, axis] = self.as_normal(points[:, axis], scores[:, axis])
        return there, found

    def as_normal(self, v: Places, s: Places) -> tuple[Places, Places]:
        """Places along the axis and scores there, as those of a standard normal."""
        v = self._inside(v)
        z, height = self._course(v), self.law.height(v)[:, None]
        return z, (s - self.law.slope(v)) / self._steepness(height, z) - z

    def integrated(
        self, v: Places, functions: Callable[[Places], Float[np.ndarray, "n p"]]
    ) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, "n p 1"]]:
        """Means of functions under the law, and (integral of what is left of them times p up to v) / p(v).

        >>> from types import SimpleNamespace
        >>> from .terms import Square
        >>> law = Law(SimpleNamespace(height=lambda v: 0, slope=lambda v: 0), (Square(0, 1),), (-1.0,))
        >>> mean, fields = Margin(0, law, (-12.0, 12.0)).integrated(np.array([[-3.0], [2.0]]), np.square)
        >>> mean.round(6), fields.T.round(6)  # of x^2 - 1 under a standard normal: -x
        (array([1.]), array([[[ 3., -2.]]]))
        """
        edges, places, masses, most = self._cells
        at = functions(places.reshape(-1, 1))
        mean = masses.ravel() @ at / masses.sum()
        cells = np.einsum("cp,cpf->cf", masses, (at - mean).reshape(*masses.shape, -1))
        below, above = np.cumsum(cells, axis=0)[:-1], np.cumsum(cells[::-1], axis=0)[-2::-1]
        left = np.cumsum(masses.sum(axis=1))[:-1, None] < masses.sum() / 2  # the smaller one is exact
        height, score = self.law.height(edges[:, None]), self.law.slope(edges[:, None])
        field = np.where(left, below, -above) * np.exp(most - height)[:, None]
        slope = functions(edges[:, None]) - mean - field * score
        return mean, CubicHermiteSpline(edges, field, slope)(self._inside(v[:, 0]))[:, :, None]

    @property
    def mixture(self) -> tuple[Places, Numbers]:
        """Places that the law is a mixture over, and their masses."""
        _, places, masses, _ = self._cells
        return places.reshape(-1, 1), masses.ravel() / masses.sum()

    def drawn(self, v: Places) -> Places:
        """The places of v in a standard normal."""
        return self._course(self._inside(v))

    @cached_property
    def _cells(self) -> tuple[Numbers, Float[np.ndarray, "c q"], Float[np.ndarray, "c q"], float]:
        """Edges between cells, places in them, masses there, and the height that these are relative to."""
        edges = np.linspace(*self.ends, CELLS + 1)
        half = (edges[1:] - edges[:-1])[:, None] / 2
        places = edges[:-1, None] + half * (1 + NODES)
        height = self.law.height(places.reshape(-1, 1)).reshape(places.shape)
        return edges[1:-1], places, half * WEIGHTS * np.exp(height - height.max()), float(height.max())

    @cached_property
    def _course(self) -> CubicHermiteSpline:
        """z along v: by the masses on both sides of each edge, of which the smaller one is exact."""
        edges, _, masses, _ = self._cells
        share = masses.sum(axis=1) / masses.sum()
        below, above = np.cumsum(share)[:-1], np.cumsum(share[::-1])[-2::-1]
        z = np.where(below < above, ndtri(below), -ndtri(above))
        return CubicHermiteSpline(edges, z, self._steepness(self.law.height(edges[:, None]), z))

    def _steepness(self, height: Numbers, z: Numbers) -> Numbers:
        """dz / dv, from log p."""
        _, _, masses, most = self._cells
        return np.exp(height - most + z**2 / 2) * np.sqrt(2 * np.pi) / masses.sum()

    def _inside(self, v: Numbers) -> Numbers:
        """Places within the ends: beyond them, where no draw is but a user may ask, as just before."""
        edges = self._cells[0]
        return np.clip(v, edges[0], edges[-1])


def ends_of(law: Law, low: float, high: float) -> tuple[float, float] | None:
    """Where a density is so low on both sides that nothing is beyond; None where it rises outside the draws."""

    def at(place: float) -> float:
        return float(law.height(np.array([[place]]))[0])

    most, ends = float(law.height(np.linspace(low, high, CELLS)[:, None]).max()), []
    for end, way in ((low, -1.0), (high, 1.0)):
        height, step = at(end), 0.5
        while most - FAR_BELOW < height <= most and step < FARTHEST:
            end, step = end + way * step, 1.2 * step
            height = at(end)
        if not height <= most - FAR_BELOW:
            return None
        ends.append(float(end))
    return ends[0], ends[1]
