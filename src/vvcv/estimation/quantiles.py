"""`probability` and `quantile`: expectations of steps, which control variates help little; the gain says how much.

    P(f <= c) = E[1{f <= c}]
    q_p = Q(Phi(z_p - (P(f <= Q(p)) - p) / phi(z_p))),   Q the draws' own quantiles
    error^2 = (error of P)^2 + |P(f <= Q(p)) - p| / n, over a density squared

A step is rough, and smooth functions of mean zero follow it badly: expect gains of 1 to 4 where means gain thousands.
Quantiles are corrected along the draws' own, on the scale of a normal: those of an increasing function of f are that
function of those of f. (Slow chains are corrected by much, and a straight line would leave skewed draws.) How many
draws lie on the way is chance: the second part of the error. The density is the slope of the draws' quantiles across a
window, on that scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri

from ..data import Task, Tasks, is_number, probability_between, require
from ..data.chains import effective_size
from .functional import Functional
from .result import Estimate
from .run import check_options, estimate
from .summary import as_source

#: Half the width of the window for the density, in normal quantiles: wide enough for hundreds of draws, hardly bent.
WINDOW = 0.35

#: Draws that must lie on each side of a quantile, and differ around it: fewer tell neither its place nor its density.
FEWEST = 5


def probability(source: Any, name: str, *, below: float, **options: Any) -> Functional:
    """P(f <= below) of one task, with standard error, the plain share, and the (small) gain.

    Where all n draws lie on one side, the interval of 95 % ends where n draws would do so by chance in one of 20 cases
    (the rule of three: about 3 / n off).

    >>> x = np.random.default_rng(0).normal(size=(100, 1))
    >>> found = probability(Tasks.shared(x, -x, x, names=["x"]), "x", below=0.0, method="zv")
    >>> bool(abs(found.value - 0.5) < 3 * found.std_error)
    True
    """
    require(is_number(below) and not np.isnan(below), f"below must be a number, but is {below!r}.")
    tasks = _with_task(source, name)
    step = tasks[name].carrying(tasks[name].values <= below, f"P({name} <= {below:g})")
    if np.ptp(step.values) == 0 and np.ptp(tasks[name].values) > 0:
        check_options(**options)
        return _all_on_one_side(tasks[name], step)
    return _of(estimate(Tasks([step]), **options))


def quantile(source: Any, name: str, prob: float, **options: Any) -> Functional:
    """The quantile of probability `prob` of one task, with standard error, the plain quantile, and the (small) gain."""
    probability_between(prob, "prob")
    tasks = _with_task(source, name)
    values = tasks[name].values
    require(
        values.size * min(prob, 1 - prob) >= FEWEST,
        f"The quantile {prob:g} of {name!r} needs at least five different draws on each side of it, but there are "
        f"{values.size} draws. Draw more, or ask for a quantile nearer the middle.",
    )
    low, high = np.quantile(values, _window(ndtri(prob)))
    near = values[(values >= low) & (values <= high)]
    different = np.unique(near).size
    require(
        different >= min(FEWEST, near.size),
        f"The quantile {prob:g} of {name!r} needs a density, and so at least five different draws near it, but the "
        f"{near.size} there take {different} value(s) only, such as {near[0]:g}. Of a variable that takes few values, "
        "ask for the probability of each: vvcv.probability(source, name, below=...).",
    )
    centre = float(np.quantile(values, prob))
    found = probability(tasks, name, below=centre, **options)
    off = float(found.value) - float(np.mean(values <= centre))  # from the plain share: prob is rounded to a draw
    between = np.sqrt(abs(off) / (prob * (1 - prob))) * found.plain_std_error
    moved = ndtri(prob) - off * np.sqrt(2 * np.pi) * np.exp(ndtri(prob) ** 2 / 2)
    stretch = _quantile_slope(values, prob, moved)
    return Functional(
        f"quantile {prob:g} of {name}",
        np.asarray(centre + _between(values, float(ndtr(moved))) - _between(values, prob)),
        np.hypot(found.std_error, between) * stretch,
        np.asarray(centre),
        found.plain_std_error * stretch,
        found.freedom,
    )


def _with_task(source: Any, name: str) -> Tasks:
    """Tasks with the one asked for; of what a sampler returned, that alone."""
    require(isinstance(name, str), f"name must be that of one task, a string, but is {name!r}. Ask for others apart.")
    return as_source(source, name)


def _all_on_one_side(task: Task, step: Task) -> Functional:
    size = min(effective_size(task.values, task.chains), task.size)
    share, error = np.asarray(step.values[0]), np.asarray(np.log(20) / (ndtri(0.975) * size))
    return Functional(str(step.name), share, error, share, error, np.inf)


def _quantile_slope(values: Float[np.ndarray, " n"], prob: float, place: float) -> float:
    """One over the density at a quantile: the slope of the draws' quantiles around a normal `place`, over `prob`."""
    ends, (low, high) = np.quantile(values, _window(place)), _window(ndtri(prob))
    return float((ends[1] - ends[0]) / (high - low))


def _between(values: Float[np.ndarray, " n"], level: float) -> float:
    """A quantile by a line through the middles of the steps of the draws' distribution: no jumps where draws repeat."""
    distinct, counts = np.unique(values, return_counts=True)
    return float(np.interp(level, (np.cumsum(counts) - counts / 2) / values.size, distinct))


def _window(place: float) -> tuple[float, float]:
    return float(ndtr(place - WINDOW)), float(ndtr(place + WINDOW))


def _of(result: Estimate) -> Functional:
    plain = result.monte_carlo
    mean, error, plain_mean, plain_error = (
        np.asarray(number[0]) for number in (result.mean, result.std_error, plain.mean, plain.std_error)
    )
    return Functional(result.names[0], mean, error, plain_mean, plain_error, float(result.freedom[0]))
