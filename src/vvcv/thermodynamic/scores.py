"""Are these the scores of prior and likelihood? Stein's identities, pooled over all temperatures.

At every temperature E_t[phi s_t + phi'] = 0 for any function phi, s_t = prior's + t likelihood's: so over the draws of
all of them together, one after the other, with one centre for all. Few draws of one temperature say little, and centred
about their own mean those of a slow chain are too narrow, always to the same side. The lower half of the temperatures
is looked at by itself as well: what goes wrong there may be right at the others, and a trend passes for a slow chain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..checks import Finding
from ..checks.identities import alarm_bound, identities
from ..checks.mistakes import believable
from ..checks.sample import Sample
from ..data import Task
from .samples import PathSamples


def describe_scores(samples: PathSamples) -> list[Finding]:
    """An error where the identities fail, with the mistake that, undone, makes them hold; right scores: 2 in 1000."""
    bound, worst = alarm_bound(samples.points[0].shape[1], families=2), _worst(samples)
    if worst <= bound:
        return []
    undone = {name: _worst(undo(samples)) for name, undo in MISTAKES.items()}
    likeliest = min(undone, key=lambda name: undone[name])
    found = f"over all temperatures Stein's identities fail, |z| = {worst:.1f}"
    if undone[likeliest] > believable(worst, bound):
        message = f"scores_prior + t scores_likelihood are not the scores of the points: {found}."
    else:
        message = f"{likeliest}: {found}, and with that undone {undone[likeliest]:.1f}."
    remedy = "Pass the gradients of log p(x) and of log p(y | x), in the coordinates and the order of the points."
    return [Finding("error", "scores", message, remedy)]


def _worst(samples: PathSamples) -> float:
    """The largest |z| of all draws' identities; their order tells the autocorrelation."""
    tasks = list(samples.tasks(samples.log_likelihoods))
    with np.errstate(all="ignore"):
        return max(identities(_together(part)).worst for part in (tasks, tasks[: (len(tasks) + 1) // 2]))


def _together(tasks: Sequence[Task]) -> Sample:
    points, scores = (np.concatenate([getattr(task, name) for task in tasks]) for name in ("points", "scores"))
    return Sample(points, scores, None, ("all temperatures",))


def _with(samples: PathSamples, change: Callable[[np.ndarray, np.ndarray], tuple]) -> PathSamples:
    """The same draws with other scores, made of the likelihood's and the prior's."""
    pairs = [change(*pair) for pair in zip(samples.scores_likelihood, samples.scores_prior, strict=True)]
    likelihood, prior = zip(*pairs, strict=True)
    return replace(samples, scores_likelihood=likelihood, scores_prior=prior)


MISTAKES: dict[str, Callable[[PathSamples], PathSamples]] = {
    "the scores of likelihood and prior are swapped": lambda given: _with(given, lambda like, prior: (prior, like)),
    "scores_prior are those of the posterior": lambda given: _with(given, lambda like, prior: (like, prior - like)),
    "scores_likelihood are those of the posterior": lambda given: _with(
        given, lambda like, prior: (like - prior, prior)
    ),
    "all scores have the wrong sign": lambda given: _with(given, lambda like, prior: (-like, -prior)),
}
