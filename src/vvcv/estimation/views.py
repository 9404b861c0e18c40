"""The coordinates in which kernels see the data: as they are, with a heavy tail drawn in, or both where each may suit.

What follows a tail far out may follow it better where it is drawn in, or not; what is fitted both ways is weighed.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..candidates.fits import KernelFit
from ..candidates.kernel import Options
from ..candidates.one_function import OneFunctionFit
from ..candidates.rungs import KernelFits
from ..data import Prepared
from ..data.tails import LIGHT, Tail, with_tail_drawn_in
from .describe import describe
from .weights import Variate

#: What is said of fits in coordinates in which a tail is drawn in.
DRAWN_IN = "tails drawn in"


class View(NamedTuple):
    """Kernel fits in some coordinates; `tail` is what was drawn in for them."""

    fits: KernelFits
    tail: Tail | None = None

    def has(self, fit: KernelFit | OneFunctionFit) -> bool:
        """Whether a fit is one of these."""
        return fit.prepared is self.fits.prepared

    def describe(self, fit: KernelFit | OneFunctionFit) -> str:
        """The fit in words."""
        return describe(fit) if self.tail is None else f"{describe(fit)}, {DRAWN_IN}"

    def variate(self, fit: KernelFit | OneFunctionFit, member: int) -> Variate:
        """What a fit says of one of its tasks, as a function of points and scores in the user's coordinates."""
        return partial(_variate, fit, self.tail, member)  # no closure: processes send results to each other


def views_of(prepared: Prepared, options: Options, tail: Tail | None = None) -> list[View]:
    """The data as they are, unless their tail is surely heavy; and with the tail drawn in, where there is one."""
    as_they_are = [View(KernelFits(prepared, options))] if tail is None or tail.at_most >= LIGHT else []
    if tail is None:
        return as_they_are
    return [*as_they_are, View(KernelFits(with_tail_drawn_in(prepared, tail), options), tail)]


def _variate(
    fit: KernelFit | OneFunctionFit, tail: Tail | None, member: int, points: np.ndarray, scores: np.ndarray
) -> Float[np.ndarray, " k"]:
    seen = (points, scores) if tail is None else tail.drawn_in(points, scores)
    return fit.variate(*seen, member)
