"""The likely mistake behind scores that fail: the one that, undone, makes the identities hold.

Each hypothesis takes the samples that share a mistake, undoes it, and tests the identities again; those without free
parameters are asked first. Scores of the prior cannot be undone, only recognised: they violate the bound of Cramer
and Rao, Var(s_j) >= 1 in standard coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from .constraints import likeliest_slip, undo
from .identities import Identities, identities, pooled
from .sample import Sample

#: How much more than its threshold a repaired sample's z-value may be: a mistake shifts it by tens, so one that is a
#: little unlikely need not be disbelieved.
LENIENCE = 1.25

#: Part of a z-value that may remain when the mistake behind it is undone: a repair of other scores moves the largest of
#: many by chance, and one that takes less than a fifth off explains nothing.
EXPLAINED = 0.8

#: Fourth moment in standard coordinates: a uniform density has 1.8, a Gaussian 3.
SHORT_TAILED = 2.3


@dataclass(frozen=True)
class Mistake:
    """A mistake with a name."""

    code: str
    message: str
    remedy: str


#: What scores without any number but zero are.
FLAT = Mistake(
    "prior",
    "all scores are zero. Only a uniform density has such scores, and the points are not spread as its draws are.",
    "Pass the gradient of the whole log density at every point.",
)


def likely_mistake(samples: list[Sample], test: Identities, bound: float) -> Mistake | None:
    """The first hypothesis that explains why the identities fail."""
    lenient = believable(test.worst, bound)
    return next((found for ask in HYPOTHESES if (found := ask(samples, test, lenient)) is not None), None)


def believable(worst: float, bound: float) -> float:
    """The largest z-value at which a mistake, undone, is believed: lenient, yet likelier than the sample as it is.

    >>> believable(worst=40.0, bound=4.0), believable(worst=5.0, bound=4.0)
    (5.0, 4.0)
    """
    return min(LENIENCE * bound, EXPLAINED * worst)


def _hold(samples: list[Sample], bound: float, divergence: bool = True) -> bool:
    return pooled([identities(sample, divergence=divergence) for sample in samples], samples).worst < bound


def _no_scores(samples: list[Sample], test: Identities, bound: float) -> Mistake | None:
    zero = [j for j in test.failing(bound) if all(not sample.scores[:, j].any() for sample in samples)]
    if not zero or not all((sample.standard()[0][:, zero] ** 4).mean() < SHORT_TAILED for sample in samples):
        return None if any(sample.scores.any() for sample in samples) else FLAT
    return Mistake(
        "bounds",
        f"the scores of coordinates {zero} are all zero. Only a uniform density has such scores, and it has bounds, "
        "where Stein's identity does not hold.",
        "Move bounded inputs to coordinates without bounds, with their scores: vvcv.unconstrain(points, scores, lower, "
        "upper). Where the inputs are not uniform, pass the gradient of their log density.",
    )


def _wrong_sign(samples: list[Sample], test: Identities, bound: float) -> Mistake | None:
    if not _hold([sample.with_scores(-sample.scores) for sample in samples], bound):
        return None
    return Mistake(
        "sign",
        f"the scores have the wrong sign: E[x s'] is about {np.diag(test.moment).mean():+.2g} I, not -I.",
        "Pass the gradient of the log density, not of the potential or loss: scores = -gradient.",
    )


def _wrong_columns(samples: list[Sample], test: Identities, bound: float) -> Mistake | None:
    d = test.z.shape[1]
    unrelated = pooled([identities(sample, divergence=False) for sample in samples], samples)
    _, order = linear_sum_assignment(unrelated.z[1 : d + 1])  # E[x_i s_j] is -1 where j belongs to i
    permuted = [sample.with_scores(sample.scores[:, order]) for sample in samples]
    if np.array_equal(order, np.arange(d)) or not _hold(permuted, bound):
        return None
    return Mistake(
        "parameter-order",
        f"columns of the scores are in another order than those of the points: {order.tolist()} would fit.",
        f"Pass scores[:, {order.tolist()}], or order the parameters alike in both.",
    )


def _wrong_rows(samples: list[Sample], test: Identities, bound: float) -> Mistake | None:
    for explanation, reorder in _REORDERINGS.items():
        if (explanation != _AXES or any(sample.chains for sample in samples)) and _hold(
            [sample.with_scores(reorder(sample)) for sample in samples], bound
        ):
            return Mistake("row-order", f"rows are in another order: it fits if {explanation}.", _KEEP_ROWS)
    informative = min(float(sample.standard()[1].var(axis=0).mean()) for sample in samples) > 0.5
    if not (informative and _hold(samples, bound, divergence=False)):
        return None
    return Mistake("row-order", "the scores are unrelated to their points, E[x s'] = 0: rows are shuffled.", _KEEP_ROWS)


_KEEP_ROWS = "Keep scores[i] the gradient at points[i]: look for a shuffle, a sort or a thinning of only one of them."


def _transposed(sample: Sample) -> np.ndarray:
    chains, draws = sample.chains or (1, sample.size)
    return sample.scores.reshape(draws, chains, -1).swapaxes(0, 1).reshape(sample.scores.shape)


_AXES = "the scores have axes (draw, chain) instead of (chain, draw)"
_REORDERINGS: dict[str, Callable[[Sample], np.ndarray]] = {
    _AXES: _transposed,
    "the scores are in reversed order": lambda sample: sample.scores[::-1],
    "the scores are one row late": lambda sample: np.roll(sample.scores, -1, axis=0),
    "the scores are one row early": lambda sample: np.roll(sample.scores, 1, axis=0),
}


def _constraint(samples: list[Sample], test: Identities, bound: float) -> Mistake | None:
    slips = {}
    for j in test.failing(bound):
        slip = likeliest_slip(samples, j, bound)
        if slip is None:
            return None
        slips[j] = slip
        samples = [undo(sample, slip, j) for sample in samples]
    if not slips or not _hold(samples, bound):
        return None
    coordinates = {slip: [j for j, other in slips.items() if other is slip] for slip in slips.values()}
    found = "; ".join(f"coordinate {', '.join(map(str, js))}: {slip.message}" for slip, js in coordinates.items())
    return Mistake("jacobian", f"{found}.", " ".join(slip.remedy for slip in coordinates))


def _wrong_units(samples: list[Sample], test: Identities, bound: float) -> Mistake | None:
    factor = -np.diag(test.moment)
    if not (factor > 0).all() or not _hold([sample.with_scores(sample.scores / factor) for sample in samples], bound):
        return None
    common = np.ptp(np.log(factor)) < 0.3
    remedy = (
        "One factor for all: look for a mean instead of a sum over data, or a temperature."
        if common and len(factor) > 1
        else "Where points are divided by a scale, scores must be multiplied by it."
    )
    shown = f"{np.median(factor):.3g}" if common else "[" + ", ".join(f"{f:.3g}" for f in factor) + "]"
    return Mistake("units", f"the scores are {shown} times what they should be, by E[x_j s_j] = -1.", remedy)


def _prior(samples: list[Sample], test: Identities, bound: float) -> Mistake | None:
    variance = np.mean([sample.standard()[1].var(axis=0) for sample in samples], axis=0)
    chance = 4.5 / np.sqrt(test.size)
    weak = [j for j in test.failing(bound) if variance[j] < 1 - chance]
    if not weak:
        return None
    return Mistake(
        "prior",
        f"the scores of coordinates {weak} are too weak for the spread of the points (variance "
        f"{variance[weak].min():.2g} in standard coordinates, at least 1 for a density), as those of a prior are.",
        "Pass the gradient of the whole log posterior: prior, likelihood and Jacobians.",
    )


HYPOTHESES = (_no_scores, _wrong_sign, _wrong_columns, _wrong_rows, _constraint, _wrong_units, _prior)
