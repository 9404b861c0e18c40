"""Tasks that are one function but for shift and scale, under one Gaussian target: all their points serve one fit.

    f_t = a_t + b_t f,   and so   E f_t = a_t + b_t E f

B k with a B of rank one says this of the variates and leaves every mean free, since tasks may have targets of their
own: where the function jumps, the means then drift apart to make the jump smaller. Two things can be seen in the data.
If all scores are one affine function of the points, the target is one Gaussian. If the values of a task lie on a line
against the fit of another, nearly all, the line is known, and their values together are those of one function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy.linalg import LinAlgError

from ..data import Prepared, Task, Tasks
from ..linear_system.merit import merit_of
from ..runtime.once import cached_property
from ..runtime.threads import worth_a_thread
from ..tuning.attempts import those_that_work
from ..tuning.found import Found
from .fits import KernelFit
from .kernel import Options, on_other_data

#: Relative difference of scores from an affine function that is none: float32 input explains so much.
AFFINE = 1e-6

#: In standard deviations of a task's values: half of them must lie this close to the line, nearly all no farther than
#: this (one in forty may: a jump between the points of another task), and their root mean square distance must not be
#: most of their spread (a rare event).
CLOSE, FAR, NEARLY_ALL, UNEXPLAINED = 0.03, 0.3, 0.975, 0.5

#: Fewest values that show a line: what one in forty does, and how close half of them lie, is not seen in a handful.
FEWEST_VALUES = 20

#: What the one fit may lag behind by in the merit: a jump in a narrow gap makes it doubt itself.
CREDIT = 1.0

#: Rounds of reweighting: the line through most values settles to six digits before.
REWEIGHTINGS = 60


class Line(NamedTuple):
    """y = shift + factor x, with distances of the values from it: the median, that of nearly all, root mean square."""

    shift: float
    factor: float
    distance: float = 0.0
    farthest: float = 0.0
    root_mean_square: float = 0.0


@dataclass(frozen=True, eq=False)
class OneFunctionFit:
    """One fit to the standardised values of all members as seen from one of them, and what it says of each."""

    prepared: Prepared
    members: tuple[int, ...]
    lines: tuple[Line, ...]
    fit: KernelFit

    @property
    def found(self) -> Found:
        """The model."""
        return self.fit.found

    @property
    def degree(self) -> int:
        """Total degree of the polynomials beside the kernel."""
        return self.fit.degree

    @property
    def freedom(self) -> Float[np.ndarray, " m"]:
        """Degrees of freedom of the one fit."""
        return np.repeat(self.fit.freedom[:1], len(self.members))

    @property
    def mean(self) -> Float[np.ndarray, " m"]:
        """a_t + b_t E f."""
        standard = np.array([line.shift + line.factor * self.fit.mean[0] for line in self.lines])
        return self.prepared.shift[list(self.members)] + self._scale * standard

    @property
    def std_error(self) -> Float[np.ndarray, " m"]:
        """The error of the one mean and that of the line."""
        return self._with_line(self.fit.std_error[0])

    @property
    def model_error(self) -> Float[np.ndarray, " m"]:
        """What the model believes, and the error of the line."""
        return self._with_line(self.fit.model_error[0])

    @property
    def promised(self) -> Float[np.ndarray, " m"]:
        """The same as corrected by how wrong the model's beliefs about values are."""
        return self._with_line(self.fit.promised[0])

    @cached_property
    def merits(self) -> Float[np.ndarray, " m"]:
        """By what the members' answers are weighed against others."""
        return merit_of(self.promised, self.left_out_error) - CREDIT

    @property
    def surprise(self) -> float:
        """Unknown: its values are more than those of other fits."""
        return np.nan

    @property
    def balance(self) -> None:
        """Unknown: its points are of several samples."""

    @property
    def hidden(self) -> float:
        """By what errors are larger than values say that parameters were tuned on."""
        return self.fit.hidden

    @property
    def chosen(self) -> float:
        """How many parameters were tuned for each value."""
        return self.fit.chosen

    def alike(self, member: int) -> float:
        """All members are one function."""
        return 1.0

    @property
    def left_out_error(self) -> Float[np.ndarray, " m"]:
        """How large residuals of a member's left-out values are, as all of the one fit say."""
        return self._scale * np.abs([line.factor for line in self.lines]) * self.fit.usual_left_out[0]

    def left_out(self, member: int) -> Float[np.ndarray, " n"]:
        """Residuals of one member's values, each predicted from all others."""
        return self._scale[member] * self.lines[member].factor * self.fit.left_out(0)[self._rows(member)]

    def move(self, member: int) -> Float[np.ndarray, " n"]:
        """What one member's mean moves by when each of its own values is replaced by its prediction."""
        return self._scale[member] * self.lines[member].factor * self.fit.move(0)[self._rows(member)]

    def _rows(self, member: int) -> Int[np.ndarray, " n"]:
        """The rows of the one fit that are a member's own."""
        sizes = [self.prepared.tasks[t].size for t in self.members]
        start = sum(sizes[:member])
        rows = self.fit.prepared.distinct[0].row[start : start + sizes[member]]
        return rows[np.unique(self.prepared.distinct[self.members[member]].row, return_index=True)[1]]

    def variate(
        self, points: Float[np.ndarray, "k d"], scores: Float[np.ndarray, "k d"], member: int
    ) -> Float[np.ndarray, " k"]:
        """b_t g."""
        return self._scale[member] * self.lines[member].factor * self.fit.variate(points, scores, 0)

    @property
    def _scale(self) -> Float[np.ndarray, " m"]:
        return self.prepared.scale[list(self.members)]

    def _with_line(self, error: float) -> Float[np.ndarray, " m"]:
        sizes = [len(self.prepared.distinct[t].values) for t in self.members]
        of_line = [line.distance / np.sqrt(n) for line, n in zip(self.lines, sizes, strict=True)]
        return self._scale * np.hypot([line.factor * error for line in self.lines], of_line)


