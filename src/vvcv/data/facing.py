"""Which way each axis faces, so that nothing hangs on the signs with which parameters were written down.

One curve for all axes (`stein.ridge`) is that of a total over parameters that are alike: they should face the same way.
Where the density along an axis is skewed its scores bend, without noise, and axes that bend the same way are alike.
Where it is not, values tell: those of a total rise along all of them, or fall. (Those of an even function do neither,
and are the same whichever way the axes of an even density face.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .directions import normal_scores

#: Scores bend where a parabola leaves less than this part of the squares that a cube beside a line leaves: those that
#: are alike on both sides leave less to a cube (in all but 6 % of samples of 20 logistic variables, .3 % of 50).
BENDS = 0.5

#: Part of the scores' variance that a line leaves at least where they bend: less is their last digits.
LEAST_LEFT = 1e-6


def facing(
    points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"], values: Float[np.ndarray, "n m"]
) -> Float[np.ndarray, " d"]:
    """One or minus one for each axis: turned so, axes that are alike face the same way.

    >>> x = np.log(np.random.default_rng(0).gamma(4.0, size=(50, 3)))
    >>> turn = np.array([1.0, -1.0, 1.0])
    >>> facing(x * turn, (4 - np.exp(x)) * turn, np.sum(x, axis=1, keepdims=True))
    array([-1.,  1., -1.])
    """
    bends = np.array([_bend(x, s) for x, s in zip((points - points.mean(axis=0)).T, scores.T, strict=True)])
    rising = _rising(points, values)
    rising = rising if bends @ rising >= 0 else -rising
    return np.where(np.where(bends == 0, rising, bends) < 0, -1.0, 1.0)


def _bend(x: Float[np.ndarray, " n"], scores: Float[np.ndarray, " n"]) -> float:
    """The square in a parabola that follows the scores; zero where a line does, or a cube beside one does better."""
    line = np.column_stack([np.ones(len(x)), x])
    straight, parabola, cube = (_fit(np.column_stack([line, *more]), scores) for more in ([], [x * x], [x * x * x]))
    bends = straight.left > LEAST_LEFT * np.sum((scores - scores.mean()) ** 2) and parabola.left < BENDS * cube.left
    return parabola.last if bends else 0.0


class _Fit(NamedTuple):
    """The last coefficient of a regression, and the squares that are left."""

    last: float
    left: float


def _fit(columns: Float[np.ndarray, "n k"], values: Float[np.ndarray, " n"]) -> _Fit:
    coefficients = np.linalg.lstsq(columns, values, rcond=None)[0]
    return _Fit(float(coefficients[-1]), float(np.sum((values - columns @ coefficients) ** 2)))


def _rising(points: Float[np.ndarray, "n d"], values: Float[np.ndarray, "n m"]) -> Float[np.ndarray, " d"]:
    """How values rise along each axis: the leading one of the slopes of all, by regression where there are points."""
    n, d = points.shape
    ranks = np.column_stack([normal_scores(column) for column in values.T])
    centred = points - points.mean(axis=0)
    slopes = np.linalg.lstsq(centred, ranks, rcond=None)[0] if n > 2 * d else centred.T @ ranks
    return np.linalg.svd(slopes, full_matrices=False)[0][:, 0] if slopes.any() else np.ones(d)
