"""The distributions that people give to uncertain inputs, each with its score in closed form."""

from __future__ import annotations

import zlib
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from ..data import require
from ..data.validation import NUMERIC_KINDS
from .distribution import Distribution
from .laws import Renamed, Triangular, Truncated

#: Probabilities whose quantiles tell one law from another where its class and parameters do not.
PERCENTS = np.arange(1, 100) / 100


def normal(mean: float, sd: float) -> Distribution:
    """Normal with this mean and standard deviation.

    >>> float(normal(1, 2).score(3.0))
    -0.5
    """
    _positive("sd", sd)
    return _distribution("normal", stats.norm(mean, sd), lambda x: (mean - x) / sd / sd, mean=mean, sd=sd)


def lognormal(mu: float, sigma: float) -> Distribution:
    """The exponential of a normal variable with mean mu and standard deviation sigma.

    >>> float(lognormal(0, 1).score(1.0))
    -1.0
    """
    _positive("sigma", sigma)
    with np.errstate(over="ignore"):  # an input of such a scale is refused
        law = stats.lognorm(sigma, scale=np.exp(number("mu", mu)))
    return _distribution("lognormal", law, lambda x: -(1 + (np.log(x) - mu) / sigma / sigma) / x, mu=mu, sigma=sigma)


def uniform(low: float, high: float) -> Distribution:
    """Equally likely everywhere between low and high.

    >>> uniform(990, 1110)
    uniform(low=990.0, high=1110.0)
    """
    _ordered(low=low, high=high)
    return _distribution("uniform", stats.uniform(low, high - low), lambda x: 0.0, low=low, high=high)


def triangular(low: float, mode: float, high: float) -> Distribution:
    """Between low and high, most likely at mode.

    >>> float(triangular(0, 1, 4).score(2.0))
    -0.5
    """
    _ordered(low=low, high=high)
    between = low <= number("mode", mode) <= high
    require(between, f"mode must lie from low to high, but low, mode, high are {low}, {mode}, {high}.")
    law = Triangular(float(low), float(mode), float(high))
    slope = lambda x: np.where(law.rising(x), 1 / (x - low), -1 / (high - x))  # noqa: E731
    return _distribution("triangular", law, slope, low=low, mode=mode, high=high)


def beta(a: float, b: float, low: float = 0.0, high: float = 1.0) -> Distribution:
    """Beta with shapes a and b, stretched from low to high.

    >>> float(beta(2, 2).score(0.25)) == 1 / 0.25 - 1 / 0.75
    True
    """
    _positive("a", a)
    _positive("b", b)
    _ordered(low=low, high=high)
    law = stats.beta(a, b, loc=low, scale=high - low)
    return _distribution(
        "beta", law, lambda x: (a - 1) / (x - low) - (b - 1) / (high - x), a=a, b=b, low=low, high=high
    )


def gamma(shape: float, scale: float = 1.0) -> Distribution:
    """Gamma with mean shape * scale and variance shape * scale^2.

    >>> float(gamma(3, 2).score(2.0))
    0.5
    """
    _positive("shape", shape)
    _positive("scale", scale)
    law = stats.gamma(shape, scale=scale)
    return _distribution("gamma", law, lambda x: (shape - 1) / x - 1 / scale, shape=shape, scale=scale)


def exponential(mean: float) -> Distribution:
    """Exponential waiting time with this mean.

    >>> float(exponential(4).score(1.0))
    -0.25
    """
    _positive("mean", mean)
    return _distribution("exponential", stats.expon(scale=mean), lambda x: -1 / mean, mean=mean)


def student(df: float, location: float = 0.0, scale: float = 1.0) -> Distribution:
    """Student's t with df degrees of freedom, moved and scaled: heavy tails.

    >>> float(student(3).score(1.0))
    -1.0
    """
    _positive("df", df)
    _positive("scale", scale)
    law = stats.t(df, loc=location, scale=scale)

    def slope(x: Any) -> Any:
        root = np.hypot(np.sqrt(df) * scale, x - location)  # squares of small scales and far tails are no floats
        return (df + 1) * ((location - x) / root) / root

    return _distribution("student", law, slope, df=df, location=location, scale=scale)


