"""Do draws reach all of a target whose law is known along the logarithm of a scale?

Into the neck of a funnel samplers hardly go, and no draw says so: chains agree, and what they have missed is missing
everywhere. Where the law of the target is known (`data.known`), its mass beyond the last draw on either side is, too:
of n independent draws n times that mass is an exponential variable of mean one.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from ..data.chains import effective_sizes
from ..data.known import Known
from ..data.task import Task, Tasks
from .findings import Finding

#: Probability that independent draws of their target raise an alarm: as rare as that of their order (`order.py`).
FALSE_ALARM = 0.005

_RUN_ON = (
    "Means of parameters, of their squares and of the scale are told by the law of the target, and right; those of "
    "other functions of the scale have error bars that count it in full; those of functions of many parameters may be "
    "off by more than theirs. Sample with groups divided by their scale (non-centred)."
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
    found = [_along(k, axis, places, samples) for k, axis in enumerate(known.pooled.axes)]
    return [finding for each in found for finding in each]


def unvisited(places: Float[np.ndarray, "n a"]) -> Float[np.ndarray, "2 a"]:
    """The share of a standard normal below and above all places along each axis; none where their number explains it.

    >>> unvisited(np.linspace(-1, 3, 200)[:, None]).round(3)
    array([[0.159],
           [0.   ]])
    """
    beyond = ndtr(np.array([places.min(axis=0), -places.max(axis=0)]))
    return np.where(len(places) * beyond < _surprising(places.shape[1]), 0.0, beyond)


def in_doubt(places: Float[np.ndarray, "n a"], values: Float[np.ndarray, " n"]) -> float:
    """What the mean of a function of places may be off by where no draw has been.

    The function may be as far from its mean there as at the outermost draw, on either side: at such an error within
    equal bounds its standard deviation is theirs over the root of three.

    >>> z = np.linspace(-1, 3, 200)[:, None]
    >>> round(in_doubt(z, z[:, 0]), 3)  # 2 * .159 / sqrt(3)
    0.183
    """
    outermost = np.array([places.argmin(axis=0), places.argmax(axis=0)])
    return float(np.max(unvisited(places) * np.abs(values[outermost] - values.mean())) / np.sqrt(3))


def _surprising(axes: int) -> float:
    """How many draws are expected there, on either side of any axis, with no more than the chance of a false alarm."""
    return float(np.log(2 * axes / FALSE_ALARM))


def _along(k: int, axis: int, places: list[np.ndarray], samples: list[Task]) -> list[Finding]:
    """What is found along one of the scales."""
    rows, draws = sum(map(len, places)), sum(map(_effective, (z[:, [k]] for z in places), samples))
    beyond = float(unvisited(np.concatenate(places))[:, k].max())
    if beyond == 0:
        return []
    message = (
        f"{beyond:.1%} of the target lies beyond all {rows} draws ({draws:.0f} effective ones) along axis "
        f"{axis}, the logarithm of a scale."
    )
    surprising = draws * beyond > _surprising(places[0].shape[1])
    return [Finding("warning" if surprising else "note", "unvisited", message, _RUN_ON)]


def _effective(places: np.ndarray, task: Task) -> float:
    return float(effective_sizes(places, task.chains)[0]) if task.chains else float(len(places))
