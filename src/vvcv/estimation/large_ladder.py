"""The ladder where some samples have more rows than an exact fit can take: those are read block by block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from ..candidates.kernel import Options
from ..candidates.rungs import FEWEST_POINTS
from ..checks.findings import Finding
from ..checks.order import MOST_ROWS, describe_returns
from ..data import Task, Tasks, in_separate_groups
from ..runtime.memory import largest_system
from .diagnosis import Diagnosis
from .ladder import SEPARATE_GROUPS, Ladder
from .refusals import RefusedError, too_many_rows
from .streamed import STREAMED, Streamed
from .weights import Answer, combine

#: How many times as far out as the tail 1 / x^2 has them, in the mean, points are that raise an alarm: of such a tail
#: one sample in a thousand does.
FAR_BEYOND = 1000.0


def too_large(tasks: Tasks) -> list[bool]:
    """Whether each task has more distinct rows than an exact fit of this machine can take."""
    if tasks.share_points:
        return [_too_large(tasks[0])] * len(tasks)
    return [_too_large(task) for task in tasks]


class LargeLadder:
    """Answers of all rungs where some task is too large for an exact fit."""

    def __init__(self, tasks: Tasks, options: Options) -> None:
        self.tasks = tasks
        self.streamed = Streamed(tasks, options)
        self._small = tuple(t for t, large in enumerate(too_large(tasks)) if not large)
        small = [_named(tasks[t], tasks.names[t]) for t in self._small]
        self._ladder = Ladder(options.prepared(Tasks(small)), options) if small else None

    def diagnosis(self) -> Diagnosis:
        """What is found in the data; of rows that are not in memory, in some of them, and in the first ones' order."""
        drawn = {t: sample[i] for members, sample in self.streamed.samples for i, t in enumerate(members)}
        large = Tasks([task for t, task in sorted(drawn.items()) if t not in self._small])
        return self._seen(drawn).with_findings([*describe_returns(large), *self._far_rows()])

    def _far_rows(self) -> list[Finding]:
        """Rows that are farther out than a tail would have them: of them alone no fit or average of others tells."""
        return [
            Finding(
                "warning",
                "far-rows",
                f"some points are {times:.2g} times as far out as any of {sample[0].size} drawn from all.",
                "Look at the outermost rows: mistakes there decide averages, and no polynomial can follow both.",
                self.tasks.names[members[0]],
            )
            for (members, sample), times in zip(self.streamed.samples, self.streamed.far_beyond, strict=True)
            if times > FAR_BEYOND * self.tasks[members[0]].size / sample[0].size
        ]

    def _seen(self, drawn: dict[int, Task]) -> Diagnosis:
        if not any(task.is_lazy for task in self.tasks):
            return Diagnosis.of(self.tasks)
        found = Diagnosis.of(Tasks([drawn[t] for t in range(len(self.tasks))]), self.streamed.first(MOST_ROWS))
        return replace(found, mixing=self.streamed.mixing())

    def automatic(self) -> list[list[Answer]]:
        """All candidates for each task; the plain average alone where points lie in separate groups."""
        apart = {
            t
            for members, sample in self.streamed.samples
            if in_separate_groups(sample[0].points, sample[0].scores)
            for t in members
        }
        offered = [[replace(answer, description=SEPARATE_GROUPS)] for answer in self.plain]
        if len(apart) < len(self.tasks):
            for t, answers in enumerate(self.streamed.automatic()):
                offered[t] = offered[t] if t in apart else answers
        if self._ladder is not None:
            for t, answers in zip(self._small, self._ladder.automatic(), strict=True):
                offered[t] = answers
        return offered

    def so_far(self) -> list[list[Answer]]:
        """Plain averages, once all rows were looked at: nothing else is known before all passes are done."""
        return [[plain] for plain in self.plain] if self.streamed.looked else [[] for _ in self.tasks]

    def required(self, method: str) -> list[Answer]:
        """The answers of one rung for all tasks, or an error that says which task it cannot serve."""
        offered = self.streamed.candidates(method) if method in STREAMED else [[] for _ in self.tasks]
        chosen = []
        for t, answers in enumerate(offered):
            if not answers and self.streamed.std_dev[t] == 0:
                answers = [self.plain[t]]  # nothing to learn: the mean of constant values is known
            if not answers:
                raise RefusedError(self._refusal(method, t))
            chosen.append(combine(answers))
        return chosen

    def task_correlation(self, method: str) -> Float[np.ndarray, "T T"]:
        """The identity: rungs for large samples take no task to be like another."""
        return np.eye(len(self.tasks))

    def error_correlation(self, chosen: Sequence[Answer]) -> Float[np.ndarray, "T T"]:
        """Of errors on shared points, from the pass that has read them."""
        return self.streamed.error_correlation(list(chosen))

    @property
    def plain(self) -> list[Answer]:
        """Plain averages."""
        return self.streamed.plain

    @property
    def std_dev(self) -> Float[np.ndarray, " T"]:
        """Standard deviations of the values."""
        return self.streamed.std_dev

    def _refusal(self, method: str, task: int) -> str:
        name, rows = self.tasks.names[task], self.tasks[task].size
        if method not in STREAMED:
            return too_many_rows(method, name, rows, largest_system())
        return (
            f"method {method!r} needs more points than task {name!r} has: {rows} rows in dimension "
            f"{self.tasks.dimension}, at least {FEWEST_POINTS} of them distinct, and a kernel matrix of theirs that "
            "can be factorised. Add points, or use 'auto'."
        )


def _too_large(task: Task) -> bool:
    most = largest_system()
    if task.is_lazy or task.size <= most:
        return task.is_lazy
    # Mostly one coordinate tells, and to sort it is quick.
    return len(np.unique(task.points[:, 0])) > most or len(np.unique(task.points, axis=0)) > most


def _named(task: Task, name: str) -> Task:
    """The same task under the name that it has among others."""
    return task if task.name == name else replace(task, name=name)
