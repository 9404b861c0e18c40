"""Hyperparameters without a likelihood: k-fold cross-validation and the median heuristic (paper, section 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float
from scipy.spatial.distance import pdist

from ..data import Tasks, as_tasks, finite_array
from .fitting import fit_replications
from .objective import Objective, Variance, check_objective
from .selection import Selection
from .splits import folds
from .variates import Variate

#: Points whose distances the median heuristic looks at: enough for three digits of the median.
MEDIAN_POINTS = 1000


class Validated(NamedTuple):
    """The name of the best candidate and the held-out objective of every one."""

    best: str
    objectives: dict[str, float]


def cross_validate(
    tasks: Tasks,
    candidates: Mapping[str, tuple[Variate, Selection]],
    count: int = 5,
    objective: Objective | None = None,
    seed: int | jax.Array = 0,
) -> Validated:
    """Choose among pairs (variate, selection) by J_vv of the rows that each fold leaves out.

    >>> from vvcv.paper import Exact, PolynomialVariate
    >>> x = np.linspace(-2, 2, 12)[:, None]
    >>> candidates = {name: (PolynomialVariate(degree), Exact(0)) for name, degree in (('linear', 1), ('square', 2))}
    >>> cross_validate(Tasks.shared(x, -x, x**2), candidates).best
    'square'
    """
    tasks = as_tasks(tasks)
    if not candidates:
        raise ValueError("Cross-validation needs candidates, but there are none. Pass {name: (variate, selection)}.")
    check_objective(objective or Variance())
    parts = folds(tasks, count, seed)
    objectives = {}
    for name, (variate, selection) in candidates.items():
        total = 0.0
        for others, fold, _ in parts:
            fitted = fit_replications([others], variate, selection, seeds=[seed])[0]
            residual = fitted.remainder(fold) - np.repeat(fitted.mean, fold.sizes)
            chains = [task.chains or (1, task.size) for task in fold]
            total += (objective or Variance()).value(residual, chains) / count
        objectives[name] = total
    return Validated(min(objectives, key=objectives.__getitem__), objectives)


def median_heuristic(points: Float[np.ndarray, "n d"], seed: int = 0) -> float:
    """The median distance between points, as a lengthscale; from a random subset of many points.

    >>> median_heuristic(np.array([[0.0], [1.0], [3.0]]))
    2.0
    """
    points = finite_array(points, "points")
    points = points[:, None] if points.ndim == 1 else points
    if len(points) > MEDIAN_POINTS:
        points = points[np.random.default_rng(seed).choice(len(points), MEDIAN_POINTS, replace=False)]
    distances = pdist(points)
    positive = distances[distances > 0]
    if positive.size == 0:
        raise ValueError("The median heuristic needs two distinct points, but all points coincide. Give a lengthscale.")
    return float(np.median(positive))
