"""Targets with heavy tails, as their scores tell, and coordinates in which those tails are light.

Student's t with nu degrees of freedom has, at distance r from its centre m, in units in which it is round,

    a = -(x - m) . s = (nu + d) r^2 / (nu + r^2)

so the slope b of a against log r^2, relative to a, gives nu = a / (1 - b) - d wherever it is taken. Lighter tails have
slopes near one (a Gaussian's is one) and nu without bound. Units come from the scores, whose second moments are there
where those of the points are not: E[s s'] = (nu + d) / (nu + d + 2) Sigma^-1. Drawn in by

    y = z rho / r,   rho^2 = (nu + d) log(1 + r^2 / nu),   z = Sigma^-1/2 (x - m)

the tail is a Gaussian's: p(y) falls like exp(-rho^2 nu / (nu + d) / 2). Expectations are the same in any coordinates,
as long as the scores are those of the density in them; a few far points no longer stand alone.

Squares still grow where no point is. Under w p, w = 1 + r^2 / nu, Stein images times w grow as squares do: those of
polynomials are polynomials of the same degree if p is Student's t, so that means of x and of its products follow from
as many points as there are products.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from .prepare import Prepared
from .seen import together
from .standardize import Coordinates, Order
from .student import LEAST, root_of, student_law

#: Degrees of freedom from which on a tail is light: with fewer, a square has no fourth moment, and averages of
#: unbounded integrands need many more draws than the error bar says. (Logistic variables seem to have 7.5 to 8.)
LIGHT = 7.0

#: The outer share of the points; the slope's standard errors to spare; the scatter about the line, relative to a, above
#: which the tail is not one of a cloud that is alike on all sides. Fewer points than a quarter leave the slope open,
#: more are no tail.
OUTER, SURE, SCATTER = 0.25, 2.5, 0.25

#: Points from which on a tail is looked at: the outer quarter of fewer is a handful.
FEWEST = 40

#: Degrees of freedom from which on a tail is as good as a Gaussian's, and not drawn in: between this and LIGHT it is
#: fitted both ways, since either may suit (logistic variables are followed three to eleven times as well, Student's t
#: with 8 degrees two to six times worse).
GAUSSIAN = 30.0

#: Scatter up to which a cloud is alike on all sides, so that one rule draws all of it in: samples of Student's
#: t and of logistic variables have less than .13 in 95 %, funnels and slopes of hierarchical models .15 to .25, and are
#: followed worse if they are drawn in (40 to 1,000 points).
ROUND = 0.13

#: Integrands grow into the tail whose values spread so much more at the outer points than at the others, and whose
#: largest distance from the median is so much more than nine tenths of them have: bounded ones do not do both.
GROWING, REACHING = 1.2, 1.25


def outermost(distance: Float[np.ndarray, " n"]) -> Int[np.ndarray, " k"]:
    """The rows of the outer points: the quarter of all that is farthest out."""
    return np.argsort(distance, kind="stable")[-max(int(OUTER * len(distance)), 1) :]


def grows(values: Float[np.ndarray, " n"], outer: Int[np.ndarray, " k"]) -> bool:
    """Whether values grow at the outer points.

    >>> x = np.random.default_rng(0).normal(size=100)
    >>> grows(x**2, outermost(np.abs(x))), grows(np.tanh(x), outermost(np.abs(x)))
    (True, False)
    """
    off = np.abs(values - np.median(values))
    wider = values[outer].std() > GROWING * np.delete(values, outer).std()
    return bool(wider and off.max() > REACHING * np.quantile(off, 0.9))


@dataclass(frozen=True, eq=False)
class StudentTail:
    """The tail of Student's t that scores look like: z = (x - centre) @ factor is round."""

    freedom: float
    at_most: float
    scatter: float
    centre: Float[np.ndarray, " d"]
    factor: Float[np.ndarray, "d d"]
    outer: Int[np.ndarray, " k"]

    @classmethod
    def of(
        cls,
        points: Float[np.ndarray, "n d"],
        scores: Float[np.ndarray, "n d"],
        of_many: int = 1,
        axes: Order = None,
    ) -> StudentTail | None:
        """The tail of a sample; None where it is unclear, or where there are too few points to tell.

        One `of_many` has to be as much surer as chance would make one of them seem heavy (Bonferroni). The first of the
        axes, in the order given, stays as it is where it is drawn in, the others are turned.

        >>> x = np.random.default_rng(0).standard_t(4, size=(500, 1))
        >>> bool(3 < StudentTail.of(x, -5 * x / (4 + x**2)).freedom < 5)
        True
        >>> StudentTail.of(x[:20], -x[:20]) is None
        True
        """
        n, d = points.shape
        order = np.arange(d) if axes is None else axes[::-1]
        factor = root_of(scores.T @ scores / n, order)
        if n < FEWEST or factor is None:
            return None
        tail = cls._about(np.median(points, axis=0), factor, points, scores, of_many)
        if tail is not None and tail.freedom < np.inf:
            unit = np.sqrt((tail.freedom + d + 2) / (tail.freedom + d))
            tail = replace(tail, factor=tail.factor * unit)
            law = student_law(points, scores, tail.freedom, tail.weight(points), order)
            exact = None if law is None else cls._about(law.centre, law.factor, points, scores, of_many)
            tail = tail if law is None or exact is None else exact._known(law.freedom)
        return tail if tail is not None and tail.scatter <= SCATTER and tail.at_most < np.inf else None

    @classmethod
    def _about(
        cls,
        centre: Float[np.ndarray, " d"],
        factor: Float[np.ndarray, "d d"],
        points: Float[np.ndarray, "n d"],
        scores: Float[np.ndarray, "n d"],
        of_many: int,
    ) -> StudentTail | None:
        """What scores say of the tail about a centre, `factor` being its units but for one number."""
        with np.errstate(over="ignore"):
            squared = np.sum(((points - centre) @ factor) ** 2, axis=1)
        if not np.isfinite(squared).all():
            return None
        outer = outermost(squared)
        a, squared = -np.sum((points[outer] - centre) * scores[outer], axis=1), squared[outer]
        if not (a.mean() > 0 and squared.min() > 0 and np.ptp(squared) > 1e-9 * squared.max()):
            return None
        distance, relative = np.log(squared) - np.log(squared).mean(), a / a.mean() - 1
        slope = distance @ relative / (distance @ distance)
        scatter = np.sqrt(np.sum((relative - slope * distance) ** 2) / (len(a) - 2))
        surely = slope + _sure(of_many) * scatter / np.linalg.norm(distance)
        d = points.shape[1]
        freedom, at_most = (max(float(a.mean() / (1 - b)) - d, LEAST) if b < 1 else np.inf for b in (slope, surely))
        return cls(freedom, at_most, float(scatter), centre, factor, outer)

    def _known(self, freedom: float) -> StudentTail:
        """The same tail, that of Student's t with exactly these degrees of freedom."""
        return replace(self, freedom=freedom, at_most=round(freedom, 6))  # 7 are not fewer than 7 by a last digit

    @property
    def heavy(self) -> bool:
        """Whether it is surely heavier than a Gaussian's, and alike on all sides."""
        return self.at_most < GAUSSIAN and self.scatter <= ROUND

    def drawn_in(
        self, points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"]
    ) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n d"]]:
        """Points y in which the tail is light, and the scores of their density: J' s + grad_y log |J|, J = dx/dy.

        With q = r^2 / nu and f = log(1 + q) / q, J' s = s / w + z (z . s) c and grad_y log |J| = z ((d - 2) c +
        2 w / (nu + d)), where w = rho / r = sqrt(f (nu + d) / nu) and c = ((1 + q) f - 1) / (q nu w).
        """
        nu, d = self.freedom, points.shape[1]
        z = (points - self.centre) @ self.factor
        s = np.linalg.solve(self.factor, scores.T).T
        q = np.sum(z**2, axis=1, keepdims=True) / nu
        f, h = _log_over(q)
        w = np.sqrt(f * (nu + d) / nu)
        along = h / (nu * w) * (np.sum(z * s, axis=1, keepdims=True) + d - 2) + 2 * w / (nu + d)
        return z * w, s / w + z * along

    def weight(self, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """w = 1 + r^2 / nu."""
        return 1 + np.sum(((points - self.centre) @ self.factor) ** 2, axis=1) / self.freedom


class TailWeight(NamedTuple):
    """The weight of a tail, in the place of that of values that grow (`growth.Weight`)."""

    tail: StudentTail

    def weight(self, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """w = 1 + r^2 / nu."""
        return self.tail.weight(points)

    def drawn(
        self, points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"]
    ) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n d"]]:
        """The same points, and scores of the density times the weight."""
        tail = self.tail
        pull = 2 / tail.freedom * (points - tail.centre) @ tail.factor @ tail.factor.T
        return points, scores + pull / self.weight(points)[:, None]

    def images(
        self, points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"], coordinates: Coordinates
    ) -> Float[np.ndarray, "n 0"]:
        """None: polynomials under the weight go on as squares do."""
        return np.empty((len(points), 0))


@dataclass(frozen=True, eq=False)
class AxisTails:
    """Tails of single axes, for coordinates that are independent of the others: each is drawn in by itself."""

    tails: dict[int, StudentTail]

    @classmethod
    def of(cls, points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"]) -> AxisTails | None:
        """The axes whose tails are heavy and told by the axis alone; None where there is none.

        >>> x = np.random.default_rng(0).logistic(size=(500, 2))
        >>> sorted(AxisTails.of(x, np.column_stack([-np.tanh(x[:, 0] / 2), -x[:, 1]])).tails)
        [0]
        """
        d = points.shape[1]
        axes = [(r, StudentTail.of(points[:, [r]], scores[:, [r]], of_many=d)) for r in range(d)]
        found = {r: tail for r, tail in axes if tail is not None and tail.heavy}
        return cls(found) if found else None

    @property
    def at_most(self) -> float:
        """Degrees of freedom that most of these tails surely do not have more of."""
        return float(np.median([tail.at_most for tail in self.tails.values()]))

    def drawn_in(
        self, points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"]
    ) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n d"]]:
        """Points whose axes have light tails, and the scores of their density."""
        points, scores = points.copy(), scores.copy()
        for r, tail in self.tails.items():
            points[:, [r]], scores[:, [r]] = tail.drawn_in(points[:, [r]], scores[:, [r]])
        return points, scores


Tail = StudentTail | AxisTails


def tail_of(prepared: Prepared) -> Tail | None:
    """The tail of all tasks' points together, or of single axes, where it is surely heavier than a Gaussian's."""
    points, scores = together(prepared)
    tail = StudentTail.of(points, scores, axes=prepared.axes)
    if tail is not None and tail.heavy:
        return tail
    return AxisTails.of(points, scores) if points.shape[1] > 1 else None


def _sure(of_many: int) -> float:
    """Standard errors to spare where so many are looked at.

    >>> round(_sure(1), 6), round(_sure(30), 1)
    (2.5, 3.5)
    """
    normal = NormalDist()
    return -normal.inv_cdf(normal.cdf(-SURE) / of_many)


def _log_over(q: Float[np.ndarray, " n 1"]) -> tuple[Float[np.ndarray, " n 1"], Float[np.ndarray, " n 1"]]:
    """f = log(1 + q) / q and ((1 + q) f - 1) / q, by their series where q is small."""
    small = q < 1e-3
    safe = np.where(small, 1.0, q)
    f = np.where(small, 1 - q / 2 + q**2 / 3 - q**3 / 4 + q**4 / 5, np.log1p(safe) / safe)
    h = np.where(small, 1 / 2 - q / 6 + q**2 / 12 - q**3 / 20, ((1 + safe) * np.log1p(safe) / safe - 1) / safe)
    return f, h
