"""Laws that SciPy has not, has not accurately in its tails, or has by other names: as frozen SciPy distributions.

    triangular   F(x) = (x - l)^2 / (w (m - l)) for x <= m,   1 - (h - x)^2 / (w (h - m)) above,   w = h - l
    truncated    F(x) = P(l < X < x) / P(l < X < h)

All tails are logarithms of small probabilities, never one minus something near one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

#: Below this share of its tail an interval's probability, a difference, has lost digits: the midpoint rule has more.
SHORT = 1e-5


class Law(Protocol):
    """What is needed of a continuous distribution on the line: a frozen `scipy.stats` distribution will do."""

    def logpdf(self, x: Any) -> Any: ...
    def logcdf(self, x: Any) -> Any: ...
    def logsf(self, x: Any) -> Any: ...
    def ppf(self, p: Any) -> Any: ...
    def isf(self, q: Any) -> Any: ...
    def support(self) -> tuple[Any, Any]: ...


@dataclass(frozen=True, repr=False)
class Renamed:
    """A distribution object of SciPy's newer kind, such as `stats.Normal(mu=1.0)`, by the older names.

    >>> from scipy import stats
    >>> law = Renamed(stats.Normal(mu=1.0))
    >>> law, round(float(law.isf(0.975)), 3)
    (Normal(mu=1.0, sigma=1.0), -0.96)
    """

    law: Any

    def logpdf(self, x: Any) -> Any:
        return self.law.logpdf(x)

    def logcdf(self, x: Any) -> Any:
        return self.law.logcdf(x)

    def logsf(self, x: Any) -> Any:
        return self.law.logccdf(x)

    def ppf(self, p: Any) -> Any:
        return self.law.icdf(p)

    def isf(self, q: Any) -> Any:
        return self.law.iccdf(q)

    def support(self) -> tuple[Any, Any]:
        return self.law.support()

    def __repr__(self) -> str:
        return str(self.law)


@dataclass(frozen=True)
class Triangular:
    """The density rises linearly from `low` to `mode` and falls to `high`.

    >>> round(float(np.exp(Triangular(0.0, 1.0, 2.0).logcdf(0.5))), 12)
    0.125
    """

    low: float
    mode: float
    high: float

    def rising(self, x: Any) -> Any:
        """Whether x lies where the density rises."""
        return (x < self.mode) | (self.mode == self.high)

    def logpdf(self, x: Any) -> Any:
        x, left, right, width = np.asarray(x, dtype=float), *self._sides()
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(np.where(self.rising(x), (x - self.low) / left, (self.high - x) / right) * 2 / width)

    def logcdf(self, x: Any) -> Any:
        x, left, right, width = np.asarray(x, dtype=float), *self._sides()
        with np.errstate(divide="ignore", invalid="ignore"):
            below, above = (x - self.low) ** 2 / (left * width), (self.high - x) ** 2 / (right * width)
            return np.where(self.rising(x), np.log(below), np.log1p(-above))

    def logsf(self, x: Any) -> Any:
        return self._mirrored().logcdf(-x)

    def ppf(self, p: Any) -> Any:
        left, right, width = self._sides()
        rising, falling = self.low + np.sqrt(p * left * width), self.high - np.sqrt((1 - p) * right * width)
        return np.where(p * width < left, rising, falling)

    def isf(self, q: Any) -> Any:
        return -self._mirrored().ppf(q)

    def support(self) -> tuple[float, float]:
        return self.low, self.high

    def _sides(self) -> tuple[float, float, float]:
        return self.mode - self.low, self.high - self.mode, self.high - self.low

    def _mirrored(self) -> Triangular:
        return Triangular(-self.high, -self.mode, -self.low)


@dataclass(frozen=True)
class Truncated:
    """Another law, given that it falls between `low` and `high`.

    >>> from scipy import stats
    >>> round(float(Truncated(stats.expon(), 5.0, np.inf).ppf(0.5) - 5), 12)   # the exponential has no memory
    0.69314718056
    """

    law: Law
    low: float
    high: float

    @property
    def log_mass(self) -> Any:
        """Log probability that the law falls between the bounds."""
        return self._log_between(self.low, self.high)

    def logpdf(self, x: Any) -> Any:
        return np.where((x < self.low) | (x > self.high), -np.inf, self.law.logpdf(x) - self.log_mass)

    def logcdf(self, x: Any) -> Any:
        return self._log_share(self.low, np.minimum(x, self.high))

    def logsf(self, x: Any) -> Any:
        return self._log_share(np.maximum(x, self.low), self.high)

    def ppf(self, p: Any) -> Any:
        return self._step_in(self.low, np.asarray(p, dtype=float) * np.exp(self.log_mass), inwards=1)

    def isf(self, q: Any) -> Any:
        return self._step_in(self.high, np.asarray(q, dtype=float) * np.exp(self.log_mass), inwards=-1)

    def support(self) -> tuple[float, float]:
        return self.low, self.high

    def _log_share(self, a: Any, b: Any) -> Any:
        """Log share of the probability between the bounds that is between a and b: of all of it, exactly zero."""
        everything = (a == self.low) & (b == self.high)
        return np.where(everything, 0.0, self._log_between(a, b) - self.log_mass)

    def _log_between(self, a: Any, b: Any) -> Any:
        """log P(a < X < b), from the tail in which the interval lies, or around the median from both."""
        lower, upper = self.law.logcdf(b), self.law.logsf(a)
        half = np.log(0.5)
        with np.errstate(divide="ignore", invalid="ignore"):
            in_lower = lower + np.log1p(-np.exp(self.law.logcdf(a) - lower))
            in_upper = upper + np.log1p(-np.exp(self.law.logsf(b) - upper))
            around = np.log1p(-np.exp(self.law.logcdf(a)) - np.exp(self.law.logsf(b)))
            found = np.where(lower < half, in_lower, np.where(upper < half, in_upper, around))
            midpoint = self.law.logpdf((a + b) / 2) + np.log(b - a)
        short = found - np.minimum(0.0, np.minimum(lower, upper)) < np.log(SHORT)
        return np.where(a >= b, -np.inf, np.where(short & np.isfinite(midpoint), midpoint, found))

    def _step_in(self, end: float, mass: Any, inwards: int) -> Any:
        """The point that has `mass` between itself and one end."""
        below = np.exp(self.law.logcdf(end)) + inwards * mass
        above = np.exp(self.law.logsf(end)) - inwards * mass
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            found = np.where(below < above, self.law.ppf(below.clip(0, 1)), self.law.isf(above.clip(0, 1)))
            step = mass * np.exp(-self.law.logpdf(end))
            step = mass * np.exp(-self.law.logpdf(end + inwards * step / 2))
        short = mass < SHORT * np.minimum(below, above)
        return np.where(short & np.isfinite(step), end + inwards * step, found)
