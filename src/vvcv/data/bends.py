"""Targets that widen or bend along one of their axes, as scores tell, and coordinates in which they do neither.

Hierarchical models look like funnels: along the logarithm v of a scale the axes that it belongs to grow wider (groups
with data of their own do so up to a point: `pooled.py`). Other posteriors bend like bananas. Where, along an axis v,
the others have middles and widths

    x_j = m_j(v) + exp(g_j v) u_j,   m_j(v) = a_j + b_j v + c_j v^2

the coordinates (v, u) have neither. Their scores are exp(g_j v) s_j and s_v + sum_j s_j dx_j/dv + sum_j g_j, the latter
a function of v alone if u does not hang on it, so that with dx_j/dv = m_j'(v) + g_j (x_j - m_j(v))

    s_v = (a polynomial in v, a line in x) - sum_j g_j x_j s_j - sum_j s_j (a polynomial of second degree in v)

is linear in all g_j; and if u is Gaussian given v, with any covariance C,

    x_j = m_j(v) - sum_i C_ji exp((g_i + g_j) v) s_i

is linear in what makes up m_j. Neither line has any noise for least squares to average out: a few points for each axis
tell a funnel or a banana exactly. Expectations are the same in all coordinates, whatever was found.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain

import numpy as np
from jaxtyping import Float

from ..runtime.clock import time_for
from ..runtime.threads import one_thread
from .known import Known, known_of
from .lines import Rows, least_squares, nearly_left, standard
from .margin import Margin
from .pooled import Pooled
from .prepare import Prepared
from .rounding import rounded
from .scales import COLUMNS, pooled
from .seen import together

#: Share of a score's variance that neither a line in the points nor a curve along its own axis explains, from which on
#: its axis is bent, and as much of it as other coordinates may leave of such axes on average. Funnels, bananas,
#: regressions of unknown noise and centred groups of Gaussian data keep less than .02 of it.
BENT, STRAIGHT = 0.1, 0.1

#: The parts of it that may be left for other coordinates to be looked at, and for the old ones not to be; and after one
#: of several axes. By laws that did not suit, divided groups of eight schools kept .37, crossed effects .34: fitted
#: both ways, in twice the time, errors were 4 to 18 % smaller (nine samples). Centred groups of counts keep .02 to .25,
#: robust regressions .05 to .13; steps that do not suit (a horseshoe, a mixture) leave .86 and more.
STRAIGHTER, SURELY_STRAIGHTER, WORTH_A_STEP = 0.3, 0.1, 0.85

#: Decimals of what is left that tell coordinates apart: where two leave nothing, rounding would choose.
DECIMALS = 4

#: How often a target is straightened along one axis after another, and along how many at once at first: a scale for
#: each of a few groups. What scales do together is seen in the coordinates given, or not at all.
MOST_STEPS, MOST_SCALES = 5, 3

#: Axes beyond which nobody looks, and rows beyond which no more are looked at; and seconds that there must be to look,
#: and as many to make something of it, in units of the squared number of axes: looking takes .4 for slopes in 25
#: dimensions and 5 for 85 groups (two cores).
MOST_AXES, MOST_ROWS, SECONDS = 100, 500, 1.4e-3

#: Axes that least squares find likeliest and that are tried; the steepest growth: a thousandfold over two standard
#: deviations is no scale any more; and the flattest: with less a middle is what a banana's is.
TRIED, STEEPEST, FLATTEST = 3, 3.5, 0.02


@dataclass(frozen=True, eq=False)
class Bend:
    """One axis, how fast the others grow wider along it, and the course that their middles take, in standard units."""

    axis: int
    middle: Float[np.ndarray, " d"]
    unit: Float[np.ndarray, " d"]
    growth: Float[np.ndarray, " d"]
    course: Float[np.ndarray, "3 d"]

    @classmethod
    def along(cls, axis: int, points: Rows, scores: Rows) -> Bend:
        """The bend along one axis, as least squares tell it."""
        middle, unit = points.mean(axis=0), points.std(axis=0)
        x, s = standard(points, scores)
        growth, bend = _growth(axis, x, s)
        growth = np.where(np.abs(growth) < FLATTEST, 0.0, rounded(np.clip(growth, -STEEPEST, STEEPEST)))
        course = np.where(growth == 0, np.multiply.outer([0, 0, 1], bend), _course(axis, x, s, growth))
        return cls(axis, middle, unit, growth, rounded(course))

    def straightened(self, points: Rows, scores: Rows) -> tuple[Rows, Rows]:
        """The coordinates (v, u), and scores of the density of these."""
        x, s = (points - self.middle) / self.unit, scores * self.unit
        v = x[:, [self.axis]]
        width, (a, b, c) = np.exp(self.growth * v), self.course
        off = x - a - b * v - c * v**2
        slope = b + 2 * c * v + self.growth * off  # dx / dv
        slope[:, self.axis] = 1.0
        found = s * width
        found[:, self.axis] = np.sum(s * slope, axis=1) + np.sum(self.growth)
        return off / width, found


@dataclass(frozen=True, eq=False)
class Bends:
    """Bends that are taken out one after the other, what is left of the share that is unexplained, and the law of the
    whole target, where scales leave all else Gaussian."""

    each: tuple[Bend | Pooled | Margin, ...]
    left: float
    known: Known | None = None

    @classmethod
    def of(cls, points: Rows, scores: Rows) -> Bends | None:
        """What the scores of a sample tell; None where it is hardly bent, or not in this way.

        >>> rng = np.random.default_rng(0)
        >>> v, u = rng.normal(size=(2, 60, 1))
        >>> x, s = np.hstack([v, np.exp(v) * u]), np.hstack([u**2 - 1 - v, -u * np.exp(-v)])
        >>> bends = Bends.of(x, s)
        >>> unexplained(x, s).round(2), unexplained(*bends.straightened(x, s)).round(2)
        (array([0.72, 0.89]), array([0., 0.]))
        >>> Bends.of(v, -v) is None
        True
        """
        n, d = points.shape
        if not (1 < d <= MOST_AXES and COLUMNS * n >= _fewest_columns(d) and _have_squares(points, scores)):
            return None
        rows = np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(int)
        points, scores = points[rows], scores[rows]
        share, found = unexplained(points, scores), list[Bend | Pooled | Margin]()
        if share.max() >= BENT and not time_for(SECONDS * d**2):
            return None
        known: Known | None = None
        before, straight = float(share.sum()), STRAIGHT * np.count_nonzero(share >= BENT)
        while len(found) < MOST_STEPS and share.max() >= BENT:
            tried = list(_tried(points, scores, 1 if found else MOST_SCALES))
            bend, left = min(tried, key=lambda each: round(float(each[1].sum()), DECIMALS), default=(None, share))
            if bend is None or left.sum() > WORTH_A_STEP * share.sum():
                break
            found, share = [*found, bend], left
            points, scores = bend.straightened(points, scores)
            law = known_of(bend, points, scores) if isinstance(bend, Pooled) else None
            known = law if len(found) == 1 else known
            if law is not None and isinstance(law.margin, Margin):
                found, (points, scores) = [*found, law.margin], law.margin.straightened(points, scores)
        if not found or share.sum() > min(straight, STRAIGHTER * before):
            return None
        return cls(tuple(found), float(share.sum()) / before, known)

    @property
    def surely(self) -> bool:
        """Whether hardly anything of them is left."""
        return self.left <= SURELY_STRAIGHTER

    def straightened(self, points: Rows, scores: Rows) -> tuple[Rows, Rows]:
        """Points and scores in coordinates without these bends."""
        for bend in self.each:
            points, scores = bend.straightened(points, scores)
        return points, scores


def bends_of(prepared: Prepared) -> Bends | None:
    """The bends of all tasks' points together; None where numbers end on the way."""
    points, scores = together(prepared)
    with one_thread(), suppress(np.linalg.LinAlgError), np.errstate(over="ignore", invalid="ignore"):
        found = Bends.of(points, scores)
        if found is not None and np.isfinite(found.straightened(points, scores)).all():
            return found
    return None


