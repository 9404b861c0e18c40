"""Other estimates of the evidence from the same draws: plain averages, stepping stones, MBAR.

Their errors know of autocorrelation: the draws of a temperature are taken as those of one chain, in its order.

stepping stone   log Z = sum_i log E_i[exp((t_i+1 - t_i) log p(y | x))]          (Xie, Lewis, Fan, Kuo and Chen, 2011)
MBAR             all draws reweighted to all temperatures at once, by `pymbar`    (Shirts and Chodera, 2008)
"""

from __future__ import annotations

import importlib.util
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import jax
import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from ..data.chains import variance_of_mean
from ..runtime.caller import warn_caller
from .advice import EvidenceWarning
from .quadrature import PerTemperature, quadrature_weights
from .result import Comparison
from .samples import PathSamples


def compare_all(samples: PathSamples) -> tuple[Comparison, ...]:
    """Every other method at hand; MBAR only where `pymbar` is installed, and finds its answer."""
    found = [plain_average(samples), stepping_stone(samples)]
    if importlib.util.find_spec("pymbar") is not None:
        try:
            found.append(mbar(samples))
        except Exception as error:  # noqa: BLE001 (whatever it raises, the user's own answer does not hang on it)
            warn_caller(
                f"MBAR is left out of the comparison: pymbar found no answer ({type(error).__name__}).",
                EvidenceWarning,
            )
    return tuple(found)


def plain_average(samples: PathSamples) -> Comparison:
    """The same quadrature with sample means and variances, each temperature by itself."""
    w, wv = quadrature_weights(samples.temperatures)
    total = variance = 0.0
    for values, a, b in zip(samples.log_likelihoods, w, wv, strict=True):
        # To first order, mean and variance err as the mean of this combination does.
        squares = (values - values.mean()) ** 2
        total += a * values.mean() + b * values.var(ddof=1)
        variance += variance_of_mean(a * values + b * squares, (1, values.size))[0]
    return Comparison("plain averages", float(total), float(np.sqrt(variance)))


def stepping_stone(samples: PathSamples) -> Comparison:
    """Ratios of normalising constants of neighbours, from draws at the lower temperature; error by the delta method."""
    total = variance = 0.0
    for values, step in zip(samples.log_likelihoods[:-1], np.diff(samples.temperatures), strict=True):
        log_weights = step * values
        log_mean = logsumexp(log_weights) - np.log(values.size)
        total += log_mean
        variance += variance_of_mean(np.exp(log_weights - log_mean), (1, values.size))[0]
    return Comparison("stepping stone", float(total), float(np.sqrt(variance)))


def mbar(samples: PathSamples) -> Comparison:
    """The multistate Bennett acceptance ratio over all temperatures; its error is that of draws far enough apart.

    The asymptotic error takes draws for independent ones.
    """
    thinned = [values[:: _apart(values)] for values in samples.log_likelihoods]
    correlated = sum(map(len, thinned)) < sum(samples.sizes)
    log_evidence, error = _solve_mbar(samples.temperatures, samples.log_likelihoods)
    return Comparison("MBAR", log_evidence, _solve_mbar(samples.temperatures, thinned)[1] if correlated else error)


def _solve_mbar(temperatures: PerTemperature, draws: Sequence[np.ndarray]) -> tuple[float, float]:
    values = np.concatenate(draws)
    top = float(values.max())  # a constant in all of them only shifts the answer, but not what pymbar makes of it
    energies = -temperatures[:, None] * (values - top)[None, :]
    with _quiet_pymbar():
        from pymbar import MBAR

        found = MBAR(energies, np.array([len(values) for values in draws])).compute_free_energy_differences()
    shift = top * (temperatures[-1] - temperatures[0])
    return float(shift - found["Delta_f"][0, -1]), float(found["dDelta_f"][0, -1])


def _apart(values: Float[np.ndarray, " n"]) -> int:
    """How many draws apart those are that count as independent; two are left at least."""
    _, size = variance_of_mean(values, (1, values.size))
    return int(np.clip(round(values.size / size), 1, values.size - 1))


@contextmanager
def _quiet_pymbar() -> Iterator[None]:
    """pymbar logs notices when imported and sets JAX to 64 bits for good: neither reaches the user."""
    logger, wide = logging.getLogger("pymbar"), jax.config.values["jax_enable_x64"]
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with jax.enable_x64(True), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its solvers' options, which the user has not chosen
            yield
    finally:
        logger.setLevel(level)
        if jax.config.values["jax_enable_x64"] != wide:
            jax.config.update("jax_enable_x64", wide)
