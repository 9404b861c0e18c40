"""Warnings that say what to do: priors that are not proper, temperatures too far apart."""

from __future__ import annotations

import warnings

import numpy as np
from jaxtyping import Float

from .samples import PathSamples

#: Error of the quadrature that is worth a warning where it leads the sampling error: it shows in the second digit of
#: the log evidence.
COARSE = 0.01

#: Deviations from a Stein identity, in standard errors, that are worth a warning: a proper prior hardly ever shows them
#: by chance.
IMPLAUSIBLE = 5.0


class EvidenceWarning(UserWarning):
    """Something about the samples that makes a log evidence doubtful."""


def warn_of_improper_prior(samples: PathSamples) -> None:
    """Under a proper prior E[(x - E x) s] = -1 for every coordinate and its score s, at t = 0.

    A flat prior has s = 0; one that does not pull points back has a product whose mean is far above -1.
    """
    points, scores = samples.points[0], samples.scores_prior[0]
    product = (points - points.mean(axis=0)) * scores + 1.0
    # Few draws may look more regular than they are: never less than the spread of a Gaussian prior, sqrt(2).
    error = np.maximum(product.std(axis=0), np.sqrt(2)) / np.sqrt(len(points))
    flat = (scores == 0).all(axis=0)
    suspect = np.flatnonzero(flat | (product.mean(axis=0) > IMPLAUSIBLE * error))
    if suspect.size:
        warnings.warn(
            f"The prior's scores do not hold coordinates {suspect.tolist()} together at t = 0: the prior looks "
            "improper there, or the draws at t = 0 are not from it. An improper prior has no evidence: use a proper "
            "one. A prior on a bounded domain needs vvcv.unconstrain(points, scores, lower, upper) first.",
            EvidenceWarning,
            stacklevel=4,
        )


def warn_of_coarse_path(
    temperatures: Float[np.ndarray, " w"], errors: Float[np.ndarray, " w-1"], sampling_error: float
) -> None:
    """Warn when the error of the quadrature leads, and name the interval where a temperature would help most."""
    total = abs(float(errors.sum()))
    if total <= max(COARSE, sampling_error):
        return
    worst = int(np.argmax(np.abs(errors)))
    warnings.warn(
        f"The temperatures are too far apart: about {total:.2g} of the log evidence's error comes from having only "
        f"{len(temperatures)} temperatures, {sampling_error:.2g} from the draws. Add temperatures, first between "
        f"{temperatures[worst]:.3g} and {temperatures[worst + 1]:.3g}; halving all intervals divides this error by "
        "about 16.",
        EvidenceWarning,
        stacklevel=4,
    )