def unexplained(points: Rows, scores: Rows) -> Float[np.ndarray, " d"]:
    """Share of each score's variance that no line in the points and no curve along its own axis explains.

    None of it is left of a Gaussian, nor of a product of curved densities that kernels follow axis by axis.

    >>> x = np.random.default_rng(0).normal(size=(50, 2))
    >>> unexplained(x, -x - x**2).round(2), unexplained(x, -x - x[:, ::-1] ** 2).round(1)
    (array([0., 0.]), array([0.5, 0.6]))
    """
    x, s = standard(points, scores)
    (n, d), line = x.shape, np.linalg.qr(np.column_stack([np.ones(len(x)), x]))[0]
    score, *curves = (each - line @ (line.T @ each) for each in (s, x**2, x**3, np.exp(x), np.exp(-x)))
    while curves:
        curve, *curves = curves
        score, *curves = (each - curve * _slope(each, curve) for each in (score, *curves))
    return np.mean(score**2, axis=0) * n / max(n - d - 5, 1) / np.maximum(np.var(s, axis=0), 1e-300)


def _slope(of: Rows, along: Rows) -> Float[np.ndarray, " d"]:
    """Of every column along another one."""
    return np.sum(of * along, axis=0) / np.maximum(np.sum(along**2, axis=0), 1e-300)


