"""What polynomials say of each task, also in other coordinates, of what they follow there to the last digits.

In coordinates in which a target is Gaussian, products of few coordinates are polynomials whose mean is known at once.
Where a polynomial leaves anything there, a kernel beside it knows more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from jaxtyping import Float

from ..candidates.polynomial import HIGHEST_DEGREE, PolynomialFit, fit_polynomials, polynomials
from ..data import Prepared
from ..data.seen import Seen, seen_as
from ..linear_system.merit import merit_of
from .weights import Answer, with_witness
from .witness import LAST_DIGITS, in_order, not_below_rounding, witness_of

Answers = list[list[Answer]]

#: Fewest values beyond those that choose a polynomial's numbers with which it is heard where it leaves anything: fewer
#: may be predicted by luck. (Of an epidemic from 12 runs with three inputs a quadratic leaves two: 8 to 29 of its
#: errors off where it is heard. Of 700 problems of 8 to 24 points five of eight such answers are covered.)
FEWEST_LEFT = 5


def by_polynomials(prepared: Prepared) -> Answers:
    """The answers of all degrees for each task whose values vary, that of the lowest where all leave too few values."""
    answers: Answers = [[] for _ in prepared.tasks]
    for members in _on_the_same_points(prepared):
        for task, fits in zip(members, polynomials(prepared, members), strict=True):
            heard = [fit for fit in fits if _is_no_luck(prepared, task, fit)] or fits[:1]
            answers[task] = [answer for fit in heard for answer in _answers(prepared, task, fit)]
    return answers


def exactly_elsewhere(prepared: Prepared, seen: Seen, words: str) -> Answers:
    """The answer of the lowest degree that leaves nothing of a task but its last digits, points being `seen` so."""
    there = seen_as(prepared, seen)
    answers: Answers = [[] for _ in prepared.tasks]
    for members in _on_the_same_points(there):
        for degree in range(1, HIGHEST_DEGREE + 1):
            left = tuple(task for task in members if not answers[task])
            fits = fit_polynomials(there, left, degree) if left else []
            for task, fit in zip(left, fits, strict=False):
                if exact(there, task, fit.left_out_error):
                    answers[task] = [_elsewhere(answer, fit, seen, words) for answer in _answers(there, task, fit)]
    return answers


def tells(answers: Sequence[Answer], prepared: Prepared, task: int) -> bool:
    """Whether any of the answers leaves nothing of a task but its last digits."""
    rows = prepared.tasks[task].size
    return any(exact(prepared, task, answer.cross_fitted_error * float(np.sqrt(rows))) for answer in answers)


def exact(prepared: Prepared, task: int, left_out: float) -> bool:
    """Whether residuals are no larger than the digits that fits are judged without."""
    return left_out <= LAST_DIGITS * float(prepared.scale[task])


def _is_no_luck(prepared: Prepared, task: int, fit: PolynomialFit) -> bool:
    return len(fit.move) - fit.numbers >= FEWEST_LEFT or exact(prepared, task, fit.left_out_error)


def _on_the_same_points(prepared: Prepared) -> list[tuple[int, ...]]:
    varying = tuple(t for t in range(len(prepared.tasks)) if not prepared.constant(t))
    return [varying] if prepared.tasks.share_points and varying else [(t,) for t in varying]


def _answers(prepared: Prepared, task: int, fit: PolynomialFit) -> Sequence[Answer]:
    left = witness_of(prepared, task, fit.mean, fit.leave_one_out, fit.move, fit.left_out_error)
    answer = Answer(
        "zv",
        fit.mean,
        not_below_rounding(prepared, task, fit.std_error),
        float(merit_of(np.array(fit.jackknife), np.array(fit.left_out_error))),
        fit.freedom,
        fit.variate,
        f"polynomial of degree {fit.degree}",
        fit.model_error,
        moves=in_order(prepared.distinct[task], fit.move),
        chosen=fit.numbers / len(fit.move),
    )
    return with_witness(answer, left)


def _elsewhere(answer: Answer, fit: PolynomialFit, seen: Seen, words: str) -> Answer:
    return replace(answer, variate=partial(_variate, fit, seen), description=answer.description + words)


def _variate(
    fit: PolynomialFit, seen: Seen, points: Float[np.ndarray, "k d"], scores: Float[np.ndarray, "k d"]
) -> Float[np.ndarray, " k"]:
    return fit.variate(*seen(points, scores))
