"""What an estimate should say about its own data: the checks of `vvcv.check`, and whether chains have mixed.

Both are cheap beside a fit, look at a part of very large samples, and can never break an estimate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..checks import Check, Finding, Mixing, check, mixing
from ..data import Task, Tasks

if TYPE_CHECKING:
    from .result import Estimate

#: Products of a score and a function of a coordinate that a check may look at; about a second.
MOST_PRODUCTS = 4_000_000


def diagnosed(estimates: Mapping[str, Estimate], tasks: Tasks, check: bool, stopped: bool) -> dict[str, Estimate]:
    """The estimates with what was found out about their data, if wanted, and whether the user stopped the fit."""
    findings, mixed = _findings(tasks) if check else ((), None)
    if stopped:
        remedy = "Means and error bars are valid; a full fit may be sharper."
        findings = (Finding("warning", "interrupted", "the fit was stopped before it was done.", remedy), *findings)
    found = Check(findings) if findings else None
    return {method: replace(estimate, check=found, mixing=mixed) for method, estimate in estimates.items()}


def _findings(tasks: Tasks) -> tuple[tuple[Finding, ...], Mixing | None]:
    with np.errstate(all="ignore"):
        try:
            return check(thinned(tasks)).findings, mixing(tasks)
        except Exception as error:  # a check that fails is no reason to lose an estimate
            return (Finding("note", "check", f"the data could not be checked ({error})."),), None


def thinned(tasks: Tasks) -> Tasks:
    """Every k-th row of samples too large to check whole; chains stay chains."""
    most = max(500, MOST_PRODUCTS // (2 * tasks.dimension**2 * len(tasks)))
    if max(tasks.sizes) <= most:
        return tasks
    return Tasks([_thinned(task, name, most) for task, name in zip(tasks, tasks.names, strict=True)])


def _thinned(task: Task, name: str, most: int) -> Task:
    step = -(-task.size // most)
    chains = task.chains or (1, task.size)
    if chains[1] < 4 * step:
        return Task(task.points[::step], task.scores[::step], task.values[::step], name=name)
    points, scores, values = (
        a.reshape(*chains, *a.shape[1:])[:, ::step] for a in (task.points, task.scores, task.values)
    )
    return Task(points, scores, values, name) if task.chains else Task(points[0], scores[0], values[0], name)
