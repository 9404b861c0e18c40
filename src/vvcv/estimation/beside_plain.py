"""What answers pay for being far from what the sample says of values and of points: a witness that has no bias.

Where a target has several modes a fit may take the weight of each for something to be learned, and so may its own
witness: both predict every value and miss the mean. The sample has seen every mode as often as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float
from scipy.special import chdtrc, chdtri

from ..candidates.plain import skewness
from ..data import Task, Tasks
from ..data.chains import effective_sizes
from ..linear_system.balance import Balance
from .weights import UNREMARKABLE, Answer, price, squared_distance

#: Squared distance from the plain average, of which all sharp answers are equally far, that values alone do not speak
#: up for: one right answer in 16,000 exceeds it. (At `UNREMARKABLE` one in 20 does, and few rows of a heavy tail have
#: averages further away than that: the mean of exp(2x) of a normal has errors 1.6 times as large.)
UNHEARD_OF = 16.0

#: Autocorrelation from one row to the next, in its standard errors, from which on rows that nobody has said are a chain
#: count as one: one order of a hundred of independent rows has as much, and answers are to depend on no order.
CLEARLY_ALIKE = 2.33


def with_plain_average(
    answers: Sequence[Answer], task: Task, multiplicity: Float[np.ndarray, " m"], worth: float = np.inf
) -> list[Answer]:
    """The answers, with what their merits pay for being many errors away from the sample, as from a witness.

    Rows may be a chain that nobody has said is one, or m different ones that are given again and again, so averages are
    believed only as far as their order and number allow: those of points as of so many rows as these are `worth`.

    >>> x = np.random.default_rng(0).normal(size=(100, 1))
    >>> task, answer = Task(x, -x, x[:, 0]), Answer("cf", 0.0, 0.01, -3.0, 99.0, np.subtract, "")
    >>> [round(a.merit, 1) for a in with_plain_average([answer, replace(answer, mean=1.0)], task, np.ones(100))]
    [-3.0, 3.1]
    """
    mean, values = float(np.mean(task.values)), task.values
    different = float(np.sum(multiplicity) ** 2 / np.sum(multiplicity**2))
    size = min(_rows_worth(values[:, None], task.chains), different)
    error, bend = float(np.std(values)) / np.sqrt(size), skewness(values)
    apart = [squared_distance(a.mean, mean, error, max(size - 1, 1.0), bend) for a in answers]
    paid = [_paid(values, a.balance, min(worth, different)) for values, a in zip(apart, answers, strict=True)]
    return [replace(a, merit=a.merit + more) if more else a for a, more in zip(answers, paid, strict=True)]


def _rows_worth(series: Float[np.ndarray, "n k"], chains: tuple[int, int] | None) -> float:
    """How many independent rows the series that mixes worst is worth."""
    sizes = effective_sizes(series, chains)
    if chains is None:
        off = series - series.mean(axis=0)
        alike = np.sum(off[1:] * off[:-1], axis=0) > CLEARLY_ALIKE * np.sum(off**2, axis=0) / np.sqrt(len(series))
        sizes = np.where(alike, sizes, len(series))
    return float(sizes.min())


def _paid(of_values: float, balance: Balance | None, size: float) -> float:
    """The dearer of what values alone cost, and what they do together with points (`linear_system.balance`)."""
    alone = price(of_values, UNHEARD_OF)
    of_points, axes = (0.0, 0) if balance is None else balance.distance(size)
    return max(alone, price(of_values + of_points, _unremarkable(1 + axes))) if axes else alone


def _unremarkable(axes: int) -> float:
    """The squared distance along so many axes that is as rare as `UNREMARKABLE` is along one."""
    return float(chdtri(axes, chdtrc(1, UNREMARKABLE)))


def worth_of_points(tasks: Tasks) -> list[float]:
    """How many independent rows the points of each task are worth, by the coordinate that mixes worst.

    >>> x = np.zeros((5, 2))
    >>> worth_of_points(Tasks.shared(x, x, x))
    [5.0, 5.0]
    """
    shared = tasks.share_points
    sizes = [_rows_worth(task.points, task.chains) for task in list(tasks)[: 1 if shared else None]]
    return sizes * len(tasks) if shared else sizes
