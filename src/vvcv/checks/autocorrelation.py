"""Effective sample sizes of many series at once, so that Markov chains raise no false alarm."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def effective_sizes(series: Float[np.ndarray, "n k"], chains: tuple[int, int] | None) -> Float[np.ndarray, " k"]:
    """n / (1 + 2 sum of autocorrelations), by Geyer's initial monotone sequence, never more than n.

    Rows without chains are taken as one chain: a flattened chain must not pass for independent draws.

    >>> draws = np.random.default_rng(0).normal(size=(1000, 1))
    >>> bool(effective_sizes(draws, None)[0] > 700)
    True
    """
    n, _ = series.shape
    count, length = chains or (1, n)
    if length < 4:
        return np.full(series.shape[1], float(n))
    draws = series.reshape(count, length, -1)
    means = draws.mean(axis=1)
    covariance = np.mean([autocovariance(chain - mean) for chain, mean in zip(draws, means, strict=True)], axis=0)
    between = means.var(axis=0, ddof=1) if count > 1 else 0.0
    within = covariance[0] * length / (length - 1)
    total = covariance[0] + between
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.where(total > 0, 1 - (within - covariance) / total, 0.0)
    pairs = correlation[: 2 * (length // 2)].reshape(length // 2, 2, -1).sum(axis=1)
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    monotone = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)
    return n / np.maximum(2 * monotone.sum(axis=0) - 1, 1.0)


def autocovariance(centred: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
    """Autocovariances at lags 0, ..., n - 1 of series of mean zero, each divided by n."""
    n = len(centred)
    spectrum = np.abs(np.fft.rfft(centred, 2 * n, axis=0)) ** 2
    return np.fft.irfft(spectrum, axis=0)[:n] / n
