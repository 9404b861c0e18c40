"""The logarithm of a scale as a Gaussian's coordinate, by the law of all that hangs on it.

Where all else is Gaussian given v, the logarithm of a scale (`conditional.py`), integrating all else out leaves

    log p(v) = C(v) + what is known of the Gaussians

in which C, what a prior says of v and constants of all Gaussians, is a sum of few terms, linear and exponential in v.
Scores of (v, u) hang on v alone, and tell C without noise. So p is known beyond the draws, where no sampler may have
gone: into the neck of a funnel, for one, that hierarchical models have below the least scale that data rule out.
With F its distribution z = Phi^-1(F(v)) is Gaussian. The score of z is (s_v - s(v)) / z' - z, z' = p(v) / phi(z),
s = (log p)', whatever was found: expectations are the same in all coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from jaxtyping import Float
from scipy.interpolate import CubicHermiteSpline
from scipy.optimize import minimize_scalar
from scipy.special import expit, ndtri

from ..runtime.once import cached_property
from .conditional import Conditional, Numbers, conditional
from .lines import Rows, least_squares
from .pooled import Pooled
from .rounding import rounded

#: Exponents of the terms of C, in units of that of a scale whose precision is exp(h v): a half-normal prior of the
#: scale has 2, an exponential one 1, an inverse gamma of its square -2, a lognormal one a term of second degree in v,
#: whose score is linear. How many of them at most; and, where these do not do, the term of a half-Cauchy or another
#: half-Student prior, whose score turns from one constant to another at a place.
EXPONENTS, LINEAR, MOST_TERMS, TURN = (1, 2, -1, -2), 9, 2, 8

#: Places at which it may turn that are tried, and how far outside the draws they may be, in standard deviations:
#: farther away a turn is an exponential. (From the nearest of fewer a search may end beside the right one.)
TRIED_PLACES, OUTSIDE = 25, 4.0

#: Share of the variance of scores along v that terms may leave: more, and v is no scale of a Gaussian's.
UNEXPLAINED, NOTHING_LEFT = 1e-6, 1e-8

#: By how much less likely both ends of the integral are than the mode (in logarithms), how far away they may be, in
#: standard deviations of the draws, and cells between them, each integrated by a rule of so many places.
FAR_BELOW, FARTHEST, CELLS, PLACES = 35.0, 1000.0, 800, 6

NODES, WEIGHTS = np.polynomial.legendre.leggauss(PLACES)


@dataclass(frozen=True, eq=False)
class Law:
    """The density of v: what it owes to the Gaussians along it, and terms of its own."""

    rest: Conditional
    terms: tuple[int, ...] = ()
    coefficients: tuple[float, ...] = ()
    turn: float = 0.0

    def at(self, v: Numbers) -> tuple[Numbers, Numbers]:
        """log p, but for a constant, and its derivative."""
        height, slope = self.rest.integrated(v)
        for kind, size in zip(self.terms, self.coefficients, strict=True):
            more, steeper = self.term(kind, v)
            height, slope = height + size * more, slope + size * steeper
        return height, slope

    def height(self, v: Numbers) -> Numbers:
        """log p, but for a constant."""
        return self.at(v)[0]

    def term(self, kind: int, v: Numbers) -> tuple[Numbers, Numbers]:
        """A term of log p, and its derivative: a line, an exponential, a square, or a turn from one line to another."""
        if kind == LINEAR:
            return v**2 / 2, v
        if kind == 0:
            return v, np.ones_like(v)
        if kind == TURN:
            steep = 2 * self.rest.speed
            return np.logaddexp(0.0, steep * (v - self.turn)) / steep, expit(steep * (v - self.turn))
        speed = kind * self.rest.speed
        return np.exp(speed * v) / speed, np.exp(speed * v)


@dataclass(frozen=True, eq=False)
class Margin:
    """An axis, the law of its density, and the ends between which that is integrated."""

    axis: int
    law: Law
    ends: tuple[float, float]

    @classmethod
    def of(cls, pooled: Pooled, points: Rows, scores: Rows) -> Margin | None:
        """That of the one scale along which all else is Gaussian, in whose coordinates points and scores are.

        None where there are several, or no density of this kind has such scores.
        """
        rest, axis = conditional(pooled), pooled.axes[0]
        v, s = points[:, axis], scores[:, axis]
        with suppress(np.linalg.LinAlgError):  # a precision that is none beyond the draws
            for law in [] if rest is None else _likeliest(Law(rest), v, s):
                ends = ends_of(law, float(v.min()), float(v.max()))
                if ends is not None and np.isfinite(law.height(np.linspace(*ends, CELLS))).all():
                    return cls(axis, law, ends)
        return None

    def straightened(self, points: Rows, scores: Rows) -> tuple[Rows, Rows]:
        """The axis as a Gaussian's, and scores of the density there."""
        v, s = self._inside(points[:, self.axis]), scores[:, self.axis]
        z, (height, slope) = self._course(v), self.law.at(v)
        there, found = points.copy(), scores.copy()
        there[:, self.axis], found[:, self.axis] = z, (s - slope) / self._steepness(height, z) - z
        return there, found

    def integrated(
        self, v: Numbers, functions: Callable[[Numbers], Float[np.ndarray, "n p"]]
    ) -> tuple[Float[np.ndarray, "n p"], Float[np.ndarray, "n p"]]:
        """Functions less their means under the law, and (integral of that times p up to v) / p(v).

        >>> from types import SimpleNamespace
        >>> law = Law(SimpleNamespace(integrated=lambda v: (0 * v, 0 * v)), (LINEAR,), (-1.0,))
        >>> values, fields = Margin(0, law, (-12.0, 12.0)).integrated(np.array([-3.0, 2.0]), lambda v: v[:, None] ** 2)
        >>> values.T.round(6), fields.T.round(6)  # of x^2 - 1 under a standard normal: -x
        (array([[8., 3.]]), array([[ 3., -2.]]))
        """
        edges, places, masses, most = self._cells
        at = functions(places.ravel())
        mean = masses.ravel() @ at / masses.sum()
        cells = np.einsum("cp,cpf->cf", masses, (at - mean).reshape(*masses.shape, -1))
        below, above = np.cumsum(cells, axis=0)[:-1], np.cumsum(cells[::-1], axis=0)[-2::-1]
        left = np.cumsum(masses.sum(axis=1))[:-1, None] < masses.sum() / 2  # the smaller one is exact
        height, score = self.law.at(edges)
        field = np.where(left, below, -above) * np.exp(most - height)[:, None]
        slope = functions(edges) - mean - field * score[:, None]
        return functions(v) - mean, CubicHermiteSpline(edges, field, slope)(self._inside(v))

    def drawn(self, v: Numbers) -> Numbers:
        """The places of v in a standard normal."""
        return self._course(self._inside(v))

    @cached_property
    def _cells(self) -> tuple[Numbers, Float[np.ndarray, "c q"], Float[np.ndarray, "c q"], float]:
        """Edges between cells, places in them, masses there, and the height that these are relative to."""
        edges = np.linspace(*self.ends, CELLS + 1)
        half = (edges[1:] - edges[:-1])[:, None] / 2
        places = edges[:-1, None] + half * (1 + NODES)
        height = self.law.height(places)
        return edges[1:-1], places, half * WEIGHTS * np.exp(height - height.max()), float(height.max())

    @cached_property
    def _course(self) -> CubicHermiteSpline:
        """z along v: by the masses on both sides of each edge, of which the smaller one is exact."""
        edges, _, masses, _ = self._cells
        share = masses.sum(axis=1) / masses.sum()
        below, above = np.cumsum(share)[:-1], np.cumsum(share[::-1])[-2::-1]
        z = np.where(below < above, ndtri(below), -ndtri(above))
        return CubicHermiteSpline(edges, z, self._steepness(self.law.height(edges), z))

    def _steepness(self, height: Numbers, z: Numbers) -> Numbers:
        """dz / dv, from log p."""
        _, _, masses, most = self._cells
        return np.exp(height - most + z**2 / 2) * np.sqrt(2 * np.pi) / masses.sum()

    def _inside(self, v: Numbers) -> Numbers:
        """Places within the ends: beyond them, where no draw is but a user may ask, as just before."""
        edges = self._cells[0]
        return np.clip(v, edges[0], edges[-1])


