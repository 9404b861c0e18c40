"""What can be wrong with the points alone: repeats, constant or collinear coordinates, heavy tails, shared samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..data.task import Tasks
from .findings import Finding, Severity
from .sample import Sample

#: Smallest eigenvalue of the correlation matrix below which coordinates count as linearly dependent.
COLLINEAR = 1e-8


def describe_points(sample: Sample) -> list[Finding]:
    """Findings about the points of one sample."""
    return [*_duplicates(sample), *_constant(sample), *_collinear(sample), *_heavy_scores(sample)]


def describe_values(tasks: Tasks) -> list[Finding]:
    """Tasks whose values have too heavy a tail for a standard error."""
    tails = {name: heavy_tail(task.values) for task, name in zip(tasks, tasks.names, strict=True)}
    remedy = "Where it is, no standard error of an average can be trusted: bound or transform the integrand."
    return [
        Finding(tail.severity, "heavy-values", f"values have {tail}: their variance may be infinite.", remedy, name)
        for name, tail in tails.items()
        if tail is not None
    ]


def describe_sharing(tasks: Tasks, samples: list[Sample]) -> list[Finding]:
    """Whether tasks share their points, and whether they then share their scores."""
    if len(tasks) == 1:
        return []
    distinct = len({sample.points.tobytes() for sample in samples})
    if distinct < len(samples):
        return [
            Finding(
                "note",
                "shared-points",
                f"{len(samples)} targets share {distinct} sets of points, which can be draws of one target at most.",
                "That is fine for a fit, but the identities can hold for one of these targets only.",
            )
        ]
    if distinct == 1:
        return [Finding("note", "shared-points", f"all {len(tasks)} tasks share their points and scores.")]
    if distinct < len(tasks):
        return [Finding("note", "shared-points", f"{len(tasks)} tasks use {distinct} sets of points.")]
    return []


class Tail(NamedTuple):
    """A tail that looks too heavy for a variance."""

    exponent: float
    severity: Severity

    def __str__(self) -> str:
        return f"a tail index of about {self.exponent:.2g} (below 2 there is no variance)"


def heavy_tail(values: Float[np.ndarray, " n"]) -> Tail | None:
    """Hill's index of |values - median| from its sqrt(n) largest: a warning if surely below 2, a note if probably.

    >>> rng = np.random.default_rng(0)
    >>> heavy_tail(rng.normal(size=1000)), heavy_tail(rng.standard_cauchy(1000)).severity
    (None, 'warning')
    """
    excess = np.abs(values - np.median(values))
    largest = np.unique(excess)[::-1]  # repeats of a stuck chain are one excess, not many
    count = int(np.sqrt(largest.size))
    if count < 10 or largest[count] <= 1e-9 * largest[0]:
        return None
    index = 1 / float(np.mean(np.log(largest[:count] / largest[count])))
    surely, probably = (index * (1 + quantile / np.sqrt(count)) < 2 for quantile in (3.5, 1.645))
    return Tail(index, "warning" if surely else "note") if probably else None


def _duplicates(sample: Sample) -> list[Finding]:
    distinct, first, inverse = np.unique(sample.points, axis=0, return_index=True, return_inverse=True)
    repeats = sample.size - len(distinct)
    if repeats == 0:
        return []
    meant = sample.scores[first][inverse.reshape(-1)]
    differ = np.abs(sample.scores - meant) > 1e-6 * (np.abs(sample.scores).max(axis=0) + np.finfo(float).tiny)
    if differ.any():
        row = int(np.argwhere(differ)[0][0])
        message = f"equal points have different scores, for example rows {first[inverse.reshape(-1)[row]]} and {row}."
        remedy = "Scores are a function of the point: look for a shuffle, a sort or a thinning of only one of them."
        return [Finding("error", "row-order", message, remedy, sample.label)]
    message = f"{repeats} of {sample.size} points repeat others, as rejected proposals do; they are merged exactly."
    return [Finding("note", "duplicates", message, task=sample.label)]


def _constant(sample: Sample) -> list[Finding]:
    constant = np.flatnonzero(~sample.varying).tolist()
    if not constant:
        return []
    message = f"coordinates {constant} are constant."
    return [Finding("warning", "constant", message, "Leave out their columns of points and scores.", sample.label)]


def _collinear(sample: Sample) -> list[Finding]:
    z = sample.standard()[0][:, sample.varying]
    n, d = z.shape
    if d < 2 or n <= d:
        return []
    eigenvalues, vectors = np.linalg.eigh(z.T @ z / n)
    if eigenvalues[0] > COLLINEAR:
        return []
    involved = np.flatnonzero(sample.varying)[np.abs(vectors[:, 0]) > 0.1 * np.abs(vectors[:, 0]).max()].tolist()
    message = f"coordinates {involved} are linearly dependent."
    remedy = "A density on a subspace has no score: parametrise without the redundant coordinate."
    return [Finding("warning", "collinear", message, remedy, sample.label)]


def _heavy_scores(sample: Sample) -> list[Finding]:
    z, scores = sample.standard()
    remedy = "A control variate may have infinite variance: transform bounded parameters to the whole line."
    found = []
    for what, series in (("scores", scores), ("products x_j s_j", z * scores)):
        tails = {j: tail for j in range(z.shape[1]) if (tail := heavy_tail(series[:, j])) is not None}
        if tails:
            worst = min(tails.values())
            message = f"{what} of coordinates {list(tails)} have {worst}."
            found.append(Finding(worst.severity, "heavy-scores", message, remedy, sample.label))
    return found
