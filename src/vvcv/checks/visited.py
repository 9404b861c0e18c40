"""Do draws reach all of a target whose law is known along the logarithm of a scale?

Into the neck of a funnel samplers hardly go, and no draw says so: chains agree, and what they have missed is missing
everywhere. Where the law of the target is known (`data.known`), its mass beyond the last draw on either side is, too:
of n independent draws n times that mass is an exponential variable of mean one.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from ..data.chains import effective_sizes
from ..data.known import Known
from ..data.task import Task, Tasks
from .findings import Finding

#: Probability that independent draws of their target raise an alarm: as rare as that of their order (`order.py`).
FALSE_ALARM = 0.005

_RUN_ON = (
    "Means of parameters, of their squares and of the scale are told by the law of the target, and right; those of "
    "other functions may be off by more than their error bars. Sample with groups divided by their scale (non-centred)."
)


def describe_visits(known: Known | None, tasks: Tasks) -> list[Finding]:
    """A finding where more of the target lies beyond all draws than chance explains, or than their number does.

    >>> describe_visits(None, Tasks([Task(np.zeros((2, 1)), np.zeros((2, 1)), np.arange(2.0))]))
    []
    """
    if known is None:
        return []
    samples = list(tasks)[:1] if tasks.share_points else list(tasks)
    places = [known.along(task.points) for task in samples]
    surprising = np.log(2 * len(known.pooled.axes) / FALSE_ALARM)
    found = [_along(axis, [z[:, [k]] for z in places], samples, surprising) for k, axis in enumerate(known.pooled.axes)]
    return [finding for each in found for finding in each]


def _along(axis: int, places: list[np.ndarray], samples: list[Task], surprising: float) -> list[Finding]:
    """What is found along one of the scales."""
    rows, draws = sum(map(len, places)), sum(map(_effective, places, samples))
    beyond = max(float(ndtr(min(z.min() for z in places))), float(ndtr(-max(z.max() for z in places))))
    if rows * beyond < surprising:
        return []
    message = (
        f"{beyond:.1%} of the target lies beyond all {rows} draws ({draws:.0f} effective ones) along axis "
        f"{axis}, the logarithm of a scale."
    )
    return [Finding("warning" if draws * beyond > surprising else "note", "unvisited", message, _RUN_ON)]


def _effective(places: np.ndarray, task: Task) -> float:
    return float(effective_sizes(places, task.chains)[0]) if task.chains else float(len(places))