def truncated(of: Any, low: float = -np.inf, high: float = np.inf) -> Distribution:
    """Another distribution, given that it falls between low and high.

    >>> truncated(normal(0, 1), low=0)
    truncated(normal(mean=0.0, sd=1.0), low=0.0, high=inf)
    """
    of = as_distribution(of)
    _ordered(low=low, high=high)
    start, end = of.law.support()
    law = Truncated(of.law, max(float(low), float(start)), min(float(high), float(end)))
    require(
        law.low < law.high and law.log_mass > -600,
        f"{of} must have probability left between the bounds, but nothing is between {low:g} and {high:g}.",
    )
    return Distribution(f"truncated({of}, low={float(low)}, high={float(high)})", law, of.score)


def from_scipy(law: Any) -> Distribution:
    """Any continuous distribution of `scipy.stats`, frozen, or of its newer kind, as `stats.Normal(mu=1.0)` is.

    One of your own that has no parameters, as `stats.rv_histogram` makes them of data, need not be frozen.

    >>> from_scipy(stats.weibull_min(2, scale=3))
    scipy.weibull_min(2, scale=3)
    """
    if isinstance(law, stats.rv_continuous) and law.numargs == 0 and not _is_named(law):
        law = law()
    if _has(law, "logpdf", "logccdf", "iccdf") and np.isfinite(law.logpdf(law.icdf(0.5))).all():
        law = Renamed(law)  # a discrete one has no density at its median
    wanted = ("logpdf", "logcdf", "logsf", "ppf", "isf", "support")
    require(
        _has(law, *wanted) and not isinstance(law, stats.rv_continuous),
        "An input must be a distribution of vvcv.inputs or a frozen continuous one of scipy.stats, such as "
        f"stats.gumbel_r(0, 1), but a {type(law).__name__} was given. A constant belongs in the model. Of an input "
        "with few values, estimate the mean at each as a model of its own, and average these by its probabilities.",
    )
    described = _describe(law)
    for end in law.support():
        number(f"An end of {described}", end)  # parameters that are lists make many distributions
    return Distribution(described, law)


def as_distribution(given: Any) -> Distribution:
    """A distribution of ours as it is, one of SciPy's wrapped."""
    return given if isinstance(given, Distribution) else from_scipy(given)


def _distribution(name: str, law: Any, formula: Any, **parameters: float) -> Distribution:
    for parameter, value in parameters.items():
        finite = bool(np.isfinite(number(parameter, value)))
        require(finite, f"{parameter} of {name} must be a finite number, but is {value!r}.")
    described = f"{name}({', '.join(f'{key}={float(v)!r}' for key, v in parameters.items())})"
    return Distribution(described, law, formula, partial(named, name, parameters))


def named(name: str, parameters: dict[str, float]) -> Distribution:
    """A distribution of this module by its name: what another process makes of one that is sent to it."""
    return globals()[name](**parameters)


def _has(law: Any, *methods: str) -> bool:
    return not isinstance(law, type) and all(callable(getattr(law, name, None)) for name in methods)


def _describe(law: Any) -> str:
    if not hasattr(law, "dist"):  # a law of the user's own; where it is in memory, each process has another place
        return repr(law) if type(law).__repr__ is not object.__repr__ else f"{type(law).__qualname__}()"
    arguments = [repr(value) for value in law.args] + [f"{key}={value!r}" for key, value in law.kwds.items()]
    if _is_named(law.dist):
        return f"scipy.{law.dist.name}({', '.join(arguments)})"
    percentiles = [f"{x:.6g}" for x in np.ravel(law.ppf(PERCENTS[:, None]))]  # of many laws too, which are then refused
    arguments += [f"percentiles={percentiles[0]}..{percentiles[-1]}#{zlib.crc32(' '.join(percentiles).encode()):08x}"]
    return f"scipy.{type(law.dist).__name__}({', '.join(arguments)})"


def _is_named(law: Any) -> bool:
    """Whether SciPy has this family by its name; others share their class, or their name, with different laws."""
    return type(law) is type(getattr(stats, law.name, None))


def number(name: str, value: Any) -> float:
    """One real number; an input has one distribution, so that a list of means is none."""
    given = np.asarray(value)
    require(given.ndim == 0 and given.dtype.kind in NUMERIC_KINDS, f"{name} must be one number, but is {value!r}.")
    return float(given)


def _positive(name: str, value: float) -> None:
    require(0 < number(name, value) < np.inf, f"{name} must be positive and finite, but is {value!r}.")


def _ordered(*, low: float, high: float) -> None:
    below = number("low", low) < number("high", high)
    require(below, f"low must be below high, but they are {low!r} and {high!r}.")
