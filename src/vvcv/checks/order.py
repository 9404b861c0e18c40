"""Do rows that are given as independent depend on each other in their order, as those of a flattened chain do?

    r_k = autocorrelation of ranks at lag k,    z_k = (r_k + 1/n) n / sqrt(n - k)

for every coordinate, its distance from the median and every task's values; standard normal where rows are independent.
Ranks make heavy tails harmless; lags up to 64 see chains whose draws alternate, as those of an ensemble do.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import ndtri

from ..data.chains import autocovariances
from ..data.task import Tasks
from .findings import Finding

#: Probability that independent rows raise an alarm, and the smallest autocorrelation that is worth one: at 0.1 error
#: bars are a tenth too narrow.
FALSE_ALARM, SMALLEST = 0.005, 0.1

#: Rows from which on their order is looked at: fewer say nothing about it.
FEWEST_ROWS = 20

#: Rows of a block that has one in each half or quarter of all, and how many rows in such blocks make a design: chains
#: whose draws alternate fill halves as designs do, but hardly ever quarters.
BLOCKS = ((2, 2 * FEWEST_ROWS), (4, FEWEST_ROWS))

#: Lags, rows (the first ones, since order is what counts) and integrands that are looked at.
LARGEST_LAG, MOST_ROWS, MOST_TASKS = 64, 5000, 20

#: Rows drawn that lie at the point of an earlier one which is not their neighbour, from which on a sample is said to
#: repeat itself: chains that start at one place return to it by fewer.
FEWEST_RETURNS = 3

_PASS_CHAINS = (
    "Pass points and scores as (chain, draw, d) and values as (chain, draw), or error bars are too narrow. Rows that "
    "are independent, or a design, may be shuffled."
)

_SORT = (
    "Copies are taken for new draws, and error bars are too narrow. Leave out rows given twice, or sort rows by their "
    "points where they are no chain."
)


#: What `describe_order` may say.
CODES = ("chain", "sorted", "design")


def describe_order(tasks: Tasks) -> list[Finding]:
    """One finding for every set of rows that is no set of independent draws in any order."""
    groups: dict[bytes, list[int]] = {}
    for t, task in enumerate(tasks):
        if task.chains is None and task.size >= FEWEST_ROWS:
            groups.setdefault(task.points.tobytes(), []).append(t)
    found = []
    for members in groups.values():
        points = tasks[members[0]].points[:MOST_ROWS]
        values = np.column_stack([tasks[t].values[:MOST_ROWS] for t in members[:MOST_TASKS]])
        others = f" and {len(members) - 1} more" if len(members) > 1 else ""
        found += _describe(points, values, f"{tasks.names[members[0]]}{others}", len(groups))
    return found


def describe_returns(drawn: Tasks) -> list[Finding]:
    """A finding where rows drawn from a sample, in its order, return to points left before: chains only stay.

    Error bars of rows that are read block by block know of copies that follow each other alone.
    """
    found = []
    for points, label in _samples(drawn):
        stays = np.append(False, (points[1:] == points[:-1]).all(axis=1))
        returns = len(points) - int(stays.sum()) - len(np.unique(points, axis=0))
        if returns >= FEWEST_RETURNS:
            message = f"of {len(points)} rows drawn from all, {returns} repeat one that is not beside them."
            found.append(Finding("warning", "repeats", message, _SORT, label))
    return found


def _samples(tasks: Tasks) -> list[tuple[Float[np.ndarray, "n d"], str]]:
    """The points of each sample, with the name of its first task."""
    pairs = list(zip(tasks, tasks.names, strict=True))
    return list({task.points.tobytes(): (task.points, name) for task, name in reversed(pairs)}.values())


def _describe(
    points: Float[np.ndarray, "n d"], values: Float[np.ndarray, "n T"], label: str, sets: int
) -> list[Finding]:
    names = [f"coordinate {j}" for j in range(points.shape[1])] + ["the values"] * values.shape[1]
    series = np.column_stack([points, values])
    if (ordered := _sorted_by(series)) is not None:
        message = f"rows are sorted by {names[ordered]}: their order cannot tell whether they are a chain."
        return [Finding("note", "sorted", message, "Keep chains in their order, as (chain, draw, d).", label)]
    if (designed := _designed(points)) is not None:
        message = (
            f"coordinate {designed} of consecutive rows lies on either side of its median in turn, as in a design."
        )
        remedy = "Points of a design are no draws: a fit stays valid, error bars from residuals are too wide."
        return [Finding("note", "design", message, remedy, label)]
    names += [f"the distance of {name} from its median" for name in names[: points.shape[1]]]
    series = np.column_stack([series, np.abs(points - np.median(points, axis=0))])
    lag, which, r, z = _largest(series)
    tests = sets * series.shape[1] * min(LARGEST_LAG, len(points) // 4)
    if z < -float(ndtri(FALSE_ALARM / tests)) or r < SMALLEST:
        return []
    message = f"rows depend on each other in their order, as draws of a chain do: {names[which]} has autocorrelation "
    return [Finding("warning", "chain", f"{message}{r:.2f} at lag {lag}.", _PASS_CHAINS, label)]


def _largest(series: Float[np.ndarray, "n k"]) -> tuple[int, int, float, float]:
    """Lag, column, autocorrelation and z-value of the strongest dependence among columns that have an order."""
    n = len(series)
    ranks = np.column_stack([_ranks(column) for column in series.T])
    ranks -= ranks.mean(axis=0)
    lags = np.arange(1, min(LARGEST_LAG, n // 4) + 1)
    covariance, _ = autocovariances(ranks, (1, len(ranks)))
    variance = covariance[0]
    # Where one number makes up half of a column, few rows decide, and z is not normal.
    telling = (variance > 0) & (np.array([_commonest(column) for column in series.T]) <= n / 2)
    r = np.where(telling, covariance[lags] / np.where(variance > 0, variance, 1.0), 0.0)
    z = np.where(telling, (r + 1 / n) * n / np.sqrt(n - lags)[:, None], -np.inf)
    place, which = np.unravel_index(int(np.argmax(z)), z.shape)
    return int(lags[place]), int(which), float(r[place, which]), float(z[place, which])


def _ranks(column: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Places in order, equal numbers sharing theirs, as `scipy.stats.rankdata`, whose import takes half a second.

    >>> _ranks(np.array([5.0, 1.0, 5.0]))
    array([2.5, 1. , 2.5])
    """
    _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


