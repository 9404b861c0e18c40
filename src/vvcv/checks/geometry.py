"""What can be wrong with the points alone: repeats, constant or collinear coordinates, separate modes, heavy scores."""

from __future__ import annotations

import numpy as np

from ..data.groups import in_separate_groups
from ..data.task import Tasks
from .findings import Finding
from .sample import Sample
from .tails import heavy_tail

#: Smallest eigenvalue of the correlation matrix below which coordinates count as linearly dependent: about the square
#: root of rounding.
COLLINEAR = 1e-8


def describe_points(sample: Sample) -> list[Finding]:
    """Findings about the points of one sample."""
    look = (_duplicates, _constant, _collinear, _separate, _heavy_scores)
    return [finding for ask in look for finding in ask(sample)]


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


def _separate(sample: Sample) -> list[Finding]:
    if not in_separate_groups(sample.points, sample.scores):
        return []
    message = (
        "points lie in separate modes with next to nothing between them. No control variate sees how much weight each "
        "mode has: only the numbers of points tell, and chains that seldom cross tell it badly."
    )
    remedy = (
        "Keep the plain average, as 'auto' does, of a sampler that moves between modes, or estimate each mode alone."
    )
    return [Finding("warning", "separate-modes", message, remedy, sample.label)]


def _heavy_scores(sample: Sample) -> list[Finding]:
    z, scores = sample.standard()
    remedy = "A control variate may have infinite variance: transform bounded parameters to the whole line."
    found = []
    for what, series in (("scores", scores), ("products x_j s_j", z * scores)):
        tails = {j: tail for j in range(z.shape[1]) if (tail := heavy_tail(series[:, j], sure=5.0)) is not None}
        if tails:
            worst = min(tails.values())
            message = f"{what} of coordinates {list(tails)} have {worst}."
            found.append(Finding(worst.severity, "heavy-scores", message, remedy, sample.label))
    return found
