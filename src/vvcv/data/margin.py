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

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar
from scipy.special import expit, logsumexp, ndtri_exp

from .conditional import Conditional, conditional
from .lines import Rows, least_squares
from .pooled import Pooled
from .rounding import rounded

Numbers = Float[np.ndarray, " n"]

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
FAR_BELOW, FARTHEST, CELLS, PLACES = 35.0, 1000.0, 400, 8

NODES, WEIGHTS = np.polynomial.legendre.leggauss(PLACES)


@dataclass(frozen=True, eq=False)
class Law:
    """The density of v: what it owes to the Gaussians along it, and terms of its own."""

    rest: Conditional
    terms: tuple[int, ...] = ()
    coefficients: tuple[float, ...] = ()
    turn: float = 0.0

    def score(self, v: Numbers) -> Numbers:
        """(log p)'."""
        return self.rest.integrated(v)[1] + sum(c * self.term(k, v)[1] for k, c in self._own)

    def height(self, v: Numbers) -> Numbers:
        """log p, but for a constant."""
        return self.rest.integrated(v)[0] + sum(c * self.term(k, v)[0] for k, c in self._own)

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

    @property
    def _own(self) -> Iterator[tuple[int, float]]:
        return zip(self.terms, self.coefficients, strict=True)


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
                if ends is not None and np.isfinite(law.height(np.linspace(*ends, CELLS * PLACES))).all():
                    return cls(axis, law, ends)
        return None

    def straightened(self, points: Rows, scores: Rows) -> tuple[Rows, Rows]:
        """The axis as a Gaussian's, and scores of the density there."""
        v, s = self._inside(points[:, self.axis]), scores[:, self.axis]
        z, steepness = self.drawn(v)
        there, found = points.copy(), scores.copy()
        there[:, self.axis], found[:, self.axis] = z, (s - self.law.score(v)) / steepness - z
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
        edges, most = np.linspace(*self.ends, CELLS + 1), float(self.law.height(np.linspace(*self.ends, CELLS)).max())
        places, weights = _places(edges[:-1], edges[1:])
        masses, at = np.exp(self.law.height(places) - most) * weights, functions(places.ravel())
        mean, values, v = masses.ravel() @ at / masses.sum(), functions(v), self._inside(v)
        cells = np.einsum("cp,cpf->cf", masses, (at - mean).reshape(*masses.shape, -1))
        below = np.vstack([np.zeros_like(mean), np.cumsum(cells, axis=0)])
        above = np.vstack([np.cumsum(cells[::-1], axis=0)[::-1], np.zeros_like(mean)])
        cell = np.clip(np.searchsorted(edges, v, side="right") - 1, 0, CELLS - 1)
        middle = np.searchsorted(np.cumsum(masses.sum(axis=1)), masses.sum() / 2)
        left = (cell <= middle)[:, None]
        start, end = np.where(left[:, 0], edges[cell], v), np.where(left[:, 0], v, edges[cell + 1])
        places, weights = _places(start, end)
        height = self.law.height(v)
        near = np.exp(self.law.height(places) - height[:, None]) * weights
        part = np.einsum("np,npf->nf", near, (functions(places.ravel()) - mean).reshape(*near.shape, -1))
        rest = np.where(left, below[cell], above[cell + 1]) * np.exp(most - height)[:, None]
        return values - mean, np.where(left, 1.0, -1.0) * (rest + part)

    def drawn(self, v: Numbers) -> tuple[Numbers, Numbers]:
        """z, and dz / dv: by the logarithms of masses on both sides, of which the smaller one is exact."""
        v, edges = self._inside(v), np.linspace(*self.ends, CELLS + 1)
        cells = self._between(edges[:-1], edges[1:])
        below, above = (np.append(-np.inf, np.logaddexp.accumulate(each)) for each in (cells, cells[::-1]))
        cell = np.clip(np.searchsorted(edges, v, side="right") - 1, 0, CELLS - 1)
        under = np.logaddexp(below[cell], self._between(edges[cell], v))
        over = np.logaddexp(above[::-1][cell + 1], self._between(v, edges[cell + 1]))
        z = np.where(under < over, ndtri_exp(under - below[-1]), -ndtri_exp(over - below[-1]))
        return z, np.exp(self.law.height(v) - below[-1] + z**2 / 2) * np.sqrt(2 * np.pi)

    def _inside(self, v: Numbers) -> Numbers:
        """Places within the ends: beyond them, where no draw is but a user may ask, as just before."""
        low, high = self.ends
        return np.clip(v, low + (high - low) / CELLS, high - (high - low) / CELLS)

    def _between(self, start: Numbers, end: Numbers) -> Numbers:
        """Logarithms of masses between two places each."""
        places, weights = _places(start, end)
        with np.errstate(divide="ignore"):  # of nothing between them
            return logsumexp(self.law.height(places) + np.log(weights), axis=1)


def _places(start: Numbers, end: Numbers) -> tuple[Float[np.ndarray, "n q"], Float[np.ndarray, "n q"]]:
    """Where integrals between two places each are taken, and with what weights."""
    half = (end - start)[:, None] / 2
    return (end + start)[:, None] / 2 + half * NODES, half * WEIGHTS


def _likeliest(law: Law, v: Numbers, s: Numbers) -> list[Law]:
    """The law with those terms of its own that leave little of the scores, the likeliest first (Schwarz)."""
    laws, needed = list[tuple[float, Law]](), law.rest.needed
    for count in range(MOST_TERMS + 1):
        for more in combinations([k for k in (*EXPONENTS, LINEAR) if k not in needed], count):
            laws.append(_fitted(law, (*needed, *more), v, s))
    if min(share for share, _ in laws) > NOTHING_LEFT:
        laws.append(_turning(law, v, s))

    def surprise(each: tuple[float, Law]) -> float:
        return len(v) * np.log(each[0] + NOTHING_LEFT) + len(each[1].terms) * np.log(len(v))

    return [found for _, found in sorted((each for each in laws if each[0] <= UNEXPLAINED), key=surprise)]


def _turning(law: Law, v: Numbers, s: Numbers) -> tuple[float, Law]:
    """The law with a term that turns, at the place that leaves least, and what it leaves."""

    def fitted(place: float) -> tuple[float, Law]:
        return _fitted(replace(law, turn=float(place)), (*law.rest.needed, TURN), v, s)

    places = np.linspace(v.min() - OUTSIDE, v.max() + OUTSIDE, TRIED_PLACES)
    best, step = min(places, key=lambda place: fitted(place)[0]), places[1] - places[0]
    near = minimize_scalar(lambda p: fitted(p)[0], bounds=(best - step, best + step), options={"xatol": 1e-9})
    return fitted(float(rounded(near.x)))


def _fitted(law: Law, terms: tuple[int, ...], v: Numbers, s: Numbers) -> tuple[float, Law]:
    """The share of the scores that a law with such terms leaves, and the law."""
    weight = law.rest.told(v)
    left, columns = weight * (s - law.score(v)), np.column_stack([weight * law.term(k, v)[1] for k in terms])
    found = rounded(least_squares(columns, left))
    share = float(np.mean((left - columns @ found) ** 2) / max(np.var(weight * s), 1e-300))
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
