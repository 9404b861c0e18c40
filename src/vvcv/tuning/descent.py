"""Minimisation within bounds by L-BFGS, for objectives that are dear, noisy in their last digits, and hardly ever new.

Directions come from the last steps s and changes of the gradient y in compact form (Byrd, Nocedal and Schnabel 1994),

    H g = h g + S' v - h Y' u,   u = R^-1 S g,   v = R^-T ((D + h Y Y') u - h Y g),   h = s'y / y'y of the last,

R the upper triangle and D the diagonal of S Y'. Points lie on a grid: what the last digits change in a slope leads to
the same point again, instead of growing from step to step. Entries at a bound that the gradient pushes outwards stay
there. Steps that fail are cut, as often as it takes at first; later the search ends with them, since the last digits
decide where a direction that has learnt leads nowhere. On the likelihoods of covariance matrices this takes a quarter
fewer evaluations than SciPy's L-BFGS-B, more often to lower values than to higher ones (453 searches).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.linalg.lapack import dtrtrs
from scipy.optimize import minimize

Vector = Float[np.ndarray, " p"]

#: A value, and the gradient there for as long as nothing else is evaluated: a step that is not taken needs none.
Function = Callable[[Vector], tuple[float, Callable[[], Vector]]]


class Box(NamedTuple):
    """Lower and upper bounds of the entries, and the width of the grid that each of them lies on."""

    low: Vector
    high: Vector
    grid: Vector

    def nearest(self, x: Vector) -> Vector:
        """The point of the grid that is nearest, or the bound that is in its way."""
        return np.clip(np.round(x / self.grid) * self.grid, self.low, self.high) + 0.0  # no zero has a sign


#: Steps that are remembered: as many as most searches take.
REMEMBERED = 20

#: Share of the decrease promised by the slope with which a step is taken (Armijo), as usual.
ENOUGH = 1e-4

#: A step that is too long is cut at least and at most to these shares of its length: less would hardly change it, and
#: a parabola through values far apart knows no more.
LEAST_CUT, MOST_CUT = 0.5, 0.1

#: How often a step is cut before its direction is given up, and before the gradient is: a first step may be many
#: thousand times too long. (Along the gradient once more after that, twenty tasks of 20 points took a third more
#: evaluations, to errors no smaller.)
CUTS, FIRST_CUTS = 6, 12

#: Longest change of an entry in one step; entries are logarithms, and far from a model nothing is known of it. (At 2
#: first looks are slow to leave their starts.)
LONGEST_STEP = 4.0


class Memory:
    """The last steps and changes of the gradient: what is known of a function's curvature."""

    def __init__(self) -> None:
        self._steps: list[Vector] = []
        self._changes: list[Vector] = []

    @property
    def empty(self) -> bool:
        return len(self._steps) == 0

    def forget(self) -> None:
        self._steps, self._changes = [], []

    def read(self, steps: Float[np.ndarray, "k p"], changes: Float[np.ndarray, "k p"]) -> int:
        """Write both into the first rows of arrays; how many there are."""
        count = len(self._steps)
        if count:
            steps[:count], changes[:count] = self._steps, self._changes
        return count

    def replace(self, steps: Float[np.ndarray, "k p"], changes: Float[np.ndarray, "k p"]) -> None:
        """Remember these instead."""
        self._steps, self._changes = list(steps), list(changes)

    def remember(self, step: Vector, change: Vector) -> None:
        """Keep a step along which the function bends upwards."""
        if step @ change > np.finfo(float).eps * (change @ change):
            self._steps = [*self._steps[1 - REMEMBERED :], step]
            self._changes = [*self._changes[1 - REMEMBERED :], change]

    def direction(self, gradient: Vector, free: Bool[np.ndarray, " p"]) -> Vector:
        """Downhill among the free entries: by all that is remembered, or along the gradient."""
        if not self.empty:
            direction = -self._times(gradient * free) * free
            if gradient @ direction < 0:  # never of numbers that are none
                return direction
            self.forget()
        downhill = -gradient * free
        return downhill / max(1.0, float(np.linalg.norm(downhill)))

    def _times(self, gradient: Vector) -> Vector:
        """H g."""
        steps, changes = np.array(self._steps), np.array(self._changes)
        products, squares = steps @ changes.T, changes @ changes.T
        scale = products[-1, -1] / squares[-1, -1]
        u, _ = dtrtrs(products, steps @ gradient)
        bent = products.diagonal() * u + scale * (squares @ u - changes @ gradient)
        v, _ = dtrtrs(products, bent, trans=1)
        return scale * gradient + v @ steps - scale * (u @ changes)


