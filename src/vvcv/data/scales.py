"""Which axes are logarithms of scales, and how the precisions of all others grow along them, as scores tell.

Widths of groups and of noise each add a precision of their own: 1, exp(h v), exp(i w). Groups that a model has divided
by their width, z = theta / tau, have precisions 1, exp(h v) and exp(2 h v), the latter two and that of what they have
in common times the precision of the noise where it is unknown. Rates h are searched, all else is a line (`pooled.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from .lines import Rows, nearly_left, standard
from .pooled import LARGEST, Growth, Pooled, apart, weighed

Exponents = tuple[tuple[int, ...], ...]

#: Growths of a precision over one standard deviation of the axis that are tried first, and the least and most that
#: there may be. Centred groups of Gaussian data and of counts have .6 to 2.7, noise of thirty values .3 and of ten
#: thousand .014.
RATES, LEAST, MOST = (-1.0, 1.0), 0.01, 5.0

#: Growths in units of the axis, if it is the logarithm of a width: of one over its square, and of what is divided by
#: it. If it is that of a variance or a precision, they are other multiples of a half. How much they may be off by
#: before, as a part of them, and how much more of the scores they may leave: rounding.
USUAL, MULTIPLES, NEAR, NO_WORSE = (-2.0, 1.0), 0.5, 0.25, 1e-9

#: Axes that are tried with all others' lines, and, where there are more, others whose own precision tells which: of 85
#: groups all axes would take 8 s more.
MANY, SOME = 25, 12

#: Part of the rows that columns may be as many as: lines without noise need hardly more points than numbers.
COLUMNS = 0.8

#: Rows for each column, and rows at least, where laws are only compared: one with noise is told from 200 as from 500.
ROWS_PER_COLUMN, FEWEST_ROWS = 2.5, 200

#: The part of the scores that may be left for nothing else to be looked for, and what a further scale has to leave of
#: it: where a law holds, it leaves 1e-9.
NOTHING_LEFT, FURTHER = 1e-6, 0.5

#: Exponents of precisions along each axis: of one width, of two and three that add one each; of groups divided by
#: theirs, and these in noise whose width is the second axis, or the first.
ONE: Exponents = ((0,), (1,))
TWO: Exponents = ((0, 0), (1, 0), (0, 1))
THREE: Exponents = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
DIVIDED: Exponents = ((0,), (1,), (2,))
DIVIDED_IN_NOISE: Exponents = ((0, 0), (0, 1), (1, 1), (2, 1))
IN_NOISE_DIVIDED: Exponents = ((0, 0), (1, 0), (1, 1), (1, 2))

#: Laws of one more axis that are tried after each.
AFTER: dict[Exponents, tuple[Exponents, ...]] = {
    (): (ONE, DIVIDED),
    ONE: (TWO, IN_NOISE_DIVIDED),
    TWO: (THREE,),
    DIVIDED: (DIVIDED_IN_NOISE,),
}


def pooled(points: Rows, scores: Rows, most: int = 3) -> Iterator[Pooled]:
    """Laws of one scale, and of further ones, so many at most, as long as they explain much more.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(60, 4))
    >>> s = -x * (1 + np.exp(x[:, [2]]) + np.exp(2 * x[:, [0]]))
    >>> [law.axes for law in pooled(x, s)]
    [(0,), (0, 2)]
    """
    for axes, growth, left in _after((), (), np.empty(0), 1.0, most, points.std(axis=0), *standard(points, scores)):
        found = Pooled.along(axes, growth, points, scores)
        if found is not None:
            yield found
        if left < NOTHING_LEFT:
            return


def _after(
    law: Exponents,
    axes: tuple[int, ...],
    rates: np.ndarray,
    before: float,
    most: int,
    unit: np.ndarray,
    x: Rows,
    s: Rows,
) -> Iterator[tuple[tuple[int, ...], Growth, float]]:
    """Axes, growths along them and what they leave, of all laws that come after one and leave much less."""
    for further in AFTER.get(law, ()) if len(axes) < most else ():
        axis, rate = _likeliest(axes, rates, further, unit, x, s)
        if axis is not None:
            those = (*axes, axis)
            found, left = _refined(those, np.append(rates, rate), further, unit, x, s)
            if left <= FURTHER * before:
                yield those, _growth(further, found), left
                yield from _after(further, those, found, left, most, unit, x, s)


def _likeliest(
    axes: tuple[int, ...], rates: np.ndarray, law: Exponents, unit: np.ndarray, x: Rows, s: Rows
) -> tuple[int | None, float]:
    """The axis, and a growth along it, that leave least of the others' scores beside what is known."""
    rows = _some(law, x)
    best: tuple[float, int | None, float] = (1.0, None, 0.0)
    for axis in _screened(axes, rates, law, unit, x[rows], s[rows]) if _enough(law, x) else ():
        parts = apart((*axes, int(axis)), x[rows], s[rows])
        left, rate = min((_left(np.append(rates, rate), law, *parts), rate) for rate in _tried(unit[axis]))
        if np.float32(left) < np.float32(best[0]):
            best = (left, int(axis), rate)
    return best[1:]


