"""Mini-batches in proportion to the sample sizes, reshuffled every epoch (paper, A.2).

Batch k of b takes rows floor(k m_t / b) to floor((k + 1) m_t / b) of a shuffled task t: all rows once per epoch, every
task in every batch while m_t >= b. Rows weigh b / m_t, so that the gradient of a batch is unbiased for unequal sizes.
"""

from __future__ import annotations

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


def make_batches(sizes: tuple[int, ...], batch_size: int | None) -> Batches:
    """Batches of about `batch_size` rows over all tasks together; None takes all rows at once.

    >>> make_batches((4, 2), 3).positions.tolist()
    [[0, 1, 4], [2, 3, 5]]
    """
    total = sum(sizes)
    if batch_size is None:
        batch_size = total
    if int(batch_size) != batch_size or not 1 <= batch_size <= total:
        raise ValueError(
            f"The batch size, over all tasks, must be an integer from 1 to the number of rows, {total}, but is "
            f"{batch_size!r}. Use None for all rows at once."
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


def shuffled_rows(rng: np.random.Generator, task: Int[np.ndarray, " N"], epochs: int) -> Int[np.ndarray, "epochs N"]:
    """For every epoch a random order of the rows within each task; the tasks, sorted, stay in place.

    >>> shuffled_rows(np.random.default_rng(0), np.array([0, 0, 1, 1]), 1).tolist()
    [[1, 0, 3, 2]]
    """
    return np.argsort(task + rng.random((epochs, len(task))), axis=1)