def _commonest(column: Float[np.ndarray, " n"]) -> int:
    return int(np.unique(column, return_counts=True)[1].max())


def _sorted_by(series: Float[np.ndarray, "n k"]) -> int | None:
    """The first column that never falls, or never rises, and is not constant."""
    steps = np.diff(series, axis=0)
    monotone = ((steps >= 0).all(axis=0) | (steps <= 0).all(axis=0)) & (
        (steps != 0).sum(axis=0) >= min(FEWEST_ROWS, len(series)) // 2
    )
    return int(np.argmax(monotone)) if monotone.any() else None


def _designed(points: Float[np.ndarray, "n d"]) -> int | None:
    """The first coordinate of whose rows each block has one in each part of its range, as Sobol's and Halton's do."""
    for size, fewest in BLOCKS:
        for first in (0, size - 1):  # a design's first point is often left out
            rows = (len(points) - first) // size * size
            if rows >= fewest and (even := _fills_parts(points[first : first + rows], size)).any():
                return int(np.argmax(even))
    return None


def _fills_parts(rows: Float[np.ndarray, "n d"], size: int) -> Bool[np.ndarray, " d"]:
    """For each coordinate, whether each block of `size` rows has one in each part of as many, and so do its halves.

    >>> _fills_parts(np.array([[1.0, 1.0], [4.0, 2.0], [2.0, 3.0], [3.0, 4.0]]), 4)
    array([ True, False])
    """
    ranks = np.column_stack([_ranks(column) for column in rows.T])
    part = ((ranks - 0.5) * size // len(rows)).reshape(-1, size, rows.shape[1])
    fills = (np.sort(part, axis=1) == np.arange(size)[:, None]).all(axis=(0, 1))
    return fills if size == 2 else fills & _fills_parts(rows, size // 2)
