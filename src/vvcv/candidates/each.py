"""Fits of each of some tasks: attempted task by task or all at once, and those of several kinds put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from ..runtime.threads import Outcome, side_by_side
from ..tuning.attempts import those_that_work
from .fits import KernelFit

Fits = dict[int, list[KernelFit]]


def of_each(attempts: Mapping[int, Callable[[], list[KernelFit]]], at_once: bool, named: bool = False) -> Fits:
    """The fits of each task, perhaps all tasks at once; none for a task whose attempt fails.

    When the time is up, tasks not yet attempted have other rungs' answers, unless this rung was asked for by name.

    >>> of_each({3: lambda: []}, at_once=False)
    {3: []}
    """
    keyed = [partial(_keyed, task, attempt) for task, attempt in attempts.items()]
    if not named:
        return {task: [] for task in attempts} | dict(those_that_work(keyed, required=False, at_once=at_once))
    each = [partial(those_that_work, [attempt], required=False) for attempt in keyed]
    outcomes = side_by_side(each) if at_once else [Outcome(call) for call in each]
    return {task: [] for task in attempts} | dict(pair for outcome in outcomes for pair in outcome.result())


def beside(fits: Fits, others: Fits) -> Fits:
    """All fits of each task.

    >>> beside({0: []}, {1: []})
    {0: [], 1: []}
    """
    return {task: [*fits.get(task, []), *others.get(task, [])] for task in {**fits, **others}}


def _keyed(task: int, attempt: Callable[[], list[KernelFit]]) -> tuple[int, list[KernelFit]]:
    return task, attempt()
