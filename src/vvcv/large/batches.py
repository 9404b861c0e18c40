"""Autocorrelation along chains that no one holds in memory: sums over batches of draws, and Geyer's sum over those.

    inefficiency = n Var(mean) / sigma^2 = (variance of a batch's sum / (b sigma^2)) tau_of_the_batches

Batches of b draws are counted from the start of every chain, so that they do not depend on how rows were read; a batch
that lies in two blocks is the sum of its two parts. Short chains have b = 1, which is Geyer's sum of the draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ..data.chains import SHORTEST, effective_sizes

#: Sums that are kept of all series, and batches of a chain at least: sixteen megabytes; and a variance of 64 batches is
#: known to a fifth.
MOST_SUMS, FEWEST = 2_000_000, 64


@dataclass(frozen=True)
class Batching:
    """How the draws of every chain are cut into batches."""

    chains: tuple[int, int]
    length: int

    @classmethod
    def of(cls, chains: tuple[int, int], series: int) -> Batching:
        """Batches of which the sums of so many series can be kept.

        >>> Batching.of((4, 1000), 10).length, Batching.of((4, 10**7), 10).length
        (1, 200)
        """
        count, draws = chains
        most = max(FEWEST, MOST_SUMS // (count * max(series, 1)))
        return cls(chains, -(-draws // most))

    @property
    def count(self) -> int:
        """Whole batches in each chain; what is left over at its end tells nothing."""
        return self.chains[1] // self.length

    def sums(self, series: Float[np.ndarray, "k m"], chain: Int[np.ndarray, " k"], draw: Int[np.ndarray, " k"]):
        """The sums of a block's rows over the batches that they lie in."""
        batch = draw // self.length
        whole = batch < self.count
        index, inverse = np.unique((chain * self.count + batch)[whole], return_inverse=True)
        sums = np.zeros((len(index), series.shape[1]))
        np.add.at(sums, inverse, series[whole])
        return BatchSums(index, sums)

    def inefficiency(self, found: BatchSums, variance: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
        """By what factor the variance of each series' mean exceeds that of independent draws."""
        if self.count < SHORTEST:
            return np.ones(found.sums.shape[1])
        shape = (self.chains[0], self.count)
        times = len(found.index) / effective_sizes(found.sums, shape)
        spread = np.var(found.sums, axis=0) / (self.length * np.where(variance > 0, variance, 1.0))
        return np.where(variance > 0, spread * times, 1.0)


@dataclass(frozen=True, eq=False)
class BatchSums:
    """Sums of several series over some batches."""

    index: Int[np.ndarray, " j"]
    sums: Float[np.ndarray, "j m"]

    def __add__(self, other: BatchSums) -> BatchSums:
        index, inverse = np.unique(np.concatenate([self.index, other.index]), return_inverse=True)
        sums = np.zeros((len(index), self.sums.shape[1]))
        sums[inverse[: len(self.index)]] = self.sums  # each part names a batch once
        sums[inverse[len(self.index) :]] += other.sums
        return BatchSums(index, sums)
