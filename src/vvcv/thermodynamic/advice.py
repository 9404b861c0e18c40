"""Warnings that say what to do: improper priors, coarse paths, few draws, answers that MBAR contradicts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ..data.chains import variance_of_mean
from ..runtime.caller import warn_caller
from .result import Comparison
from .samples import PathSamples

#: Error of the quadrature that is worth a warning where it leads the sampling error: it shows in the second digit of
#: the log evidence.
COARSE = 0.01

#: Deviations from a Stein identity, in standard errors, that are worth a warning: a proper prior hardly ever shows them
#: by chance.
IMPLAUSIBLE = 5.0

#: E[s^2] Var(x) below which a score is none. It is at least 1 for any density (Cramer and Rao); of 150 pairs of chains
#: of 60 draws with autocorrelation .995 from a Gaussian 42 % were below a hundredth, and none below this.
FLAT = 1e-4


#: Draws of a temperature below which warnings say that an error bar cannot be trusted: with two, 80 % of intervals of
#: two standard errors held the evidence of a Gaussian model (40 samples), with three 95 %.
FEW_DRAWS = 3

#: Standard errors that the answer may be away from that of MBAR, from the same draws: one in 16,000 is by chance.
APART = 4.0


class EvidenceWarning(UserWarning):
    """Something about the samples that makes a log evidence doubtful."""


def warn_of_improper_prior(samples: PathSamples) -> None:
    """Under a proper prior E[(x - E x) s] = -1 for every coordinate and its score s, at t = 0.

    A flat prior has s = 0; one that does not pull points back has a product whose mean is far above -1.
    """
    columns = zip(samples.points[0].T, samples.scores_prior[0].T, strict=True)
    suspect = np.flatnonzero([_is_improper(points, scores) for points, scores in columns])
    if suspect.size:
        warn_caller(
            f"The prior's scores do not hold coordinates {suspect.tolist()} together at t = 0: the prior looks "
            "improper there, or the draws at t = 0 are not from it. An improper prior has no evidence: use a proper "
            "one. A prior on a bounded domain needs vvcv.unconstrain(points, scores, lower, upper) first.",
            EvidenceWarning,
        )


def _is_improper(points: Float[np.ndarray, " n"], scores: Float[np.ndarray, " n"]) -> bool:
    """Whether scores do not hold points together, as far as the draws tell: those of a slow chain are few."""
    if np.mean(scores**2) * np.var(points) < FLAT:
        return True
    product = (points - points.mean()) * scores + 1.0
    size = min(_draws(points), _draws(product))
    # Few draws may look more regular than they are: never less than the spread of a Gaussian prior, sqrt(2). About
    # their own mean m draws are too narrow by 1 / m.
    error = max(float(product.std()), np.sqrt(2)) / np.sqrt(size)
    return bool(product.mean() - 1 / size > IMPLAUSIBLE * error)


def _draws(series: Float[np.ndarray, " n"]) -> float:
    """The effective number of draws of one chain, at most all."""
    return min(variance_of_mean(series, (1, series.size))[1], float(series.size))


def warn_of_few_draws(samples: PathSamples) -> None:
    """Warn where a temperature has too few draws to tell how they spread."""
    few = [t for t, size in zip(samples.temperatures.tolist(), samples.sizes, strict=True) if size < FEW_DRAWS]
    if few:
        warn_caller(
            f"Every temperature should have at least {FEW_DRAWS} draws, but {len(few)} of {len(samples.sizes)} have "
            f"fewer, the first at t = {few[0]:.3g}: the error bar of the log evidence cannot be trusted. Draw more.",
            EvidenceWarning,
        )


def warn_of_disagreement(log_evidence: float, std_error: float, others: Sequence[Comparison]) -> None:
    """Warn where MBAR, which fits nothing, says clearly something else from the same draws."""
    for other in others:
        apart = abs(log_evidence - other.log_evidence)
        if other.name == "MBAR" and apart > APART * np.hypot(std_error, other.std_error):
            warn_caller(
                f"The log evidence is {log_evidence:.4g}, but MBAR says {other.log_evidence:.4g} +- "
                f"{other.std_error:.2g} from the same draws: the fit may have gone wrong. Add temperatures and draws.",
                EvidenceWarning,
            )


def warn_of_coarse_path(
    temperatures: Float[np.ndarray, " w"], errors: Float[np.ndarray, " w-1"], sampling_error: float
) -> None:
    """Warn when the error of the quadrature leads, and name the interval where a temperature would help most."""
    total = abs(float(errors.sum()))
    if total <= max(COARSE, sampling_error):
        return
    worst = int(np.argmax(np.abs(errors)))
    warn_caller(
        f"The temperatures are too far apart: about {total:.2g} of the log evidence's error comes from having only "
        f"{len(temperatures)} temperatures, {sampling_error:.2g} from the draws. Add temperatures, first between "
        f"{temperatures[worst]:.3g} and {temperatures[worst + 1]:.3g}; halving all intervals divides this error by "
        "about 16.",
        EvidenceWarning,
    )
