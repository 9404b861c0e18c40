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
from .pooled import Growth, Pooled, apart, weighed

Exponents = tuple[tuple[int, ...], ...]

#: Growths of a precision over one standard deviation of the axis that are tried first, and the least and most that
#: there may be. Centred groups of Gaussian data and of counts have .6 to 2.7, noise of thirty values .3.
RATES, LEAST, MOST = (-1.0, 1.0), 0.1, 5.0

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
    for axes, growth, left in _after((), (), np.empty(0), 1.0, most, *standard(points, scores)):
        found = Pooled.along(axes, growth, points, scores)
        if found is not None:
            yield found
        if left < NOTHING_LEFT:
            return


def _after(
    law: Exponents, axes: tuple[int, ...], rates: np.ndarray, before: float, most: int, x: Rows, s: Rows
) -> Iterator[tuple[tuple[int, ...], Growth, float]]:
    """Axes, growths along them and what they leave, of all laws that come after one and leave much less."""
    for further in AFTER.get(law, ()) if len(axes) < most else ():
        axis, rate = _likeliest(axes, rates, further, x, s)
        if axis is not None:
            those = (*axes, axis)
            found, left = _refined(those, np.append(rates, rate), further, x, s)
            if left <= FURTHER * before:
                yield those, _growth(further, found), left
                yield from _after(further, those, found, left, most, x, s)


def _likeliest(axes: tuple[int, ...], rates: np.ndarray, law: Exponents, x: Rows, s: Rows) -> tuple[int | None, float]:
    """The axis, and a growth along it, that leave least of the others' scores beside what is known."""
    rows = _some(law, x)
    best: tuple[float, int | None, float] = (1.0, None, 0.0)
    for axis in np.delete(np.arange(x.shape[1]), axes) if _enough(law, x) else ():
        parts = apart((*axes, int(axis)), x[rows], s[rows])
        left, rate = min((_left(np.append(rates, rate), law, *parts), rate) for rate in RATES)
        if np.float32(left) < np.float32(best[0]):
            best = (left, int(axis), rate)
    return best[1:]


def _refined(
    axes: tuple[int, ...], rates: np.ndarray, law: Exponents, x: Rows, s: Rows
) -> tuple[Float[np.ndarray, " a"], float]:
    """Growths near these that leave least of the others' scores, and how much."""
    rows = _some(law, x)
    parts = apart(axes, x[rows], s[rows])
    bounds = [sorted((np.sign(rate) * LEAST, np.sign(rate) * MOST)) for rate in rates]
    options = {"ftol": 1e-11, "gtol": 1e-8, "maxiter": 25, "finite_diff_rel_step": 1e-3}
    found = minimize(_left, rates, (law, *parts), "L-BFGS-B", jac="3-point", bounds=bounds, options=options)
    return np.round(found.x, 6), float(found.fun)


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
    """Whether there are rows for all columns, and two axes besides."""
    (n, d), axes = x.shape, len(law[0])
    return d > axes + 1 and COLUMNS * n >= len(law) * (d - axes + 1)