def _screened(
    axes: tuple[int, ...], rates: np.ndarray, law: Exponents, unit: np.ndarray, x: Rows, s: Rows
) -> Float[np.ndarray, " m"]:
    """All axes, or of many those along which some others have precisions of their own that grow."""
    possible = np.delete(np.arange(x.shape[1]), axes)
    if len(possible) <= MANY:
        return possible
    v, others, target = apart(axes, x, s)
    before = sorted({each[:-1] for each in law})
    known = np.array(before, float).reshape(len(before), len(axes)) * rates
    columns, values = weighed(v, others, target, known)
    basis, some = np.linalg.qr(columns)[0], np.linspace(0, others.shape[1] - 1, SOME).astype(int)
    left, weight = _without(basis, values[:, some]), columns[:, :1] / np.exp(np.minimum(v @ known[0], LARGEST))[:, None]
    grows = max((each[-1] for each in law), key=abs)

    def explained(axis: int) -> float:
        grown = [np.exp(np.clip(grows * rate * x[:, [axis]], -LARGEST, LARGEST)) for rate in _tried(unit[axis])]
        added = [_without(basis, weight * each * others[:, some]) for each in grown]
        return max(float(np.mean(np.sum(left * a, 0) ** 2 / np.sum(left**2, 0) / np.sum(a**2, 0))) for a in added)

    return possible[np.argsort([-np.float32(explained(int(axis))) for axis in possible], kind="stable")[:MANY]]


def _without(basis: Rows, columns: Rows) -> Rows:
    return columns - basis @ (basis.T @ columns)


def _tried(unit: float) -> Float[np.ndarray, " r"]:
    """Growths along an axis that are tried first."""
    return np.clip(np.append(RATES, unit * np.array(USUAL)), -MOST, MOST)


def _refined(
    axes: tuple[int, ...], rates: np.ndarray, law: Exponents, unit: np.ndarray, x: Rows, s: Rows
) -> tuple[Float[np.ndarray, " a"], float]:
    """Growths near these, or near the usual ones, that leave least of the others' scores, and how much."""
    rows, unit = _some(law, x), unit[list(axes)]
    parts = apart(axes, x[rows], s[rows])
    usual = np.clip(unit * np.where(np.max(law, axis=0) == 2, USUAL[1], USUAL[0]), -MOST, MOST)
    rates = min((rates, usual), key=lambda each: _left(each, law, *parts))

    def left(logarithms: np.ndarray) -> float:
        return float(np.log(_left(np.sign(rates) * np.exp(logarithms), law, *parts) + NO_WORSE))

    bounds = [(np.log(LEAST), np.log(MOST))] * len(rates)
    options = {"ftol": 1e-6, "gtol": 1e-4, "maxiter": 25}
    start = np.clip(np.log(np.abs(rates)), *bounds[0])
    nearest = minimize(left, start, (), "L-BFGS-B", jac="3-point", bounds=bounds, options=options)
    found, least = np.round(np.sign(rates) * np.exp(nearest.x), 6), float(np.exp(nearest.fun)) - NO_WORSE
    exact = np.round(found / unit / MULTIPLES) * MULTIPLES * unit
    if (np.abs(exact - found) < NEAR * np.abs(found)).all() and _left(exact, law, *parts) <= least + NO_WORSE:
        return exact, least
    return found, least


def _left(rates: np.ndarray, law: Exponents, v: Rows, others: Rows, target: Rows) -> float:
    """The part of the others' scores that no line with these growths explains."""
    columns, values = weighed(v, others, target, _growth(law, rates))
    return float(np.mean(nearly_left(columns, values) / np.sum(values**2, axis=0)))


def _growth(law: Exponents, rates: np.ndarray) -> Growth:
    return np.array(law, float) * rates


def _some(law: Exponents, x: Rows) -> np.ndarray:
    """Rows that are enough to compare laws of so many columns."""
    n, d = x.shape
    return np.linspace(0, n - 1, min(n, max(FEWEST_ROWS, int(ROWS_PER_COLUMN * len(law) * d)))).astype(int)


def _enough(law: Exponents, x: Rows) -> bool:
    """Whether there are rows for all columns, and another axis besides."""
    (n, d), axes = x.shape, len(law[0])
    return d > axes and COLUMNS * n >= len(law) * (d - axes + 1)
