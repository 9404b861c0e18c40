"""One uncertain input, and the map that makes it standard normal.

    z = Phi^-1(F(x)),     x = F^-1(Phi(z)),     score of z: -z

In z the density is known exactly and has light tails whatever those of x; for a normal input the map is plain
standardisation, for a lognormal one the logarithm. Both halves are computed from their own tail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri_exp

from ..data import finite_array, require
from ..data.validation import LARGEST
from .laws import Law

Array = Float[np.ndarray, "..."]

#: Step of the differences that stand in for a score without formula, in units of z.
STEP = 2e-3

#: Quantiles, as z, at which floats must tell the draws of an input apart, and the probability that may lie between
#: neighbouring floats: a thousand runs then have places of their own.
TOLD_AT, COARSEST = np.linspace(-3, 3, 13), 1e-3


#: Where a tail shows its power, in interquartile ranges: far enough for a lognormal's to seem great.
FAR_OUT = np.array([1e10, 1e20])


@dataclass(frozen=True, eq=False)
class Distribution:
    """A continuous distribution of one input: log density, score and the map to a standard normal.

    >>> from vvcv import inputs
    >>> width = inputs.lognormal(7.71, 1.0056)
    >>> width
    lognormal(mu=7.71, sigma=1.0056)
    >>> round(float(width.to_normal(np.exp(7.71 + 2 * 1.0056))), 12)
    2.0
    """

    description: str
    law: Law = field(repr=False)
    formula: Callable[[Array], Any] | None = field(default=None, repr=False)
    again: Callable[[], Distribution] | None = field(default=None, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """A formula need not be one that can be sent to another process, if the same can be made there again."""
        if self.again is not None:
            return self.again, ()
        return type(self), (self.description, self.law, self.formula)

    def log_density(self, x: Any) -> Array:
        """Log density at x."""
        return np.asarray(self.law.logpdf(self._inside(x, "x")))

    def score(self, x: Any) -> Array:
        """Derivative of the log density at x: in closed form, or by differences for a SciPy law."""
        x = self._inside(x, "x")
        return self._differences(x) if self.formula is None else np.broadcast_to(self.formula(x), x.shape).copy()

    def to_normal(self, x: Any, what: str = "x") -> Array:
        """z = Phi^-1(F(x)), a standard normal variable."""
        return self._to_normal(self._inside(x, what))

    # The float next to zero is below all normal ones, which settings of the caller's may call an error.
    @np.errstate(under="ignore")
    def from_normal(self, z: Any) -> Array:
        """x = F^-1(Phi(z)): draws of this input from standard normal ones."""
        z = np.asarray(z, dtype=float)
        x = np.where(z < 0, self.law.ppf(ndtr(np.minimum(z, 0))), self.law.isf(ndtr(-np.maximum(z, 0))))
        low, high = self.law.support()
        return x.clip(np.nextafter(low, high), np.nextafter(high, low))  # floats next to a bound round onto it

    def slope(self, x: Any) -> Array:
        """dz/dx = p(x) / phi(z)."""
        return np.exp(self.log_density(x) + self.to_normal(x) ** 2 / 2 + np.log(2 * np.pi) / 2)

    @property
    def power(self) -> float:
        """The power of |x| by which the probability beyond falls in the heavier tail; infinite if it falls faster.

        >>> from vvcv import inputs
        >>> round(inputs.student(3).power, 6), inputs.gamma(2).power > 1e9
        (3.0, True)
        """
        low, middle, high = (float(self.law.ppf(p)) for p in (0.25, 0.5, 0.75))
        with np.errstate(all="ignore"):
            ends = (self.law.logpdf(middle + side * (high - low) * FAR_OUT) for side in (-1, 1))
            powers = [float((near - far) / np.log(FAR_OUT[1] / FAR_OUT[0])) - 1 for near, far in ends]
        return min((power for power in powers if np.isfinite(power)), default=np.inf)

    def require_told_apart(self, name: str) -> None:
        """Refuse a law whose draws round to a few floats, or to none: z is normal only where x tells it.

        >>> from vvcv import inputs
        >>> inputs.gamma(0.1).require_told_apart("rate")
        """
        with np.errstate(all="ignore"):
            x = self.from_normal(TOLD_AT)
            told = np.abs(ndtr(self._to_normal(x)) - ndtr(TOLD_AT)) <= COARSEST
            lost = np.flatnonzero(~(told & (np.abs(x) <= LARGEST)))
        found = lost[0] if lost.size else 0
        require(
            lost.size == 0,
            f"Quantiles of an input must be numbers that floats tell apart, but of {name!r}, {self}, that of "
            f"{ndtr(TOLD_AT[found]):.2g} is {x[found]:.17g}, or rounds to it. Check the parameters; or give the model "
            "another coordinate (the logarithm, the distance from a bound), or another unit.",
        )

    def __repr__(self) -> str:
        return self.description

    def _to_normal(self, x: Array) -> Array:
        lower, upper = self.law.logcdf(x), self.law.logsf(x)
        return np.where(lower < upper, ndtri_exp(np.minimum(lower, 0)), -ndtri_exp(np.minimum(upper, 0)))

    def _inside(self, x: Any, what: str) -> Array:
        x = finite_array(x, what)
        low, high = (float(end) for end in self.law.support())
        outside = x[(x <= low) | (x >= high)]
        require(
            outside.size == 0,
            f"{what} must lie strictly between {low:g} and {high:g}, where {self} lives, but {outside.size} entries "
            f"do not; the first is {outside.flat[0] if outside.size else 0:g}. Check its unit and its distribution.",
        )
        return x

    def _differences(self, x: Array) -> Array:
        low, high = self.law.support()
        h = np.minimum(STEP / self.slope(x), STEP * np.minimum(x - low, high - x))  # a law bends where it ends
        ahead, behind = self.law.logpdf(x + h) - self.law.logpdf(x - h), self.law.logpdf(x + 2 * h)
        return (8 * ahead - (behind - self.law.logpdf(x - 2 * h))) / (12 * h)
