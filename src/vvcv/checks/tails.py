"""Tails too heavy for an error bar: of values, of scores, and of the target itself as its scores tell.

    values   Hill's index of either tail: below 2 there is no variance
    target   the degrees of freedom of Student's t whose tail its scores have (`data.tails`)
    inputs   powers by which their densities fall, where their laws are known

Few points tell a target's tail by its scores where their distances alone do not: the scores are no estimates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..data.about_inputs import HeavyInput
from ..data.tails import LIGHT, StudentTail, grows
from ..data.task import Tasks
from .findings import Finding, Severity, in_short
from .sample import Sample


class Tail(NamedTuple):
    """A tail that looks too heavy for a variance."""

    exponent: float
    severity: Severity

    def __str__(self) -> str:
        return f"a tail index of about {self.exponent:.2g} (below 2 there is no variance)"


def describe_tails(tasks: Tasks, samples: list[Sample]) -> list[Finding]:
    """Values without a variance, and integrands that grow into the heavy tail of their target."""
    tails = {name: heavy_tail(task.values) for task, name in zip(tasks, tasks.names, strict=True)}
    remedy = "Where it is, no standard error of an average can be trusted: bound or transform the integrand."
    found = [
        Finding(tail.severity, "heavy-values", f"values have {tail}: their variance may be infinite.", remedy, name)
        for name, tail in tails.items()
        if tail is not None
    ]
    found += _heavy_inputs(tasks)
    return found + [finding for sample in samples for finding in _heavy_target(sample, tasks)]


def heavy_tail(values: Float[np.ndarray, " n"], sure: float = 3.0) -> Tail | None:
    """Hill's index of the heavier tail, from its 2 sqrt(n) largest: a warning if surely below 2, a note if probably.

    Each tail is measured from the other end of the values (their outer tenth), so that squares have none; `sure` is
    in standard errors of the index.

    >>> rng = np.random.default_rng(0)
    >>> heavy_tail(rng.normal(size=1000)), heavy_tail(rng.standard_cauchy(1000)).severity
    (None, 'warning')
    """
    low, high = np.quantile(values, [0.1, 0.9])
    indices = [found for excess in (values - low, high - values) if (found := _hill(excess[excess > 0])) is not None]
    if not indices:
        return None
    index, count = min(indices)
    surely, probably = (index * (1 + quantile / np.sqrt(count)) < 2 for quantile in (sure, sure / 2))
    return Tail(index, "warning" if surely else "note") if probably else None


def _hill(excess: Float[np.ndarray, " k"]) -> tuple[float, int] | None:
    largest = np.unique(excess)[::-1]  # repeats of a stuck chain are one excess, not many
    count = int(min(largest.size / 5, 2 * np.sqrt(largest.size)))
    if count < 8 or largest[count] <= 1e-9 * largest[0]:
        return None
    return 1 / float(np.mean(np.log(largest[:count] / largest[count]))), count


def _heavy_target(sample: Sample, tasks: Tasks) -> list[Finding]:
    tail = StudentTail.of(sample.points, sample.scores)
    if tail is None or tail.at_most >= LIGHT:
        return []
    growing = [name for name in sample.names if grows(tasks[name].values, tail.outer)]
    if not growing:
        return []
    what = f"the target has heavy tails, by its scores those of Student's t with about {tail.freedom:.1f} degrees of "
    remedy = "Bound or transform the integrand, or reparametrise so that tails are light; more points help slowly."
    return [Finding("warning", "heavy-tails", what + f"freedom, {_into_which(growing)}", remedy, sample.label)]


def _heavy_inputs(tasks: Tasks) -> list[Finding]:
    """Of inputs whose laws are known nothing need be guessed from a sample."""
    growing: dict[HeavyInput, list[str]] = {}
    for task, name in zip(tasks, tasks.names, strict=True):
        for heavy in task.tails:
            growing.setdefault(heavy, []).append(name)
    what = "the density of input {0.name!r} falls no faster than its power -{1:.2g}, "
    remedy = "Bound or transform the model's value, or the input if its law overstates it; more runs help slowly."
    return [
        Finding("warning", "heavy-tails", what.format(heavy, heavy.power + 1) + _into_which(names), remedy)
        for heavy, names in growing.items()
    ]


def _into_which(names: list[str]) -> str:
    return (
        f"into which the values of {in_short(names)} grow: rare large values are missing from most samples, and error "
        "bars are too narrow."
    )
