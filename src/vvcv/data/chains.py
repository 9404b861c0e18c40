"""Autocorrelation along Markov chains: Geyer's initial monotone sequence, effective sizes, the variance of a mean.

    tau = 1 + 2 sum_k rho_k,   effective size = n / tau,   Var(mean) = sigma^2 tau / n

Autocovariances are averages over the chains; what the chains' means differ by is added to all of them, so that chains
that disagree count for less. References: Geyer (1992); Vehtari et al. (2021).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

#: Draws that a chain must have for its autocorrelation to count: Geyer's sum ends at the second pair of lags at the
#: earliest.
SHORTEST = 4

#: Blocks of neighbouring draws that a sample is at least divided into: fewer would say nothing of their variance.
FEWEST_BLOCKS = 8

#: Rounds in which the variance of a single chain's mean is put back into its autocovariances; it settles within these.
ROUNDS = 3


def effective_size(values: Float[np.ndarray, " n"], chains: tuple[int, int] | None) -> float:
    """Effective sample size: n for independent rows; along chains up to n log10(n), where draws repel each other.

    >>> effective_size(np.arange(5.0), None)
    5.0
    """
    if chains is None or chains[1] < SHORTEST:
        return float(values.size)
    return values.size / max(float(_times(values[:, None], chains)[0]), 1.0 / np.log10(max(values.size, 10)))


def blocks(time: float, chains: tuple[int, int]) -> Int[np.ndarray, " n"]:
    """Which block of neighbours each draw belongs to: twice the correlation time long, and no fewer than FEWEST in all.

    >>> blocks(1.9, (2, 40)).reshape(2, 40)[:, :9]
    array([[ 0,  0,  0,  0,  1,  1,  1,  1,  2],
           [10, 10, 10, 10, 11, 11, 11, 11, 12]])
    """
    count, draws = chains
    length = int(max(1, min(np.ceil(2 * time), count * draws // FEWEST_BLOCKS)))
    in_chain = np.arange(draws) // length
    return (np.arange(count)[:, None] * (in_chain[-1] + 1) + in_chain).ravel()


def effective_sizes(series: Float[np.ndarray, "n k"], chains: tuple[int, int] | None) -> Float[np.ndarray, " k"]:
    """Effective sizes of many series at once, never more than n.

    Rows without chains are taken as one chain: a flattened chain must not pass for independent draws.

    >>> draws = np.random.default_rng(0).normal(size=(1000, 1))
    >>> bool(effective_sizes(draws, None)[0] > 700)
    True
    """
    shape = chains or (1, len(series))
    if shape[1] < SHORTEST:
        return np.full(series.shape[1], float(len(series)))
    return len(series) / np.maximum(_times(series, shape), 1.0)


def variance_of_mean(values: Float[np.ndarray, " n"], chains: tuple[int, int]) -> tuple[float, float]:
    """Variance of the average over all draws, and the effective size behind it.

    Autocovariances about a chain's own mean are too small by the variance of that mean: several chains show it, and for
    a single one it is put back by a few rounds.

    >>> variance, size = variance_of_mean(np.random.default_rng(0).normal(size=900), (3, 300))
    >>> bool(abs(900 * variance - 1) < 0.2)
    True
    """
    count, length = chains
    if length < SHORTEST:
        return float(np.var(values, ddof=1) / values.size), float(values.size)
    covariance, between = autocovariances(values[:, None], chains)
    for _ in range(1 if count > 1 else 1 + ROUNDS):
        lifted = covariance + between
        time = max(float(correlation_times(lifted, lifted[0])[0]), 1.0 / np.log10(max(values.size, 10)))
        of_chain = float(lifted[0, 0]) * min(time / length, 1.0)
        between = np.array([of_chain])
    return of_chain / count, values.size / time


def autocovariances(
    series: Float[np.ndarray, "n k"], chains: tuple[int, int]
) -> tuple[Float[np.ndarray, "draw k"], Float[np.ndarray, " k"]]:
    """Autocovariances at all lags about each chain's mean, averaged over chains, and the variance of the means."""
    draws = series.reshape(*chains, -1)
    means = draws.mean(axis=1)
    length = chains[1]
    spectrum = np.abs(np.fft.rfft(draws - means[:, None], 2 * length, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum.mean(axis=0), axis=0)[:length] / length
    between = means.var(axis=0, ddof=1) if chains[0] > 1 else np.zeros(means.shape[1])
    return covariance, between


def correlation_times(
    covariance: Float[np.ndarray, "draw k"], variance: Float[np.ndarray, " k"]
) -> Float[np.ndarray, " k"]:
    """1 + 2 sum of autocorrelations by Geyer's initial monotone sequence; 1 for a constant series."""
    length = 2 * (len(covariance) // 2)
    constant = variance <= 0
    correlation = covariance[:length] / np.where(constant, 1.0, variance)
    pairs = correlation.reshape(length // 2, 2, -1).sum(axis=1)
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    monotone = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)
    return np.where(constant, 1.0, 2 * monotone.sum(axis=0) - 1)


def _times(series: Float[np.ndarray, "n k"], chains: tuple[int, int]) -> Float[np.ndarray, " k"]:
    """Correlation times as r_hat sees them: the variance within chains is taken without its bias."""
    covariance, between = autocovariances(series, chains)
    total = covariance[0] + between
    return correlation_times(covariance + between - covariance[0] / (chains[1] - 1), total)
