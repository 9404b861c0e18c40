"""The plain average and its standard error, with the effective sample size where rows are Markov chains."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from ..data import Task
from ..data.chains import effective_size

__all__ = ["average", "effective_size", "skewness"]


def average(task: Task) -> tuple[float, float]:
    """Mean of the values and its standard error (Monte Carlo, or MCMC when the task has chains).

    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> average(Task(x, -x, x[:, 0]))
    (1.5, 0.6454972243679028)
    """
    mean = float(np.mean(task.values))
    centred = task.values - mean
    variance = float(np.sum(centred**2) / max(task.size - 1, 1))
    return mean, float(np.sqrt(variance / effective_size(task.values, task.chains)))


def skewness(values: Float[np.ndarray, " n"]) -> float:
    """Third moment of the centred values in units of their standard deviation; zero if they do not vary.

    >>> round(skewness(np.array([0.0, 0.0, 3.0])), 4)
    0.7071
    """
    largest = float(np.max(np.abs(values - np.mean(values))))
    if largest == 0:
        return 0.0
    centred = (values - np.mean(values)) / largest  # powers of values in any unit
    return float(np.mean(centred**3) / np.mean(centred**2) ** 1.5)
