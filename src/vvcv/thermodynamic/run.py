"""`evidence`: the log evidence of a model from draws of its power posteriors, in one call.

    log p(y) = int_0^1 E_t[log p(y | x)] dt        (paper, section 5.2)

First the means of the log likelihood at all temperatures jointly, then its squared deviations from those means, whose
expectations are the variances; then second-order quadrature.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from jaxtyping import Float

from ..data import require
from ..estimation.diagnosis import Diagnosis, OnAlarm
from ..runtime.device import Device, placed
from ..runtime.memory import largest_system
from ..runtime.precision import float64
from ..runtime.progress import progress_bar
from ..runtime.threads import threads_for
from .advice import warn_of_coarse_path, warn_of_disagreement, warn_of_few_draws, warn_of_improper_prior
from .baselines import compare_all
from .moments import EVALUATIONS, PathFit, PerTemperature, Tick, fit_path
from .quadrature import quadrature_errors, quadrature_weights
from .result import Evidence
from .samples import PathSamples, fields_of
from .scores import describe_scores


def evidence(
    log_likelihoods: Any,
    temperatures: Any = None,
    points: Any = None,
    *,
    scores_likelihood: Any = None,
    scores_prior: Any = None,
    compare: bool = True,
    progress: bool | None = None,
    device: Device = None,
    on_alarm: OnAlarm = "warn",
) -> Evidence:
    """Log evidence by thermodynamic integration with joint vector-valued control variates over all temperatures.

    The first axis of every array is the temperatures: `log_likelihoods (w, n)`, `points (w, n, d)`, and the gradients
    `scores_likelihood` of log p(y | x) and `scores_prior` of log p(x) like the points. Samples of different sizes
    come as lists of arrays, or as long columns with a row for each draw (then `temperatures` too). A sampler's output
    with these names, as attributes or keys, can be the only argument.

    `compare` adds plain averages, stepping stones and, where `pymbar` is installed, MBAR from the same draws. `device`
    (for large systems), `progress` and `on_alarm` (scores that fail Stein's identities) are those of `vvcv.estimate`.

    >>> rng, t = np.random.default_rng(0), (np.arange(11) / 10) ** 3  # x ~ N(0, 1), y = 0.5 ~ N(x, 1)
    >>> x = rng.normal(0.5 * t / (1 + t), 1 / np.sqrt(1 + t), size=(12, 11)).T
    >>> log_likelihoods = -((x - 0.5) ** 2) / 2 - np.log(2 * np.pi) / 2
    >>> result = evidence(log_likelihoods, t, x, scores_likelihood=0.5 - x, scores_prior=-x, compare=False)
    >>> exact = -0.5**2 / 4 - np.log(4 * np.pi) / 2
    >>> bool(abs(result.log_evidence - exact) < 1e-4)
    True
    """
    given = {"log_likelihoods": log_likelihoods, "points": points}
    given |= {"scores_likelihood": scores_likelihood, "scores_prior": scores_prior}
    alone = points is None and scores_likelihood is None and scores_prior is None
    samples = PathSamples.of(**fields_of(log_likelihoods if alone else given, temperatures))
    with placed(device):
        _check(samples, on_alarm)
        started = time.perf_counter()
        # Two stages of at most EVALUATIONS each; more in several dimensions.
        bar = progress_bar("tuning the control variate", 2 * EVALUATIONS, shown=progress)
        with threads_for(sum(samples.sizes)), bar as tick:
            means, variances = _moments(samples, tick)
        comparison = compare_all(samples) if compare else ()
        result = _result(samples, means, variances, comparison, started)
        warn_of_disagreement(result.log_evidence, result.std_error, comparison)
        return result


class _Known:
    """Moments of a log likelihood that does not vary: no fit is needed."""

    def __init__(self, value: PerTemperature) -> None:
        self.mean = value

    def errors(self, weights: Float[np.ndarray, "w k"]) -> Float[np.ndarray, " k"]:
        return np.zeros(weights.shape[1])


@float64
def _moments(samples: PathSamples, tick: Tick) -> tuple[PathFit | _Known, PathFit | _Known]:
    values = samples.log_likelihoods
    everything = np.concatenate(values)
    if np.ptp(everything) <= 1e-12 * np.abs(everything).max():
        return _Known(np.array([v.mean() for v in values])), _Known(np.zeros(len(values)))
    means = fit_path(samples.tasks(values), samples.temperatures, None, tick)
    squares = [(v - mean) ** 2 for v, mean in zip(values, means.mean, strict=True)]
    return means, fit_path(samples.tasks(squares), samples.temperatures, means.tuning, tick)


def _result(samples: PathSamples, means: Any, variances: Any, comparison: tuple, started: float) -> Evidence:
    path = samples.temperatures
    of_means, of_variances = quadrature_weights(path)
    each = np.eye(path.size)
    *mean_errors, from_means = means.errors(np.column_stack([each, of_means]))
    *variance_errors, from_variances = variances.errors(np.column_stack([each, of_variances]))
    # The two fits see the same draws: their errors are added as if they always went together.
    sampling = float(from_means + from_variances)
    by_interval = quadrature_errors(path, means.mean, variances.mean)
    warn_of_coarse_path(path, by_interval, sampling)
    coarseness = abs(float(by_interval.sum()))
    return Evidence(
        log_evidence=float(of_means @ means.mean + of_variances @ variances.mean),
        std_error=float(np.hypot(sampling, coarseness)),
        sampling_error=sampling,
        quadrature_error=coarseness,
        temperatures=path,
        means=means.mean,
        mean_std_errors=np.array(mean_errors),
        variances=variances.mean,
        variance_std_errors=np.array(variance_errors),
        plain_means=np.array([v.mean() for v in samples.log_likelihoods]),
        plain_variances=np.array([v.var(ddof=1) for v in samples.log_likelihoods]),
        sizes=samples.sizes,
        comparison=comparison,
        seconds=time.perf_counter() - started,
    )


def _check(samples: PathSamples, on_alarm: OnAlarm) -> None:
    rows, most = sum(samples.sizes), largest_system()
    require(
        rows <= most,
        f"All draws of all temperatures enter one exact system, but there are {rows} and there is room for {most}, in "
        "memory and in minutes. Keep every k-th draw.",
    )
    Diagnosis(tuple(describe_scores(samples))).announce(samples.tasks(samples.log_likelihoods), on_alarm)
    warn_of_improper_prior(samples)
    warn_of_few_draws(samples)
