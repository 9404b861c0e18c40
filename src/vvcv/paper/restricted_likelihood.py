"""Selection by restricted likelihood: one rung of the ladder that `vvcv.estimate` climbs, by its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..candidates.kernel import Options
from ..data import Tasks
from ..estimation.joint import error_correlation
from ..estimation.ladder import Ladder
from ..estimation.methods import METHODS
from ..estimation.weights import Answer
from ..kernels import Kernel
from ..linear_system.evaluation import Criterion
from ..runtime.precision import float64
from ..runtime.threads import threads_for
from ..tuning.starts import CANDIDATES
from .problem import Problem
from .result import Fit
from .selection import Seed, Selection
from .variates import Rung


@dataclass(frozen=True)
class RestrictedLikelihood(Selection):
    """Everything from the data: lengthscales, axes, noise and B by restricted likelihood, the family by its merit.

    >>> from vvcv.paper import fit
    >>> x = np.linspace(-2, 2, 9)[:, None]
    >>> fit(Tasks.shared(x, -x, x**2), "zv", RestrictedLikelihood()).mean.round(8)
    array([1.])
    """

    families: tuple[str | Kernel, ...] = CANDIDATES
    criterion: Criterion = "reml"
    order: int = 1

    @float64
    def select(self, problem: Problem, seed: Seed = 0) -> Fit:
        """The answer of the rung that the problem names; nothing is random."""
        if not isinstance(problem.variate, Rung):
            raise ValueError(
                "RestrictedLikelihood chooses kernel, noise and B itself, but a variate was given. Pass the name of a "
                f'rung, such as "vv", of {list(METHODS)}.'
            )
        if problem.variate.name not in METHODS:
            raise ValueError(
                f"A rung is one of {list(METHODS)}, but got {problem.variate.name!r}. The best of them chooses "
                "vvcv.estimate."
            )
        answers, correlation = _climb(problem.tasks, problem.variate.name, self)
        mean, errors = np.array([a.mean for a in answers]), np.array([a.std_error for a in answers])
        return Fit(
            names=problem.tasks.names,
            mean=mean,
            coregionalization=correlation,
            coefficients=None,
            objective=float(np.sum(np.log(errors + 1e-300))),
            problem=problem,
            beta=mean,
            function=lambda points, scores, task: answers[task].variate(points, scores),
            spread=lambda: np.outer(errors, errors) * _together(problem.tasks, answers),
        )


def _together(tasks: Tasks, answers: Sequence[Answer]) -> Float[np.ndarray, "T T"]:
    """Correlation of the errors, by what each row moves the means by."""
    moves = [answer.moves for answer in answers if answer.moves is not None]
    return error_correlation(tasks, moves) if len(moves) == len(answers) else np.eye(len(answers))


def _climb(tasks: Tasks, rung: str, settings: RestrictedLikelihood) -> tuple[list[Answer], np.ndarray]:
    """The rung's answers and its correlation of tasks, by the ladder of `vvcv.estimate`."""
    options = Options(settings.families, settings.criterion, settings.order)
    ladder = Ladder(options.prepared(tasks), options)
    with threads_for(sum(tasks.sizes)):
        answers = ladder.required(rung)
    return answers, ladder.task_correlation(rung)