def _tried(points: Rows, scores: Rows, scales: int) -> Iterator[tuple[Bend | Pooled, Float[np.ndarray, " d"]]]:
    """The likeliest axes, with how bent the target is in their coordinates."""
    both: Iterator[Bend | Pooled] = chain(pooled(points, scores, scales), _growing(points, scores))
    for bend in both:
        with np.errstate(over="ignore", invalid="ignore"), suppress(np.linalg.LinAlgError):
            there = bend.straightened(points, scores)
            if np.isfinite(there).all() and (there[0].std(axis=0) > 0).all():
                yield bend, unexplained(*there)


def _growing(points: Rows, scores: Rows) -> Iterator[Bend]:
    """Bends along the axes whose scores they explain best."""
    x, s = standard(points, scores)
    explained = [_unexplained_by_growth(axis, x, s) for axis in range(x.shape[1])]
    for axis in np.argsort(np.array(explained, np.float32), kind="stable")[:TRIED]:
        yield Bend.along(int(axis), points, scores)


def _unexplained_by_growth(axis: int, x: Rows, s: Rows) -> float:
    """What is left of an axis's score by all columns, in units of what a curve along it and a line leave."""
    known, columns = _columns(axis, x, s)
    score = _centred(s[:, [axis]])
    alone, both = (nearly_left(c, score)[0] for c in (known, np.hstack([known, columns])))
    return float(both / max(alone, 1e-300))


def _growth(axis: int, x: Rows, s: Rows) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
    """g of every axis, and c where it is zero; both are zero of v itself."""
    known, columns = _columns(axis, x, s)
    coefficients = least_squares(np.hstack([known, columns]), _centred(s[:, axis]))[known.shape[1] :]
    of_products, of_v, *_ = [*coefficients.reshape(-1, x.shape[1] - 1), np.zeros(x.shape[1] - 1)]
    return np.insert(-of_products, axis, 0.0), np.insert(-of_v / 2, axis, 0.0)


def _course(axis: int, x: Rows, s: Rows, growth: Float[np.ndarray, " d"]) -> Float[np.ndarray, "3 d"]:
    """a, b and c of the axes that grow. Scores of all of them are told apart where there are rows enough."""
    v, (n, d) = x[:, axis], x.shape
    powers, course, growing = np.column_stack([np.ones(n), v, v**2]), np.zeros((3, d)), np.flatnonzero(growth)
    for j in growing:
        with_it = growing if COLUMNS * n >= 3 + growing.size else np.array([j])
        width = np.exp(growth[j] * v)[:, None]
        weighted = s[:, with_it] * np.exp(np.outer(v, growth[with_it]))  # times the width, over the width
        course[:, j] = least_squares(np.hstack([powers / width, weighted]), x[:, j] / width[:, 0])[:3]
    return course


def _columns(axis: int, x: Rows, s: Rows) -> tuple[Float[np.ndarray, "n p"], Float[np.ndarray, "n q"]]:
    """What a score may be in turned axes without any bend, and x_j s_j, v s_j, v^2 s_j, as far as there are rows.

    All are centred, not the constant among them: of columns that say the same, as s_i and x_j s_j do where j grows
    along i, the shortest of all solutions would otherwise take some of each to make the constant shorter.
    """
    (n, d), v, others = x.shape, x[:, [axis]], np.delete(np.arange(x.shape[1]), axis)
    known = np.hstack([x, s[:, others], v**2, v**3])
    products = [x[:, others] * s[:, others], v * s[:, others], v**2 * s[:, others]]
    room = int(COLUMNS * n - known.shape[1]) // (d - 1)
    return _centred(known), _centred(np.hstack(products[: max(room, 1)]))


def _have_squares(points: Rows, scores: Rows) -> bool:
    """Whether axes vary, and scores in units of theirs are numbers that can be multiplied."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        unit = points.std(axis=0)
        square = np.sum((scores * unit) ** 2, axis=0)
    return bool((unit > 0).all() and np.isfinite(square).all() and (square > 0).all())


def _fewest_columns(d: int) -> int:
    """Columns of the smallest of all lines."""
    return 3 * d + 1


def _centred(columns: Float[np.ndarray, " n *p"]) -> Float[np.ndarray, " n *p"]:
    return columns - columns.mean(axis=0)