def _likeliest(law: Law, v: Numbers, s: Numbers) -> list[Law]:
    """The law with those terms of its own that leave little of the scores, the likeliest first (Schwarz)."""
    laws, needed, left = list[tuple[float, Law]](), law.rest.needed, s - law.at(v)[1]
    whole = max(float(np.var(law.rest.told(v) * s)), 1e-300)
    for count in range(MOST_TERMS + 1):
        for more in combinations([k for k in (*EXPONENTS, LINEAR) if k not in needed], count):
            laws.append(_fitted(law, (*needed, *more), v, left, whole))
    if min(share for share, _ in laws) > NOTHING_LEFT:
        laws.append(_turning(law, v, left, whole))

    def surprise(each: tuple[float, Law]) -> float:
        return len(v) * np.log(each[0] + NOTHING_LEFT) + len(each[1].terms) * np.log(len(v))

    return [found for _, found in sorted((each for each in laws if each[0] <= UNEXPLAINED), key=surprise)]


def _turning(law: Law, v: Numbers, left: Numbers, whole: float) -> tuple[float, Law]:
    """The law with a term that turns, at the place that leaves least, and what it leaves."""

    def fitted(place: float) -> tuple[float, Law]:
        return _fitted(replace(law, turn=float(place)), (*law.rest.needed, TURN), v, left, whole)

    places = np.linspace(v.min() - OUTSIDE, v.max() + OUTSIDE, TRIED_PLACES)
    best, step = min(places, key=lambda place: fitted(place)[0]), places[1] - places[0]
    near = minimize_scalar(lambda p: fitted(p)[0], bounds=(best - step, best + step), options={"xatol": 1e-9})
    return fitted(float(rounded(near.x)))


def _fitted(law: Law, terms: tuple[int, ...], v: Numbers, left: Numbers, whole: float) -> tuple[float, Law]:
    """The share of the variance of scores that neither the Gaussians nor such terms explain, and the law with these."""
    weight = law.rest.told(v)
    columns, left = np.column_stack([weight * law.term(k, v)[1] for k in terms]), weight * left
    found = rounded(least_squares(columns, left))
    share = float(np.mean((left - columns @ found) ** 2)) / whole
    return share, replace(law, terms=terms, coefficients=tuple(map(float, found)))


def ends_of(law: Law, low: float, high: float) -> tuple[float, float] | None:
    """Where a density is so low on both sides that nothing is beyond; None where it rises outside the draws."""
    most, ends = float(law.height(np.linspace(low, high, CELLS)).max()), []
    for end, way in ((low, -1.0), (high, 1.0)):
        height, step = float(law.height(np.array(end))), 0.5
        while most - FAR_BELOW < height <= most and step < FARTHEST:
            end, step = end + way * step, 1.2 * step
            height = float(law.height(np.array(end)))
        if not height <= most - FAR_BELOW:
            return None
        ends.append(float(end))
    return ends[0], ends[1]