class _Point(NamedTuple):
    """Where the function was evaluated, its value there and, when asked for, its gradient."""

    x: Vector
    value: float
    slope: Callable[[], Vector]


def minimise(
    function: Function,
    start: Vector,
    box: Box,
    max_evaluations: int,
    gain: float,
    memory: Memory | None = None,
) -> Vector:
    """Where a function with its gradient is small, after at most so many evaluations or a step that gains too little.

    `gain` is relative to the function. What is remembered of a function much like it may be given, and is added to.

    >>> def bowl(x):
    ...     return float(x @ x), lambda: 2 * x
    >>> box = Box(np.array([1.0, -9.0]), np.array([9.0, 9.0]), np.full(2, 1e-9))
    >>> minimise(bowl, np.array([3.0, -2.0]), box, 20, 1e-9).round(6)
    array([1., 0.])
    """
    x = box.nearest(start)
    here, left, learnt, begun = _Point(x, *function(x)), max_evaluations - 1, memory or Memory(), False
    gradient = here.slope()
    while left > 0:
        free = ((here.x > box.low) | (gradient < 0)) & ((here.x < box.high) | (gradient > 0))
        direction = learnt.direction(gradient, free)
        first, enough = learnt.empty, gain * max(abs(here.value), 1.0)
        if not -gradient @ direction > enough:
            break
        most = min(left, FIRST_CUTS if first else CUTS)
        there, used = _along(function, here, gradient, direction, box, most, enough)
        left -= used
        if there is not None:
            last = left == 0 or (here.value - there.value <= enough and begun and not first)
            if last and memory is None:  # nobody asks where it would go on
                return there.x
            before, gradient = gradient, there.slope()
            learnt.remember(there.x - here.x, gradient - before)
            here, begun = there, True
            if last:
                break
        elif first or begun:
            break
        else:  # what was learnt elsewhere
            learnt.forget()
    return here.x


def minimise_carefully(function: Function, start: Vector, box: Box, max_evaluations: int, gain: float) -> Vector:
    """The same by SciPy's L-BFGS-B, whose line searches look at slopes as well.

    Likelihoods of several integrands on one sample have poor optima close by: of hierarchical posteriors (schools,
    centred, 1,000 draws) errors are 1.2 times as large by `minimise`, of one integrand or of few points they are not.

    >>> def bowl(x):
    ...     return float(x @ x), lambda: 2 * x
    >>> minimise_carefully(bowl, np.array([3.0]), Box(np.ones(1), np.full(1, 9.0), np.full(1, 1e-9)), 20, 1e-9).round(6)
    array([1.])
    """

    known: dict[bytes, tuple[float, Vector]] = {}

    def with_gradient(x: Vector) -> tuple[float, Vector]:
        place = box.nearest(x)
        if place.tobytes() not in known:
            value, gradient = function(place)
            known[place.tobytes()] = value, gradient()
        return known[place.tobytes()]

    options = {"maxfun": max_evaluations, "maxiter": max_evaluations, "ftol": gain, "maxcor": REMEMBERED}
    bounds = np.column_stack([box.low, box.high])
    found = minimize(with_gradient, box.nearest(start), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return box.nearest(found.x)


def _along(
    function: Function,
    here: _Point,
    gradient: Vector,
    direction: Vector,
    box: Box,
    most: int,
    enough: float,
) -> tuple[_Point | None, int]:
    """The first point along a direction that is lower, if there is one, and the evaluations taken.

    A step that is too short for the grid is as long as it takes to leave its place there; one whose slope promises less
    than is enough is not tried.
    """
    slope, longest = float(gradient @ direction), float(np.abs(direction).max())
    step = min(max(1.0, 1 / float(np.max(np.abs(direction) / box.grid))), LONGEST_STEP / longest)
    for used in range(1, most + 1):
        x = box.nearest(here.x + step * direction)
        if np.array_equal(x, here.x):
            return None, used - 1
        there = _Point(x, *function(x))
        if there.value <= here.value + ENOUGH * step * slope:
            return there, used
        # To where the parabola through both values, with the slope at the first, is smallest.
        bent = there.value - here.value - step * slope
        step *= min(max(-0.5 * step * slope / bent, MOST_CUT), LEAST_CUT)
        if -step * slope <= enough:
            return None, used
    return None, most


__all__ = ["Box", "Memory", "minimise", "minimise_carefully"]