def as_one_function(
    prepared: Prepared, own: Mapping[int, Sequence[KernelFit]], options: Options
) -> list[OneFunctionFit]:
    """One fit of each family to all tasks that are one function with another; none where there are no such tasks."""
    lines: dict[int, Line] = {}
    if one_gaussian(prepared, tuple(own)):
        for fit in (fit for fits in own.values() for fit in fits):
            with suppress(LinAlgError):  # one that cannot be solved on the data as they are
                lines = max(lines, lines_against(fit, own, prepared), key=_most_and_closest)
    if len(lines) < 2:
        return []
    one = replace(Prepared.of(Tasks([_as_one_task(prepared, lines)])), axes=prepared.axes)
    # The reference's own fits knew fewer values of the same function: good places to start from.
    attempts = (partial(on_other_data, fit, one, options) for fit in own[next(iter(lines))])
    fits = those_that_work(attempts, False, worth_a_thread(len(one.distinct[0].values)))
    return [OneFunctionFit(prepared, tuple(lines), tuple(lines.values()), fit) for fit in fits]


def one_gaussian(prepared: Prepared, members: tuple[int, ...]) -> bool:
    """Whether the scores of all members are one affine function of the points, which only a Gaussian's are."""
    coordinates = prepared.coordinates(members, "scaled")
    points = np.concatenate([coordinates.points(prepared.distinct[t].points) for t in members])
    scores = np.concatenate([coordinates.scores(prepared.distinct[t].scores) for t in members])
    columns = np.column_stack([np.ones(len(points)), points])
    if len(columns) < 2 * columns.shape[1]:
        return False
    rest = scores - columns @ np.linalg.lstsq(columns, scores, rcond=None)[0]
    return bool(np.abs(rest).max() <= AFFINE * np.abs(scores).max())


def lines_against(fit: KernelFit, tasks: Iterable[int], prepared: Prepared) -> dict[int, Line]:
    """The tasks whose values lie on a line against the fit of one of them, which comes first, each with its line."""
    (reference,) = fit.members
    lines = {reference: Line(0.0, 1.0)}
    for task in tasks:
        rows = prepared.distinct[task]
        if task == reference or len(rows.values) < FEWEST_VALUES:
            continue
        predicted = fit.mean[0] - prepared.shift[reference] + fit.variate(rows.points, rows.scores, 0)
        line = line_through_most(predicted / prepared.scale[reference], prepared.standard_values(task))
        if line.distance <= CLOSE and line.farthest <= FAR and line.root_mean_square <= UNEXPLAINED:
            lines[task] = line
    return lines


def line_through_most(x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"]) -> Line:
    """Least absolute deviations, by least squares with weights 1 / |deviation|, of numbers of the order of one.

    >>> x = np.linspace(-1, 1, 20)
    >>> line = line_through_most(x, np.where(x < 0.9, 1 + 2 * x, 0.0))
    >>> round(line.shift, 6), round(line.factor, 6)
    (1.0, 2.0)
    """
    columns, weights = np.column_stack([np.ones_like(x), x]), np.ones_like(y)
    for _ in range(REWEIGHTINGS):
        shift, factor = np.linalg.lstsq(weights[:, None] * columns, weights * y, rcond=None)[0]
        off = np.abs(y - shift - factor * x)
        weights = 1 / np.sqrt(np.maximum(off, 1e-9))
    distance, farthest = np.quantile(off, [0.5, NEARLY_ALL], method="lower")
    return Line(float(shift), float(factor), float(distance), float(farthest), float(np.sqrt(np.mean(off**2))))


def _as_one_task(prepared: Prepared, lines: Mapping[int, Line]) -> Task:
    """All rows of the tasks, with standardised values as seen from the first."""
    tasks = [prepared.tasks[task] for task in lines]
    values = [
        (prepared.standard_values(task)[prepared.distinct[task].row] - line.shift) / line.factor
        for task, line in lines.items()
    ]
    return Task(
        np.concatenate([task.points for task in tasks]),
        np.concatenate([task.scores for task in tasks]),
        np.concatenate(values),
    )


def _most_and_closest(lines: Mapping[int, Line]) -> tuple[int, float]:
    return len(lines), -sum(line.distance / abs(line.factor) for line in lines.values())
