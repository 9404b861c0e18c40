"""What an estimate should say about its own data: the checks of `vvcv.check`, and whether chains have mixed.

Both come before any fit, are cheap beside it, look at a part of very large samples, and can never break an estimate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from ..checks import AlarmWarning, Check, Finding, Mixing, check, mixing, order
from ..checks.findings import worst_first
from ..data import Task, Tasks, require
from ..runtime.caller import warn_caller

if TYPE_CHECKING:
    from .result import Estimate

OnAlarm = Literal["warn", "raise", "ignore"]

#: Products of a score and a function of a coordinate that a check may look at; about a second.
MOST_PRODUCTS = 4_000_000

_GIVEN: ContextVar[Tasks | None] = ContextVar("given", default=None)


@contextmanager
def made_of(given: Tasks) -> Iterator[None]:
    """A block in which tasks are made of those that the user gave, which come first and are what is checked.

    The tail of a square is not news.
    """
    token = _GIVEN.set(given)
    try:
        yield
    finally:
        _GIVEN.reset(token)


@dataclass(frozen=True)
class Diagnosis:
    """What was found out about the data before any fit."""

    findings: tuple[Finding, ...] = ()
    mixing: Mixing | None = None

    @classmethod
    def of(cls, tasks: Tasks, in_order: Sequence[Task] | None = None) -> Diagnosis:
        """Check the data; a check that fails is no reason to lose an estimate.

        `in_order` are rows one after the other, where the tasks are rows drawn from a sample.
        """
        given = _GIVEN.get()
        tasks, in_order = (tasks, in_order) if given is None else (given, None)
        with np.errstate(all="ignore"):
            try:
                return cls(_checked(tasks, tasks if in_order is None else in_order), mixing(tasks))
            except Exception as error:
                return cls((Finding("note", "check", f"the data could not be checked ({error})."),))

    def with_findings(self, more: Sequence[Finding]) -> Diagnosis:
        """This diagnosis, and more that was found."""
        return replace(self, findings=worst_first([*self.findings, *more]).findings) if more else self

    def alarms(self, tasks: Tasks) -> list[str]:
        """A line for each failed check and for each task whose chains have not mixed."""
        mixed = [] if self.mixing is None else self.mixing.alarms(tasks.names, tasks.sizes)
        return Check(self.findings).alarms + mixed

    def announce(self, tasks: Tasks, on_alarm: OnAlarm) -> None:
        """Warn of all alarms at once, at the line of the user's call, or refuse the data."""
        words = get_args(OnAlarm)
        require(on_alarm in words, f"on_alarm must be one of {list(words)}, but is {on_alarm!r}.")
        alarms = [] if on_alarm == "ignore" else self.alarms(tasks)
        if not alarms:
            return
        message = "\n".join(["the data raise alarms, before any fit:", *alarms])
        require(on_alarm != "raise", f"{message}\nCorrect the data, or pass on_alarm='warn' or 'ignore'.")
        warn_caller(message, AlarmWarning)

    def attached(self, estimates: Mapping[str, Estimate], stopped: bool, late: bool = False) -> dict[str, Estimate]:
        """The estimates with these findings, and with whether the user stopped the fit, or its time was up."""
        findings = self.findings
        remedy = "Means and error bars are valid; a full fit may be sharper."
        if stopped:
            findings = (Finding("warning", "interrupted", "the fit was stopped before it was done.", remedy), *findings)
        elif late:
            findings = (*findings, Finding("note", "time", "the time given was up before the fit was done.", remedy))
        found = Check(findings) if findings else None
        return {method: replace(estimate, check=found, mixing=self.mixing) for method, estimate in estimates.items()}


def thinned(tasks: Tasks) -> Tasks:
    """Every k-th row of samples too large to check whole; chains stay chains."""
    most = max(500, MOST_PRODUCTS // (2 * tasks.dimension**2 * len(tasks)))
    if max(tasks.sizes) <= most:
        return tasks
    return Tasks([_thinned(task, name, most) for task, name in zip(tasks, tasks.names, strict=True)])


def _checked(tasks: Tasks, in_order: Sequence[Task]) -> tuple[Finding, ...]:
    """The findings of a check; the order of rows is that of neighbours, since thinned chains seem independent."""
    small = thinned(tasks)
    found = check(small)
    if small is in_order:
        return found.findings
    others = [finding for finding in found if finding.code not in order.CODES]
    return worst_first([*others, *(order.describe_order(Tasks(in_order)) if in_order else [])]).findings


def _thinned(task: Task, name: str, most: int) -> Task:
    step = -(-task.size // most)
    chains = task.chains or (1, task.size)
    if chains[1] < 4 * step:
        return Task(
            task.points[::step], task.scores[::step], task.values[::step], name, tails=task.tails, inputs=task.inputs
        )
    points, scores, values = (
        a.reshape(*chains, *a.shape[1:])[:, ::step] for a in (task.points, task.scores, task.values)
    )
    if not task.chains:
        points, scores, values = points[0], scores[0], values[0]
    return Task(points, scores, values, name, tails=task.tails, inputs=task.inputs)
