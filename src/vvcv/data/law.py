"""The density of the logarithms v of scales, along which all else is Gaussian, as scores tell it.

Integrating all else out (`conditional.py`) leaves

    log p(v) = C(v) + what is known of the Gaussians

in which C, what priors say of v and constants of all Gaussians, is a sum of few terms, linear and exponential in v.
Scores of (v, u) hang on v alone, and tell C without noise. So p is known beyond the draws, where no sampler may have
gone: into the neck of a funnel, for one, that hierarchical models have below the least scale that data rule out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice, product

import numpy as np
from scipy.optimize import minimize_scalar

from .conditional import Conditional
from .lines import Rows, least_squares
from .rounding import rounded
from .terms import Grown, Line, Numbers, Places, Square, Term, Turn

#: Exponents of the terms of C, in units of that of a scale: a half-normal prior of the scale has 2, an exponential one
#: 1, an inverse gamma of its square -2; a lognormal one has a square of v. How many of them at most along each axis;
#: and, where these do not do, the turn of a half-Cauchy or another half-Student prior.
EXPONENTS, MOST_TERMS = (1, 2, -1, -2), 2

#: Places at which it may turn that are tried, and how far outside the draws they may be, in standard deviations:
#: farther away a turn is an exponential. (From the nearest of fewer a search may end beside the right one.)
TRIED_PLACES, OUTSIDE = 25, 4.0

#: Share of the variance of scores along v that terms may leave: more, and v is no scale of a Gaussian's.
UNEXPLAINED, NOTHING_LEFT = 1e-6, 1e-8

#: Laws that are looked at, the likeliest first: each may be no density beyond the draws.
MOST_LAWS = 4


@dataclass(frozen=True, eq=False)
class Law:
    """The density of v: what it owes to the Gaussians along it, and terms of its own."""

    rest: Conditional
    terms: tuple[Term, ...] = ()
    sizes: tuple[float, ...] = ()

    def height(self, v: Places) -> Numbers:
        """log p, but for a constant."""
        return self.rest.height(v) + sum(size * term.height(v) for term, size in self._own)

    def slope(self, v: Places) -> Places:
        """Its derivatives."""
        return self.rest.slope(v) + sum(size * term.slope(v) for term, size in self._own)

    def scores(self, v: Places, y: Rows) -> Places:
        """Derivatives along v of the logarithm of the density of (v, y)."""
        return self.rest.scores(v, y) + sum(size * term.slope(v) for term, size in self._own)

    @property
    def _own(self) -> Iterator[tuple[Term, float]]:
        return zip(self.terms, self.sizes, strict=True)


def likeliest(rest: Conditional, v: Places, s: Rows) -> Iterator[Law]:
    """Laws with terms of their own that leave little of the scores along each axis, the likeliest first."""
    left, weight = s - rest.slope(v), rest.told(v)[:, None]
    whole = np.maximum(np.var(weight * s, axis=0), 1e-300)
    along = [_ranked(rest, axis, v, left[:, axis], weight[:, 0], whole[axis]) for axis in range(v.shape[1])]
    for more in islice(product(*along), MOST_LAWS):
        terms = tuple(term for each in more for term in each)
        slopes = [weight * term.slope(v) / np.sqrt(whole) for term in terms]
        target = weight * left / np.sqrt(whole)
        sizes = rounded(least_squares(np.column_stack([slope.ravel() for slope in slopes]), target.ravel()))
        remain = target - sum(size * slope for size, slope in zip(sizes, slopes, strict=True))
        if (np.mean(remain**2, axis=0) <= UNEXPLAINED).all():
            yield Law(rest, terms, tuple(map(float, sizes)))


def _ranked(
    rest: Conditional, axis: int, v: Places, left: Numbers, weight: Numbers, whole: float
) -> list[tuple[Term, ...]]:
    """Terms along one axis that leave little of its scores, the likeliest first (Schwarz)."""
    speed, size, target = rest.speeds[axis], v.shape[1], weight * left
    possible: list[Term] = [Square(axis, size), *(Grown.along(axis, k * speed, size) for k in EXPONENTS)]

    def fitted(terms: tuple[Term, ...]) -> tuple[Numbers, float]:
        columns = np.column_stack([weight * term.slope(v)[:, axis] for term in terms])
        sizes = least_squares(columns, target)
        return sizes, float(np.mean((target - columns @ sizes) ** 2)) / whole

    def share(terms: tuple[Term, ...]) -> float:
        return fitted(terms)[1]

    several = [more for count in range(MOST_TERMS + 1) for more in combinations(possible, count)]
    some: list[tuple[Term, ...]] = [(Line(axis, size), *more) for more in several]
    shares = {terms: share(terms) for terms in some}
    if min(shares.values()) > NOTHING_LEFT:
        place = partial(Turn, axis, size, 2 * speed)
        shares |= {
            (turn, *terms): share((turn, *terms))
            for terms in some[: len(possible) + 1]
            for turn in [_turn(place, v[:, axis], terms, share)]
        }

    def surprise(terms: tuple[Term, ...]) -> float:
        return len(v) * np.log(shares[terms] + NOTHING_LEFT) + len(terms) * np.log(len(v))

    enough = [terms for terms in shares if shares[terms] <= UNEXPLAINED and _falls(axis, terms, fitted(terms)[0])]
    return sorted(enough, key=surprise)


def _falls(axis: int, terms: tuple[Term, ...], sizes: Numbers) -> bool:
    """Whether what is largest far away on either side, an exponential or else a square, falls.

    >>> half_normal, more = Grown((2.0,)), Grown((1.0,))
    >>> _falls(0, (half_normal, more), np.array([-1.0, 3.0])), _falls(0, (half_normal, more), np.array([1.0, -3.0]))
    (True, False)
    """
    sized = list(zip(terms, sizes, strict=True))
    squares = [(0.0, size) for term, size in sized if isinstance(term, Square)]
    grown = [(term.rates[axis], size) for term, size in sized if isinstance(term, Grown)]
    ends = ([(way * rate, size) for rate, size in grown if way * rate > 0] for way in (-1, 1))
    return all(max(end + squares, default=(0.0, 0.0))[1] <= 0 for end in ends)


def _turn(
    turn: Callable[[float], Turn], v: Numbers, more: tuple[Term, ...], share: Callable[[tuple[Term, ...]], float]
) -> Turn:
    """The term that turns at the place that leaves least beside others."""

    def left(place: float) -> float:
        return share((turn(float(place)), *more))

    places = np.linspace(v.min() - OUTSIDE, v.max() + OUTSIDE, TRIED_PLACES)
    best, step = min(places, key=left), places[1] - places[0]
    near = minimize_scalar(left, bounds=(best - step, best + step), options={"xatol": 1e-9})
    return turn(float(rounded(near.x)))
