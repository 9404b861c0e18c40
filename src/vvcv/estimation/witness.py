"""The witness of a fit: the average of what its variate leaves of values it has not seen.

With value i left out the mean is that of all less move_i, and value i is off its prediction by r_i, so that

    witness = mean + average of (r_i - move_i),   error = standard deviation of r_i / sqrt(effective n)
"""

from __future__ import annotations

from math import hypot

import numpy as np
from jaxtyping import Float

from ..candidates.plain import effective_size, skewness
from ..data import Distinct, Prepared
from ..data.rounding import QUANTUM
from .weights import ROUNDING, Witness

#: Residuals, in standard deviations of the values, that are too small for a witness: fits are judged without the last
#: digits, which residuals magnify some ten times. (Means of quadratics were off by them, 1e-8, not by rounding.)
LAST_DIGITS = 100 * QUANTUM


def witness_of(
    prepared: Prepared,
    task: int,
    mean: float,
    left_out: Float[np.ndarray, " n"],
    move: Float[np.ndarray, " n"],
    usual: float,
    hidden: float = 1.0,
) -> Witness:
    """The witness of a fit to one task, from residuals and moves of its distinct rows.

    Residuals are as large as `usual` all in all; parameters tuned on the values make them `hidden` times as large.

    >>> from ..data import Task, Tasks
    >>> x = np.array([[-1.0], [0.0], [2.0]])
    >>> prepared = Prepared.of(Tasks([Task(x, -x, x[:, 0])]))
    >>> witness_of(prepared, 0, 1.0, np.array([0.3, 0.0, 0.6]), np.array([0.1, 0.0, 0.2]), 0.4).mean
    1.2
    """
    rows, distinct = prepared.tasks[task], prepared.distinct[task]
    residuals = in_order(distinct, left_out * distinct.multiplicity)
    # What repeated rows of a chain are worth its autocorrelation tells; others that repeat say nothing new.
    size = effective_size(residuals, rows.chains) if rows.chains else float(len(left_out))
    return Witness(
        mean=mean + float(np.average(left_out - move, weights=distinct.multiplicity)),
        error=hidden * float(np.std(residuals) / np.sqrt(size)),
        size=size,
        skewness=skewness(residuals),
        left_out=hidden * usual,
        moves=(residuals - np.mean(residuals)) / residuals.size,
    )


def in_order(distinct: Distinct, numbers: Float[np.ndarray, " n"]) -> Float[np.ndarray, " N"]:
    """Numbers of distinct rows shared out to the rows given, in their order."""
    return (numbers / distinct.multiplicity)[distinct.row]


def not_below_rounding(prepared: Prepared, task: int, error: float) -> float:
    """An error of a mean, and that of its last digits."""
    return hypot(error, ROUNDING * float(np.abs(prepared.shift[task]) + prepared.scale[task]))
