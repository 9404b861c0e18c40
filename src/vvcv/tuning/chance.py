"""Whether what was chosen for each axis, or a direction, was chosen by chance: what its parameters cost.

With few points for each dimension some weights and lengthscales predict values left out that mean nothing. So where
values are not clearly followed, they have to be better than all axes alike by as much as so many parameters hide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from ..data.directions import LEAST_WEIGHT
from ..linear_system.design import Design
from ..linear_system.evaluation import Criterion
from .attempts import those_that_work
from .found import Found
from .interrupt import stop_requested
from .refit import judged, refit

#: Part of their spread that is left of values, each left out, up to which a weight and a lengthscale for each axis are
#: believed; and what they pay otherwise beside all axes alike, in the merit, for as many parameters as values. (Of 70
#: functions of one, two and many directions, 30 to 200 points in 5 to 30 dimensions, five samples each, errors are .87,
#: interval scores .88 times those without, and intervals hold 92 instead of 82 %. Of 365 other problems, which are
#: followed, noisy, or several tasks, two or three samples each, errors are 1.001 and scores 1.000 times as large.)
CLEARLY_FOLLOWED, PRICE = 0.25, 1.5

#: Evaluations for a model with all axes alike from a first look: it has few parameters.
EVALUATIONS = 40

#: How much the axes count of systems that values have led.
Led = Mapping[Any, Float[np.ndarray, " d"]]


def surer(best: Found, look: Found, coarse: Mapping[Any, Design], criterion: Criterion, led: Led) -> Found | None:
    """A look with all axes alike, its few parameters tuned, where that is surer than the best; or none.

    Where values are hardly followed, what is chosen for each axis is chosen by chance, and values left out do not tell.
    """
    hidden = _parameters_per_value(best, coarse, led)
    if best.level == 0 or best.left_out * np.exp(hidden) <= CLEARLY_FOLLOWED or stop_requested():
        return None
    attempt = partial(refit, look, coarse[look.system], look.model, criterion, EVALUATIONS)
    for alike in those_that_work([attempt], required=False):
        if alike.merit + PRICE * _parameters_per_value(alike, coarse, led) < best.merit + PRICE * hidden:
            return alike
    return None


def _parameters_per_value(found: Found, designs: Mapping[Any, Design], led: Led) -> float:
    return (found.tuned.free + _turns(found, led)) / designs[found.system].values.size


def with_turns(found: Found, designs: Mapping[Any, Design], led: Led) -> Found:
    """The same, judged as one whose directions were chosen on the values."""
    turns = _turns(found, led)
    return judged(replace(found, turned=turns), designs[found.system]) if turns else found


def _turns(found: Found, led: Led) -> int:
    """How many numbers turn the axes of a system that values have led: so many for each direction, by its weight."""
    weights = led.get(found.system)
    return 0 if weights is None else round(float(np.sum(weights[weights > LEAST_WEIGHT])) * (weights.size - 1))
