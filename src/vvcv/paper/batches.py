"""Mini-batches in proportion to the sample sizes, reshuffled every epoch (paper, A.2).

Batch k of b takes rows floor(k m_t / b) to floor((k + 1) m_t / b) of a shuffled task t: all rows once per epoch, every
task in every batch while m_t >= b. Rows weigh b / m_t, so that the gradient of a batch is unbiased for unequal sizes.
With a batch size for every task, rows weigh one over it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from .variates.space import AnyArray


class Batches(NamedTuple):
    """Positions in the shuffled order (task after task) and weights of the rows of each batch; padding weighs 0."""

    positions: Int[AnyArray, "b m"]
    weights: Float[AnyArray, "b m"]

    @property
    def per_epoch(self) -> int:
        """Batches per epoch."""
        return self.positions.shape[0]


def make_batches(sizes: tuple[int, ...], batch_size: int | Sequence[int] | None) -> Batches:
    """Batches of about `batch_size` rows over all tasks, or of a size for each task; None takes all rows at once.

    >>> make_batches((4, 2), 3).positions.tolist()
    [[0, 1, 4], [2, 3, 5]]
    >>> make_batches((4, 2), (2, 2)).positions.tolist()
    [[0, 1, 4, 5], [2, 3, 4, 5]]
    """
    if batch_size is None:
        batch_size = sum(sizes)
    if isinstance(batch_size, np.ndarray) and batch_size.ndim == 0:
        batch_size = batch_size[()]
    if isinstance(batch_size, Sequence | np.ndarray):
        return _per_task(sizes, tuple(batch_size))
    return _in_proportion(sizes, batch_size)


def shuffled_rows(rng: np.random.Generator, task: Int[np.ndarray, " N"], epochs: int) -> Int[np.ndarray, "epochs N"]:
    """For every epoch a random order of the rows within each task; the tasks, sorted, stay in place.

    >>> shuffled_rows(np.random.default_rng(0), np.array([0, 0, 1, 1]), 1).tolist()
    [[1, 0, 3, 2]]
    """
    return np.argsort(task + rng.random((epochs, len(task))), axis=1)


def _in_proportion(sizes: tuple[int, ...], batch_size: int) -> Batches:
    total = sum(sizes)
    if not (isinstance(batch_size, int | np.integer) and 1 <= batch_size <= total):
        raise ValueError(
            f"The batch size, over all tasks, must be an integer from 1 to the number of rows, {total}, but is "
            f"{batch_size!r}. Use None for all rows at once, or one number for each task."
        )
    count = -(-total // int(batch_size))
    starts = np.cumsum([0, *sizes[:-1]])
    parts = [
        [np.arange(k * m // count, (k + 1) * m // count) + start for m, start in zip(sizes, starts, strict=True)]
        for k in range(count)
    ]
    weights = [
        np.concatenate([np.full(len(rows), count / m) for rows, m in zip(part, sizes, strict=True)]) for part in parts
    ]
    width = max(len(w) for w in weights)
    positions = np.stack(
        [np.pad(np.concatenate(part), (0, width - len(w))) for part, w in zip(parts, weights, strict=True)]
    )
    return Batches(positions, np.stack([np.pad(w, (0, width - len(w))) for w in weights]))


def _per_task(sizes: tuple[int, ...], batch_sizes: tuple[int, ...]) -> Batches:
    """As many batches as the task that needs most; the others begin again, so that every batch has all its rows."""
    fine = len(batch_sizes) == len(sizes) and all(
        isinstance(b, int | np.integer) and 1 <= b <= m for b, m in zip(batch_sizes, sizes, strict=True)
    )
    if not fine:
        raise ValueError(
            "Batch sizes of the tasks must be one integer for each, from 1 to its number of rows, but are "
            f"{batch_sizes} for tasks of {sizes} rows."
        )
    count = max(-(-m // b) for m, b in zip(sizes, batch_sizes, strict=True))
    starts = np.cumsum([0, *sizes[:-1]])
    rows = [
        start + np.arange(count * b).reshape(count, b) % m
        for m, b, start in zip(sizes, batch_sizes, starts, strict=True)
    ]
    weights = np.concatenate([np.full(b, 1 / b) for b in batch_sizes])
    return Batches(np.hstack(rows), np.tile(weights, (count, 1)))
