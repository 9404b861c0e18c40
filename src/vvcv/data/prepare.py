"""From tasks to the rows a fit works on: duplicates merged, values standardised, rows and tasks in their own order.

Nothing downstream may depend on units, on signs, or on the order of rows, tasks and axes. All are therefore sorted, and
the choice of hyperparameters, an optimisation that magnifies the last digit, sees standard coordinates without theirs,
far below any noise it can resolve; the final solution uses the data as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from ..runtime.once import cached_property
from .chains import blocks, effective_size
from .directions import OFF_THE_AXES, Directions, few_directions, gradient_moment, off_diagonal
from .duplicates import Distinct, merge_duplicates, point_numbers
from .few_axes import FEW, FOLLOWED, explained, few_axes, unexplained
from .growth import Weight
from .rounding import rounded
from .standardize import LEADING, AnySystem, Coordinates, Order, can_whiten, covariance_from_scores
from .task import Tasks

#: Correlation time of values from which on chains are thinned by blocks: a draw's neighbours in its chain then predict
#: it better than others do, and independent draws hardly ever seem to have so much.
CORRELATED = 1.5

#: Values closer than this, in standard deviations, are the same: few values of a smooth function are, and more than its
#: last digits differ. (At .001 high powers and exponentials count as flat, and their errors are 2 to 5 times as large.)
SAME = 1e-6

#: Integrands on the same points whose directions are looked for together: of more, some speak for all, since memory and
#: time grow with their number.
MOST_INTEGRANDS = 64

#: Share of values that are the same from which a function has a flat piece. (At a half, answers are the same.)
FLAT = 0.25


@dataclass(frozen=True, eq=False)
class Prepared:
    """Distinct rows of each task with the shift and scale of its values, the order of the axes, and how values grow."""

    tasks: Tasks
    distinct: tuple[Distinct, ...]
    shift: Float[np.ndarray, " T"]
    scale: Float[np.ndarray, " T"]
    axes: Order = None
    growth: Weight | None = None

    @classmethod
    def of(cls, tasks: Tasks) -> Prepared:
        """Merge duplicates and measure the spread of the values, task by task."""
        distinct = _distinct(tasks)
        shift = np.array([np.average(rows.values, weights=rows.multiplicity) for rows in distinct])
        spread = [
            np.sqrt(np.average((rows.values - centre) ** 2, weights=rows.multiplicity))
            for rows, centre in zip(distinct, shift, strict=True)
        ]
        magnitude = np.array([np.abs(rows.values).max() for rows in distinct])
        negligible = np.array(spread) <= 1e-13 * magnitude
        return cls(tasks, distinct, shift, np.where(negligible, 0.0, spread))

    @property
    def apart(self) -> bool:
        """Whether there are several tasks, each on points of its own."""
        return len(self.tasks) > 1 and not self.tasks.share_points

    def constant(self, task: int) -> bool:
        """Whether the values of a task do not vary: their mean is then known without any control variate."""
        return self.scale[task] == 0.0

    def standard_values(self, task: int) -> Float[np.ndarray, " n"]:
        """Values of one task with mean zero and variance one."""
        return (self.distinct[task].values - self.shift[task]) / self.scale[task]

    def others(self, task: int) -> int:
        """How many values of a task are not the same as most: those that tell where a function is not flat.

        >>> x = np.arange(5.0)
        >>> Prepared.of(Tasks.shared(x, -x, np.maximum(x - 2, 0.0))).others(0)
        2
        """
        return len(self.distinct[task].values) - self._same[task]

    def has_flat_piece(self, task: int) -> bool:
        """Whether many values of a task, but not all, are the same, as those of an event or a payoff are."""
        return not self.constant(task) and self._same[task] >= max(2, FLAT * len(self.distinct[task].values))

    @cached_property
    def _same(self) -> list[int]:
        """The largest number of values that are the same, task by task."""
        found = []
        for task, rows in enumerate(self.distinct):
            values = np.zeros(len(rows.values)) if self.constant(task) else np.sort(self.standard_values(task))
            alike = np.searchsorted(values, values + SAME, side="right") - np.arange(len(values))
            found.append(int(alike.max()))
        return found

    @cached_property
    def canonical(self) -> tuple[int, ...]:
        """An order of the tasks that does not depend on the order they were given in, or on the signs of values."""

        def key(task: int) -> tuple:
            rows = self.distinct[task]
            standard = np.zeros(1) if self.constant(task) else np.round(self.standard_values(task), 6)
            return (len(rows.values), *np.abs(standard[:50]).tolist(), *standard[:50].tolist())

        return tuple(sorted(range(len(self.tasks)), key=key))

    def with_axes_sorted(self) -> Prepared:
        """The same with its axes in an order of their own: those first that values go with most.

        How a cloud is whitened hangs on it, since the first axis stays as it is: a function of one axis is followed
        best where that one does. (By another order, error bars of five integrands differ by up to 11 times.)

        >>> x = np.random.default_rng(0).normal(size=(50, 3))
        >>> Prepared.of(Tasks.shared(x, -x, np.exp(x[:, 2]) + 0.8 * x[:, 0])).with_axes_sorted().axes
        array([2, 0, 1])
        """
        told = np.zeros(self.tasks.dimension)
        for t in range(len(self.tasks)):
            if not self.constant(t):
                told += explained(self.distinct[t].points, self.standard_values(t))
        return replace(self, axes=np.argsort(-rounded(told), kind="stable"))

    def systems(self, members: tuple[int, ...]) -> list[AnySystem]:
        """The coordinate systems worth trying for these tasks: each axis alone and, where it is known, the whole cloud.

        Scores tell the cloud's covariance, and points only where scores do not: by the covariance of the same points
        each of them lies nearer to the middle than a new one would, by about d / 2n of its distance. No value left out
        tells, and the mean of a function that grows outwards is too low. (Of |x_1| under a funnel of 25 dimensions, 300
        points, errors are .86 instead of 1.7 times the plain average's, and covered in 9 of 9 samples instead of 3; of
        means and squares of varying slopes, 250 points, .23 instead of .37.)
        """
        pooled = np.concatenate([self.distinct[t].points for t in self._sources(members)])
        if pooled.shape[1] == 1:
            return ["scaled"]
        if self._covariance_from_scores(members) is not None:
            return ["scaled", "precision"]
        return ["scaled", "whitened"] if can_whiten(pooled) else ["scaled"]

    def coordinates(self, members: tuple[int, ...], system: AnySystem) -> Coordinates:
        """Coordinates fitted to the pooled points of some tasks, each task with the same total weight; once."""
        key = members, system
        if key not in self._fitted:
            self._fitted[key] = self._fit(members, system)
        return self._fitted[key]

    def led(self, members: tuple[int, ...]) -> Float[np.ndarray, " d"] | None:
        """How much the axes of the system `leading` count; None where values change along the axes of another, or many.

        >>> x = np.random.default_rng(0).normal(size=(60, 3))
        >>> tasks = Tasks.shared(x, -x, np.column_stack([np.exp(x[:, 0]), np.exp(x @ np.ones(3))]))
        >>> Prepared.of(tasks).led((0,)), Prepared.of(tasks).led((1,))[0]
        (None, np.float64(1.0))
        """
        if self.tasks.dimension == 1:
            return None
        moment, whole = self._moment(members), self.coordinates(members, self.systems(members)[-1])
        # The same gradients in units of each axis's own spread.
        along = np.linalg.solve(whole.factor, self.coordinates(members, "scaled").factor)
        turned = min(off_diagonal(moment), off_diagonal(along.T @ moment @ along)) > OFF_THE_AXES
        return Directions.of(moment).weights if turned and few_directions(moment) else None

    def on_few_axes(self, task: int) -> Coordinates | None:
        """The coordinates that a task's values hang on, if they are few axes along which the target is a product; once.

        >>> x = np.random.default_rng(0).normal(size=(80, 10))
        >>> Prepared.of(Tasks.shared(x, -x, np.exp(x[:, 3]))).on_few_axes(0).points(x).shape
        (80, 1)
        """
        if task not in self._few:
            axes = self.few_axes(task)
            self._few[task] = None if axes is None else self.seen_along((task,), axes)
        return self._few[task]

    def few_axes(self, task: int) -> Int[np.ndarray, " k"] | None:
        """The user's axes that a task's values hang on; None where they are many."""
        if self.tasks.dimension < FEW:
            return None
        points = self.coordinates((task,), "scaled").points(self.distinct[task].points)
        few = few_axes(rounded(points), rounded(self.standard_values(task)))
        return few if few is None or self.axes is None else self.axes[few]

    def seen_along(self, members: tuple[int, ...], axes: Int[np.ndarray, " k"]) -> Coordinates | None:
        """What some axes span, in coordinates in which the scores along them are functions of the points along them."""
        rows = [self.distinct[t] for t in self._sources(members)]
        for system in (system for system in self.systems(members) if system != "whitened"):
            seen = self.coordinates(members, system).on_axes(axes)
            left = (unexplained(rounded(seen.points(r.points)), rounded(seen.scores(r.scores))) for r in rows)
            if all(part <= FOLLOWED for part in left):
                return seen
        return None

    @cached_property
    def _few(self) -> dict[int, Coordinates | None]:
        return {}

    def _moment(self, members: tuple[int, ...]) -> Float[np.ndarray, "d d"]:
        """What the tasks change along, each as much as the others, in the coordinates that know most of the cloud."""
        if members not in self._moments:
            whole = self.coordinates(members, self.systems(members)[-1])
            varying = [t for t in members if not self.constant(t)]
            some = varying[:: -(-len(varying) // MOST_INTEGRANDS)]
            groups = [some] if self.tasks.share_points else [[t] for t in varying]
            self._moments[members] = np.mean(
                [
                    gradient_moment(
                        rounded(whole.points(self.distinct[group[0]].points)),
                        rounded(np.column_stack([self.standard_values(t) for t in group])),
                    )
                    for group in groups
                ],
                axis=0,
            )
        return self._moments[members]

    @cached_property
    def _moments(self) -> dict[tuple[int, ...], Float[np.ndarray, "d d"]]:
        return {}

    @cached_property
    def _fitted(self) -> dict[tuple[tuple[int, ...], AnySystem], Coordinates]:
        return {}

    def _fit(self, members: tuple[int, ...], system: AnySystem) -> Coordinates:
        if system == LEADING:
            whole = self.coordinates(members, self.systems(members)[-1])
            return replace(whole, system=LEADING, turn=Directions.of(self._moment(members)).turn)
        if system == "few scaled" or system == "few precision":
            raise KeyError(f"The system {system!r} is one task's own: on_few_axes has it.")
        sources = self._sources(members)
        points = np.concatenate([self.distinct[t].points for t in sources])
        scores = np.concatenate([self.distinct[t].scores for t in sources])
        weights = [self.distinct[t].multiplicity / self.distinct[t].multiplicity.sum() for t in sources]
        covariance = self._covariance_from_scores(members) if system == "precision" else None
        if covariance is None:
            return Coordinates.fit(points, system, np.concatenate(weights), self.axes)
        return Coordinates.by_scores(points, scores, covariance, np.concatenate(weights), self.axes)

    def blocks(self, members: tuple[int, ...]) -> Int[np.ndarray, " N"] | None:
        """Which block of neighbouring draws each distinct row of tasks belongs to; none where draws are independent.

        Tasks on the same points have blocks as long as the slowest of them needs.
        """
        times = {t: self._correlation_time(t) for t in members}
        if max(times.values()) < CORRELATED:
            return None
        longest = max(times.values())
        found, start = [], 0
        for t in self._sources(members):
            chains = self.tasks[t].chains or (self.tasks[t].size, 1)
            block = blocks(longest if self.tasks.share_points else times[t], chains)
            first = np.unique(self.distinct[t].row, return_index=True)[1]
            found.append(start + block[first])
            start += block[-1] + 1
        return np.concatenate(found)

    def points_in_common(self, members: tuple[int, ...]) -> Int[np.ndarray, " N"] | None:
        """The number of each distinct row's point; none where every row has a point of its own."""
        if len(sources := self._sources(members)) == 1:
            return None
        numbers = point_numbers(np.concatenate([self.distinct[t].points for t in sources]))
        return numbers if numbers.max() + 1 < numbers.size else None

    def _correlation_time(self, task: int) -> float:
        given = self.tasks[task]
        return given.size / effective_size(given.values, given.chains)

    def _sources(self, members: tuple[int, ...]) -> tuple[int, ...]:
        """The tasks whose rows differ: all, or one of those that share their points."""
        return members[:1] if self.tasks.share_points else members

    def _covariance_from_scores(self, members: tuple[int, ...]) -> Float[np.ndarray, "d d"] | None:
        """What a regression of scores on points says of the pooled points of some tasks, if anything; once."""
        if members not in self._covariances:
            rows = [self.distinct[t] for t in self._sources(members)]
            origins = [np.broadcast_to(r.points.mean(axis=0), r.points.shape) for r in rows]
            points, scores = np.concatenate([r.points for r in rows]), np.concatenate([r.scores for r in rows])
            self._covariances[members] = covariance_from_scores(points, scores, np.concatenate(origins))
        return self._covariances[members]

    @cached_property
    def _covariances(self) -> dict[tuple[int, ...], Float[np.ndarray, "d d"] | None]:
        return {}


def _distinct(tasks: Tasks) -> tuple[Distinct, ...]:
    """Distinct rows of each task; where tasks share their points, repeated ones are looked for once."""
    if tasks.share_points:
        first = merge_duplicates(tasks[0].points, tasks[0].scores, tasks[0].values, tasks.names[0])
        return tuple(first.carrying(task.values) for task in tasks)
    return tuple(
        merge_duplicates(task.points, task.scores, task.values, name)
        for task, name in zip(tasks, tasks.names, strict=True)
    )
