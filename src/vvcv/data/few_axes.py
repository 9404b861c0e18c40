"""The few axes that values hang on, and whether what is known there is all that needs to be known.

Which axes count is told by the gradients of smooth fits to ranks, each in the metric of the one before, as for
directions (`data.directions`) but with a diagonal metric: axes that do not count are soon left out altogether, and of
a hundred axes two are found from 200 points.

A function of few axes S is a problem of few dimensions if the target is a product along them: the scores there are
then those of a density of x_S alone, and so a function of x_S. Of a funnel, whose width another axis sets, or of
correlated axes they are not, and a control variate that sees S alone could not follow the function.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_factor, cho_solve

from ..runtime.threads import one_thread
from .directions import LEAST_METRIC, ROWS, distances, gradients, normal_scores, some_rows

#: Share of the squared gradients from which on an axis counts: of 44 functions of one or two axes among 20 to 100 (100
#: to 400 points) those have at least .07, and others, but for some among 100, at most .001.
COUNTS = 0.003

#: Fits at most, and the change of shares after which another would tell the same. (Of 44 functions of one or two axes
#: the same are found as by six fits of each.)
MOST_FITS, SETTLED = 6, 0.003

#: Rows that are looked at for each axis, if that is more than for directions, and the most, whose cube costs time: of a
#: hundred axes 400 rows tell a product of two.
ROWS_FOR_EACH, MOST_ROWS = 4, 1024

#: How many axes there are at least for each that counts: of two normal variables among four, interval scores of waves
#: and products are .5 to .9 of those with all axes, among ten .1 (8 samples), and a search takes as long.
FEW = 3

#: What a smooth fit may leave of numbers, each left out, that are a function of the points: the median of its squares,
#: in units of theirs, of which constants have none. (Of scores of products of normal, logistic and log-gamma variables
#: along one or two axes, 20 to 150 points, .02 in 95 of 100 samples, of 30 points on .006; of rotated products and
#: funnels .03 or more in as many. Ranks instead leave .01 to .2 of products of 20 and 30 points.)
FOLLOWED, NO_SPREAD = 0.02, 1e-12

#: The same of values, which may be noisy: what is left over, values left out tell soon enough. (Of smooth functions of
#: two of 10 and 20 axes with noise of a tenth of their spread, two and five tasks on points of their own, errors are .6
#: to 1 times those with all axes, six samples each; at .02 none of them is looked at.)
WORTH_A_LOOK = 0.5

#: Share of what curves along few axes leave that lines along the others explain, beyond chance, from which on those
#: count as well. (Of the borehole, whose first axis has .999 of the squared gradients, .89 to .97 from 20 points on; of
#: functions of two of 10 and 20 axes, with noise and without, at most .27.)
OTHERS = 0.5

#: Noise of that fit, with which it can be solved, and its squared length in units of the median of squared distances:
#: at 1 it leaves more of |x|, and as much of the scores of funnels.
NOISE, LENGTH = 1e-3, 0.25


def few_axes(points: Float[np.ndarray, "n d"], values: Float[np.ndarray, " n"]) -> Int[np.ndarray, " k"] | None:
    """The axes that values hang on, those first that count most; None where they are more than a third of all.

    >>> x = np.random.default_rng(0).normal(size=(80, 10))
    >>> few_axes(x, np.exp(x[:, 3]) + np.sin(x[:, 7])), few_axes(x, np.sin(x).sum(axis=1))
    (array([3, 7]), None)
    """
    counts = axis_counts(points, values)
    few = np.flatnonzero(counts > COUNTS)
    if FEW * few.size > counts.size or unexplained(points[:, few], values[:, None]) > WORTH_A_LOOK:
        return None
    if _others_count(points, few, values):
        return None
    return few[np.argsort(-counts[few], kind="stable")]


def axis_counts(points: Float[np.ndarray, "n d"], values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " d"]:
    """The share of each axis in the squared gradients of a smooth fit to the ranks of the values.

    >>> x = np.random.default_rng(0).normal(size=(60, 3))
    >>> axis_counts(x, np.exp(x[:, 1])).round(2)
    array([0., 1., 0.])
    """
    d = points.shape[1]
    rows = some_rows(len(points), min(max(ROWS, ROWS_FOR_EACH * d), MOST_ROWS))
    points, scores, shares = points[rows], normal_scores(values[rows])[:, None], np.full(d, 1 / d)
    with one_thread():
        for _ in range(MOST_FITS):
            before = shares
            squares = np.sum(gradients(points, scores, np.diag(d * shares)) ** 2, axis=0)
            if not squares.sum() > 0:
                break
            shares = (squares / squares.sum() + LEAST_METRIC / d) / (1 + LEAST_METRIC)
            if np.abs(shares - before).max() < SETTLED:
                break
    return shares


def unexplained(points: Float[np.ndarray, "n k"], numbers: Float[np.ndarray, "n m"]) -> float:
    """How much of numbers of the order of one is no smooth function of the points: of the column with most.

    >>> x = np.random.default_rng(0).normal(size=(80, 2))
    >>> unexplained(x[:, :1], -x[:, :1]) < FOLLOWED < unexplained(x[:, :1], -x[:, :1] * np.exp(x[:, 1:] / 4))
    True
    """
    rows = some_rows(len(points))
    numbers = numbers[rows] - numbers[rows].mean(axis=0)
    spread = np.maximum(np.median(numbers**2, axis=0), NO_SPREAD)
    return float(np.max(np.median(_left_out(points[rows], numbers) ** 2, axis=0) / spread))


def _left_out(points: Float[np.ndarray, "n k"], numbers: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "n m"]:
    """What a smooth fit leaves of numbers, each left out."""
    lines = np.column_stack([np.ones(len(points)), points])
    with one_thread():
        rest = numbers - lines @ np.linalg.lstsq(lines, numbers, rcond=None)[0]
        apart = distances(points, points)
        gram = np.exp(-apart / max(LENGTH * float(np.median(apart)), 1e-300)) + NOISE * np.eye(len(points))
        inverse = cho_solve(cho_factor(gram, lower=True), np.eye(len(points)))
        return inverse @ rest / np.diag(inverse)[:, None]


def _others_count(
    points: Float[np.ndarray, "n d"], few: Int[np.ndarray, " k"], values: Float[np.ndarray, " n"]
) -> bool:
    """Whether what cubes of few axes leave of values goes with the others: the share that lines explain, not chance."""
    some, others = points[:, few], np.delete(points, few, axis=1)
    curves = np.column_stack([np.ones(len(points)), some, some**2, some**3])
    free = len(points) - curves.shape[1] - others.shape[1]
    if free <= 0:
        return False
    left, rest = (_rest(columns, values) for columns in (curves, np.column_stack([curves, others])))
    return rest / free < (1 - OTHERS) * left / (free + others.shape[1])


def _rest(columns: Float[np.ndarray, "n k"], values: Float[np.ndarray, " n"]) -> float:
    return float(np.sum((values - columns @ np.linalg.lstsq(columns, values, rcond=None)[0]) ** 2))


def explained(points: Float[np.ndarray, "n d"], values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " d"]:
    """Squared correlations of values with each axis and with its square, together.

    >>> x = np.array([[-1.0, 1.0], [0.0, -2.0], [1.0, 1.0]])
    >>> explained(x, x[:, 0]).round(3)
    array([1., 0.])
    """
    centred, told = points - points.mean(axis=0), np.zeros(points.shape[1])
    farthest = np.abs(centred).max(axis=0)
    unit = centred / np.where(farthest > 0, farthest, 1.0)  # fourth powers of large units would overflow
    for columns in (unit, unit**2):
        columns = columns - columns.mean(axis=0)
        length = np.linalg.norm(columns, axis=0) * np.linalg.norm(values)
        told += ((values - values.mean()) @ columns / np.where(length > 0, length, 1.0)) ** 2
    return told
