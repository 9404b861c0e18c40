"""The same data as kernels may see them: with a tail drawn in, along the few axes that tasks' values hang on, or under
a density times a weight that grows as values do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from .directions import some_rows
from .duplicates import Distinct
from .few_axes import FEW, WORTH_A_LOOK, unexplained
from .growth import Growth, growth_rate
from .prepare import Prepared
from .rounding import rounded
from .standardize import Coordinates
from .task import Task, Tasks

Rows = Float[np.ndarray, "n d"]

#: Part of the points of the largest task from which on another tells its axes: of six points in twelve dimensions
#: exp(x) seems to hang on four axes.
SPEAKS = 0.5

#: Points for each axis from which on a task tells which count: ten runs of the borehole's eight inputs tell of the
#: first alone, and a search along it takes half as long again for nothing (1.4 instead of .9 s).
POINTS_FOR_EACH = 2

#: From points and scores in the user's coordinates to those that kernels see.
Seen = Callable[[Rows, Rows], tuple[Rows, Rows]]


def seen_as(prepared: Prepared, seen: Seen) -> Prepared:
    """The same rows, in the same order, in other coordinates."""
    first = _mapped(prepared.distinct[0], seen) if prepared.tasks.share_points else None
    rows = [
        _mapped(r, seen) if first is None else r._replace(points=first.points, scores=first.scores)
        for r in prepared.distinct
    ]
    tasks = [_carried(task, name, r) for task, name, r in zip(prepared.tasks, prepared.tasks.names, rows, strict=True)]
    return replace(prepared, tasks=Tasks(tasks), distinct=tuple(rows))


def growing(prepared: Prepared, task: int) -> Prepared | None:
    """One task under its density times the weight of how its values grow; None where they do not.

    >>> x = np.random.default_rng(0).normal(size=(80, 2))
    >>> prepared = Prepared.of(Tasks.shared(x, -x, np.column_stack([np.exp(x[:, 0]), np.sin(x[:, 0])])))
    >>> growing(prepared, 0).growth.rate.round(1), growing(prepared, 1)
    (array([1., 0.]), None)
    """
    rows = prepared.distinct[task]
    if prepared.constant(task) or prepared.has_flat_piece(task):  # where an event or a payoff is flat nothing grows
        return None
    coordinates = prepared.coordinates((0 if prepared.tasks.share_points else task,), "scaled")
    some = some_rows(len(rows.values))
    points, values = coordinates.points(rows.points[some]), prepared.standard_values(task)[some]
    rate = growth_rate(rounded(points), rounded(values))
    if rate is None:
        return None
    growth = Growth(coordinates.gradient(rate), coordinates.origin)
    points, scores = growth.drawn(rows.points, rows.scores)
    there = [r._replace(points=points, scores=scores) if r is rows else r for r in prepared.distinct]
    return replace(prepared, distinct=tuple(there), growth=growth)


class Thinned(NamedTuple):
    """Some of the distinct rows of each task, as many from the middle as from far out, and which they are."""

    prepared: Prepared
    rows: tuple[Int[np.ndarray, " m"], ...]

    @classmethod
    def of(cls, prepared: Prepared, most: int) -> Thinned | None:
        """No more than `most` rows of each task; None where there are no more.

        >>> x = np.arange(5.0)[:, None]
        >>> Thinned.of(Prepared.of(Tasks.shared(x, -x, x)), 3).prepared.tasks[0].points.tolist()
        [[2.0], [3.0], [4.0]]
        """
        counts = [len(distinct.values) for distinct in prepared.distinct]
        if max(counts) <= most:
            return None
        rows = tuple(np.linspace(0, n - 1, min(n, most)).astype(int) for n in counts)
        some = [
            Task(d.points[which], d.scores[which], d.values[which], name=name)
            for d, which, name in zip(prepared.distinct, rows, prepared.tasks.names, strict=True)
        ]
        return cls(Prepared.of(Tasks(some)), rows)

    def in_full(self, full: Prepared, task: int, numbers: Float[np.ndarray, " m"]) -> Float[np.ndarray, " N"]:
        """Numbers of these rows, in their order, among those of all rows given, which have none."""
        distinct = full.distinct[task]
        everywhere = np.zeros(len(distinct.values))
        everywhere[self.rows[task]] = numbers
        return (everywhere / distinct.multiplicity)[distinct.row]


def together(prepared: Prepared) -> tuple[Rows, Rows]:
    """Points and scores of all tasks, those on the same points once.

    >>> x = np.zeros((3, 2))
    >>> together(Prepared.of(Tasks.shared(x + np.eye(3, 2), -x, np.eye(3))))[0].shape
    (3, 2)
    """
    rows = prepared.distinct[:1] if prepared.tasks.share_points else prepared.distinct
    return np.concatenate([r.points for r in rows]), np.concatenate([r.scores for r in rows])


class OnFewAxes(NamedTuple):
    """What few axes span, and the tasks whose values are functions of that."""

    coordinates: Coordinates
    tasks: tuple[int, ...]

    @classmethod
    def of(cls, prepared: Prepared, tasks: Sequence[int]) -> OnFewAxes | None:
        """The axes that any of some tasks on points of their own hangs on; None where together they are many.

        Tasks of far fewer points than others tell no axes, and are among those whose values go with these.

        >>> rng = np.random.default_rng(0)
        >>> tasks = Tasks([Task(x, -x, np.exp(x[:, r])) for r in (3, 7) for x in rng.normal(size=(1, 80, 10))])
        >>> OnFewAxes.of(Prepared.of(tasks), (0, 1)).coordinates.points(tasks[0].points).shape
        (80, 2)
        """
        sizes = {t: len(prepared.distinct[t].values) for t in tasks}
        fewest = max(SPEAKS * max(sizes.values(), default=0), POINTS_FOR_EACH * prepared.tasks.dimension)
        each = {t: prepared.few_axes(t) for t, size in sizes.items() if size >= fewest}
        known = {t: few for t, few in each.items() if few is not None}
        if not known:
            return None
        axes = np.array(list(dict.fromkeys(int(r) for few in known.values() for r in few)))
        if FEW * axes.size > prepared.tasks.dimension:
            return None
        members = tuple(t for t in tasks if t in known or _hangs_on(prepared, t, axes))
        coordinates = prepared.seen_along(members, axes)
        return None if coordinates is None else cls(coordinates, members)

    def seen(self, points: Rows, scores: Rows) -> tuple[Rows, Rows]:
        """Points and scores along these axes."""
        return self.coordinates.points(points), self.coordinates.scores(scores)


def _hangs_on(prepared: Prepared, task: int, axes: np.ndarray) -> bool:
    along = prepared.coordinates((task,), "scaled").on_axes(axes).points(prepared.distinct[task].points)
    return unexplained(rounded(along), rounded(prepared.standard_values(task))[:, None]) <= WORTH_A_LOOK


def _mapped(rows: Distinct, seen: Seen) -> Distinct:
    points, scores = seen(rows.points, rows.scores)
    return rows._replace(points=points, scores=scores)


def _carried(task: Task, name: str, rows: Distinct) -> Task:
    points, scores, values = (
        a.reshape(*(task.chains or (task.size,)), *a.shape[1:])
        for a in (rows.points[rows.row], rows.scores[rows.row], task.values)
    )
    return Task(points, scores, values, name=name)
