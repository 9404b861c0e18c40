"""What a fit says about one task, and one answer out of several: weighted by how well each has shown itself.

    s_k = sqrt(error * size of the left-out residuals),   w_k ~ s_k^-5

    mean = sum_k w_k m_k,   std_error^2 = sum_k w_k (e_k^2 + (m_k - mean)^2)

The error is what a model promises, or its error bar where that is wider and still says something (`doubt`). The size
is the residuals' root mean square or, where tasks have points of their own, that of all of them, not of the largest
alone (`linear_system.mean_errors`). There s is larger, too, if another fit of the same tasks makes the values likelier
(`with_evidence`), and a fit that chose too many numbers has no say (`without_luck`); everywhere s is larger if the
sample speaks against an answer (`beside_plain`). A clearly better fit takes all the weight; where the
evidence is thin, fits share it, and the error bar is that of the mixture: rivals widen it by how much they disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import hypot
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..candidates.plain import average, effective_size
from ..data import Task
from ..linear_system.balance import Balance
from ..linear_system.merit import merit_of
from ..tuning.levels import MOST_CHOSEN

Variate = Callable[[np.ndarray, np.ndarray], np.ndarray]

#: How sharply weights fall with the merit. Between 4 and 8 errors differ by 2 %; coverage is 96.5 % at 4, 95.4 % at 8
#: (39 problems, 12 replications each).
SHARPNESS = 5.0

#: Weights below this are left out: they would cost an evaluation of the variate and change nothing.
NEGLIGIBLE = 1e-4

#: Squared distance from the witness, in its own errors, that no one wonders at (5 % of right answers exceed it).
UNREMARKABLE = 4.0

#: What a squared distance beyond that costs in the merit: enough to doubt a sharp answer, too little to refuse one
#: because the sample has missed a tail.
PRICE = 0.125

#: Part of the plain average's error below which an error bar is no reason to prefer another fit: all of them are good
#: enough there, and what a bar adds to a promise is mostly rounding. Between .0003 and .003 errors differ by 1 %, and
#: error bars of the borehole move a third less with the last bit at .001 than at .003; were bars left out of the
#: weighing, hierarchical posteriors of `benchmarks/trust` would be covered in 93 %, not 96 %.
GOOD_ENOUGH = 0.001

#: What an answer's merit pays for each nat by which a value is less likely, on average, than under another fit of the
#: same tasks: a likelihood knows all values, of other tasks too, and a mean hangs on few. At .5 errors of the synthetic
#: problem are a third smaller than at 0 (40 replications). Only where tasks have points of their own: slopes of a
#: hierarchical posterior would be covered in 89, not 93 %.
EVIDENCE = 0.5

#: How much another task has to be like one for its values to say anything about this one's: models of one thing
#: correlate by .8 to 1 in most fits, functions that have nothing to do with each other by less than .15 (own points).
ALIKE = 0.5

#: The least error of a mean, relative to numbers of its size: their sums are rounded by as much, even where a fit
#: leaves nothing.
ROUNDING = 16 * np.finfo(float).eps


@dataclass(frozen=True, eq=False)
class Answer:
    """What one fit says about one task: the mean, its standard error with degrees of freedom, the variate, a merit.

    The merit is the logarithm of s above: less is better. Beside the error bar stand what the model alone claims, and
    the Monte Carlo error of the residuals that are left when every value is predicted from the others (cross-fitted);
    and what each row, in the order given, moves the mean by, where that was kept; and the tasks that were
    fitted together, with how unlikely a value of theirs is under the model, how many numbers were chosen for each of
    their values, and how much this task is like another of them; and where the fit takes the target's middle to be.
    """

    method: str
    mean: float
    std_error: float
    merit: float
    freedom: float
    variate: Variate
    description: str
    model_error: float = np.nan
    cross_fitted_error: float = np.nan
    weight: float = 1.0
    moves: Float[np.ndarray, " n"] | None = None
    members: tuple[int, ...] = ()
    surprise: float = np.nan
    chosen: float = 0.0
    alike: float = 0.0
    balance: Balance | None = None


class Witness(NamedTuple):
    """The average of what a variate leaves of values it has not seen, its error, and of the residuals the effective
    number, skewness and size; and what each row moves that average by, where that was kept."""

    mean: float
    error: float
    size: float
    skewness: float
    left_out: float
    moves: Float[np.ndarray, " n"] | None = None


def with_witness(answer: Answer, left: Witness, unseen: float = 0.0) -> list[Answer]:
    """A fit's answer, and that of its witness, unless residuals are no larger than what digits left out make `unseen`.

    The witness has no bias (rows being independent), and its error is a plain average's. It is never surer than the
    fit, but an answer that is many of its errors away from it is wrong.
    """
    if left.left_out <= unseen:
        return [replace(answer, cross_fitted_error=left.error)]
    freedom = max(left.size - 1, 1.0)
    price = contradiction(answer.mean, left.mean, left.error, freedom, left.skewness)
    surest = max(left.error, answer.std_error)
    witness = replace(
        answer,
        mean=left.mean,
        std_error=surest,
        merit=float(merit_of(np.array(surest), np.array(left.left_out))),
        freedom=min(freedom, answer.freedom),
        description=f"{answer.description}, cross-fitted",
        cross_fitted_error=left.error,
        moves=left.moves,
    )
    return [replace(answer, merit=answer.merit + price, cross_fitted_error=left.error), witness]


def doubt(std_error: float, promised: float, plain_error: float) -> float:
    """What an answer's merit pays where its error bar is wider than what its model promises: half the logarithm.

    >>> round(doubt(0.4, 0.1, 1.0), 3), doubt(1e-3, 1e-9, 1.0)
    (0.693, 0.0)
    """
    known = max(promised, GOOD_ENOUGH * plain_error)
    return 0.5 * float(np.log(std_error / known)) if std_error > known > 0 else 0.0


def with_evidence(answers: Sequence[Answer]) -> list[Answer]:
    """The answers, with what their merits pay where another fit of the same tasks makes the values likelier.

    >>> rivals = [Answer("cf", 0.0, 0.1, 0.0, 9.0, np.subtract, "", members=(0,), surprise=s) for s in (1.0, 3.0)]
    >>> [answer.merit for answer in with_evidence(rivals)]
    [0.0, 1.0]
    """
    least: dict[tuple[int, ...], float] = {}
    for answer in answers:
        least[answer.members] = float(np.fmin(answer.surprise, least.get(answer.members, np.inf)))
    lags = [answer.surprise - least[answer.members] for answer in answers]
    return [
        replace(answer, merit=answer.merit + EVIDENCE * lag) if lag > 0 else answer
        for answer, lag in zip(answers, lags, strict=True)
    ]


def without_luck(answers: Sequence[Answer]) -> list[Answer]:
    """The answers, if other tasks are like this one, without those that chose too many numbers on the values.

    Of one task alone at most so many for each value; of all together no more than values, unless none did with fewer.

    >>> one = Answer("cf", 0.0, 0.1, 0.0, 9.0, np.subtract, "alone", members=(0,), chosen=0.9)
    >>> both = [one, replace(one, description="together", members=(0, 1), chosen=0.1, alike=0.9)]
    >>> [answer.description for answer in without_luck(both)], len(without_luck([one]))
    (['together'], 1)
    """
    if max((answer.alike for answer in answers), default=0.0) < ALIKE:
        return list(answers)
    most = max(1.0, min(answer.chosen for answer in answers if len(answer.members) > 1))
    return [answer for answer in answers if answer.chosen <= (most if len(answer.members) > 1 else MOST_CHOSEN)]


def beside_others(answers: Sequence[Answer]) -> list[Answer]:
    """The answers about a task on points of its own that luck does not explain, each with its lag in evidence paid.

    >>> beside_others([Answer("mc", 0.0, 0.1, 0.0, 9.0, np.subtract, "")])[0].merit
    0.0
    """
    return with_evidence(without_luck(answers))


def plain_answer(task: Task, scale: float) -> Answer:
    """What the plain average says, `scale` being the standard deviation of the values."""
    mean, error = average(task)
    merit = float(merit_of(np.array(error), np.array(scale * task.size / max(task.size - 1, 1))))
    freedom = max(effective_size(task.values, task.chains) - 1, 1.0)
    moves = (task.values - mean) / task.size
    return Answer("mc", mean, error, merit, freedom, no_variate, "plain average", error, error, moves=moves)


def no_variate(points: Float[np.ndarray, "k d"], scores: Float[np.ndarray, "k d"]) -> Float[np.ndarray, " k"]:
    """The variate of a plain average."""
    return np.zeros(len(points))


def contradiction(mean: float, witness: float, error: float, freedom: float, skewness: float = 0.0) -> float:
    """What an answer's merit pays for being many standard errors away from a witness that has no bias.

    The witness of a fit is its own cross-fitted mean: every value less what the variate, fitted to the others, says of
    it.

    >>> contradiction(1.0, 0.0, 0.1, 50.0) > 5 > contradiction(1.0, 0.0, 0.1, 50.0, skewness=3.0)
    True
    """
    return price(squared_distance(mean, witness, error, freedom, skewness))


def squared_distance(mean: float, witness: float, error: float, freedom: float, skewness: float = 0.0) -> float:
    """The squared distance from a witness in its errors, as rare as that of Student's t with its degrees of freedom.

    That is after Hall's correction for skewed residuals: where the long tail is missed, their average is too low and so
    is its standard error.

        t + g t^2 / (3 sqrt n) + g^2 t^3 / (27 n) + g / (6 sqrt n),   g the skewness of the residuals

    >>> round(squared_distance(1.0, 1.5, 0.1, 50.0), 1)
    20.7
    """
    if error <= 0:
        return 0.0
    t, bend = (witness - mean) / error, skewness / (3 * np.sqrt(freedom + 1))
    corrected = t + bend * t**2 + (bend * t) ** 2 * t / 3 + bend / 2
    return float((freedom + 1) * np.log1p(corrected**2 / freedom))


def price(squared: float, unremarkable: float = UNREMARKABLE) -> float:
    """What an answer's merit pays for a squared distance beyond one that no one wonders at.

    >>> price(4.0), price(12.0)
    (0.0, 1.0)
    """
    return PRICE * max(0.0, squared - unremarkable)


def weigh(merits: Sequence[float]) -> Float[np.ndarray, " k"]:
    """Weights proportional to exp(-SHARPNESS * merit), those that hardly count set to zero.

    >>> weigh([0.0, 0.0, 5.0])
    array([0.5, 0.5, 0. ])
    """
    distance = np.asarray(merits, dtype=float) - min(merits)
    weights = np.exp(-SHARPNESS * distance)
    weights = np.where(weights < NEGLIGIBLE, 0.0, weights)
    return weights / weights.sum()


def combine(answers: Sequence[Answer]) -> Answer:
    """One answer from several about the same task; method, kernel and merit are those of the heaviest.

    >>> both = [Answer("cf", m, 0.1, 0.0, 9.0, np.subtract, "") for m in (0.9, 1.1)]
    >>> combine(both).mean, round(combine(both).std_error, 4)
    (1.0, 0.1414)
    """
    weights = weigh([answer.merit for answer in answers])
    parts = tuple(replace(a, weight=float(w)) for a, w in zip(answers, weights, strict=True) if w > 0)
    best = max(parts, key=lambda part: part.weight)
    # Differences from the best, so that the last digits of large means survive.
    mean = best.mean + sum(part.weight * (part.mean - best.mean) for part in parts)
    doubt = [np.sqrt(part.weight) * hypot(part.std_error, part.mean - mean) for part in parts]
    return Answer(
        best.method,
        mean,
        hypot(*doubt),  # whose squares may exceed every float
        best.merit,
        sum(part.weight * part.freedom for part in parts),
        best.variate if len(parts) == 1 else partial(_weighted, parts),  # a lambda could not be pickled
        best.description,
        best.model_error,
        best.cross_fitted_error,
        moves=_moves_of(parts),
    )


def _weighted(
    parts: tuple[Answer, ...], points: Float[np.ndarray, "k d"], scores: Float[np.ndarray, "k d"]
) -> Float[np.ndarray, " k"]:
    """The sum of all variates by their weights."""
    return np.sum([part.weight * part.variate(points, scores) for part in parts], axis=0)


def _moves_of(parts: tuple[Answer, ...]) -> Float[np.ndarray, " n"] | None:
    moves = [part.weight * part.moves for part in parts if part.moves is not None]
    return np.sum(moves, axis=0) if len(moves) == len(parts) else None
