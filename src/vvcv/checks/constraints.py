"""Mistakes with constrained parameters, each undone by a change of one coordinate of the points and scores.

A scale sigma > 0 is sampled as x = log sigma, whose density is pi(sigma) sigma, hence
d log pi_x / dx = sigma d log pi / d sigma + 1: the chain rule's factor sigma and the Jacobian's 1 are both forgotten
easily. A probability p in (0, 1) is sampled as x = logit p, where the Jacobian adds 1 - 2 p.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.special import expit, logit

from .identities import identities
from .sample import Sample

Column = Float[np.ndarray, " n"]


@dataclass(frozen=True)
class Slip:
    """One way of getting a constraint wrong: where it can happen, and the points and scores that were meant."""

    possible: Callable[[Column], bool]
    meant: Callable[[Column, Column], tuple[Column, Column]]
    message: str
    remedy: str


def _anywhere(x: Column) -> bool:
    return True


def _moderate(x: Column) -> bool:
    return bool(np.abs(x).max() < 50)


def _positive(x: Column) -> bool:
    return bool(x.min() > 0)


def _unit_interval(x: Column) -> bool:
    return bool(x.min() > 0 and x.max() < 1)


_ADD_LOG = "Add 1, the derivative of the log-Jacobian of exp, to that score."
_TAKE_LOG = "Pass the logarithm of that coordinate, the scale on which the score was taken."

SLIPS = (
    Slip(_anywhere, lambda x, s: (x, s + 1), "the Jacobian of a log-transformed parameter is missing", _ADD_LOG),
    Slip(
        _moderate,
        lambda x, s: (x, s + 1 - 2 * expit(x)),
        "the Jacobian of a logit-transformed parameter is missing",
        "Add 1 - 2 expit(x), the derivative of the log-Jacobian of expit, to that score.",
    ),
    Slip(
        _moderate,
        lambda x, s: (x, s * np.exp(x) + 1),
        "points are on log scale, scores are derivatives by the constrained parameter",
        "Multiply that score by exp(x) and add 1.",
    ),
    Slip(_positive, lambda x, s: (np.log(x), s), "points are on the constrained, scores on the log scale", _TAKE_LOG),
    Slip(
        _positive,
        lambda x, s: (np.log(x), s + 1),
        "points are on the constrained, scores on the log scale without its Jacobian",
        f"{_TAKE_LOG} {_ADD_LOG}",
    ),
    Slip(
        _positive,
        lambda x, s: (np.log(x), x * s + 1),
        "a parameter bounded by zero has density at its bound, or a Jacobian too many",
        "Pass y = log x with score x s + 1.",
    ),
    Slip(
        _positive,
        lambda x, s: (x, s - 1 / x),
        "the Jacobian of a log transform was added, but the points are not transformed",
        "Subtract 1 / x from that score, or pass log x with score x s.",
    ),
    Slip(
        _unit_interval,
        lambda x, s: (logit(x), s),
        "points are in (0, 1), scores on the logit scale",
        "Pass the logit of that coordinate, the scale on which the score was taken.",
    ),
    Slip(
        _anywhere, lambda x, s: (x, s - 1), "the Jacobian of a log-transformed parameter was added twice", "Subtract 1."
    ),
)


def undo(sample: Sample, slip: Slip, j: int) -> Sample:
    """The sample with the slip in coordinate j undone."""
    points, scores = sample.points.copy(), sample.scores.copy()
    points[:, j], scores[:, j] = slip.meant(points[:, j], scores[:, j])
    return replace(sample, points=points, scores=scores)


def likeliest_slip(samples: list[Sample], j: int, bound: float) -> Slip | None:
    """The slip that, undone, leaves the identities of coordinate j nearest to holding, if they then hold."""
    found, smallest = None, bound
    for slip in SLIPS:
        if all(slip.possible(sample.points[:, j]) for sample in samples):
            worst = max(identities(undo(sample, slip, j), [j]).worst for sample in samples)
            if worst < smallest:
                found, smallest = slip, worst
    return found
