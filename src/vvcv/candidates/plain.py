"""The plain average and its standard error, with the effective sample size where rows are Markov chains."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from ..data import Task


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


def effective_size(values: Float[np.ndarray, " n"], chains: tuple[int, int] | None) -> float:
    """Effective sample size: n for independent rows, Geyer's initial monotone sequence for chains."""
    if chains is None or chains[1] < 4:
        return float(values.size)
    draws = values.reshape(chains)
    autocovariance = np.mean([_autocovariance(chain - chain.mean()) for chain in draws], axis=0)
    between = np.var(draws.mean(axis=1), ddof=1) if chains[0] > 1 else 0.0
    within = autocovariance[0] * chains[1] / (chains[1] - 1)
    total = within * (chains[1] - 1) / chains[1] + between
    if total <= 0:
        return float(values.size)
    correlation = 1 - (within - autocovariance) / total
    pairs = correlation[: 2 * (correlation.size // 2)].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs < 0)
    pairs = np.minimum.accumulate(pairs[: negative[0]] if negative.size else pairs)
    time = max(2 * float(np.sum(pairs)) - 1.0, 1.0 / np.log10(max(values.size, 10)))
    return values.size / time


def _autocovariance(centred: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    n = centred.size
    spectrum = np.abs(np.fft.rfft(centred, 2 * n)) ** 2
    return np.fft.irfft(spectrum)[:n] / n
