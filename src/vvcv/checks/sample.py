"""Points and scores to be checked together: tasks with one sample are one sample."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from ..data.task import Tasks


@dataclass(frozen=True, eq=False)
class Sample:
    """Points with their scores, the names of the tasks that use them, and the inputs that the scores are exact for."""

    points: Float[np.ndarray, "n d"]
    scores: Float[np.ndarray, "n d"]
    chains: tuple[int, int] | None
    names: tuple[str, ...]
    inputs: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Number of points n."""
        return len(self.points)

    @property
    def varying(self) -> Bool[np.ndarray, " d"]:
        """Which coordinates are not constant."""
        origin = self.points.mean(axis=0)
        centred = np.abs(self.points - origin).max(axis=0)
        return centred > 1e-12 * (np.abs(origin) + centred)

    @property
    def label(self) -> str:
        """The name of the task, or of the first of several."""
        return self.names[0] if len(self.names) == 1 else f"{self.names[0]} and {len(self.names) - 1} more"

    def standard(self) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n d"]]:
        """z = (x - mean) / sd, and the scores in these coordinates, sd * s."""
        spread = np.where(self.varying, self.points.std(axis=0), 1.0)
        return (self.points - self.points.mean(axis=0)) / spread, self.scores * spread

    def with_scores(self, scores: Float[np.ndarray, "n d"]) -> Sample:
        """The same points with other scores."""
        return replace(self, scores=scores)


def samples_of(tasks: Tasks) -> list[Sample]:
    """One sample for every distinct pair of points and scores among the tasks."""
    groups: dict[tuple[bytes, bytes], list[int]] = {}
    for t, task in enumerate(tasks):
        groups.setdefault((task.points.tobytes(), task.scores.tobytes()), []).append(t)
    return [
        Sample(first.points, first.scores, first.chains, tuple(tasks.names[t] for t in members), first.inputs)
        for members in groups.values()
        for first in [tasks[members[0]]]
    ]
