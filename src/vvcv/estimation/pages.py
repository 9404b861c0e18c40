"""What the page of an estimate shows of its fits: values and fit of some tasks along their leading direction.

In standard coordinates z, with centred values v: the direction is the first eigenvector of b b' + M M', b = E[v z] and
M = E[v z z'], which sees slopes and bends (least squares and principal Hessian directions; Li 1992).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from ..report.pictures import Fitted
from .numbers import Numbers

#: Tasks whose fits are drawn, and points of each: a page must stay small.
MOST_TASKS, MOST_POINTS = 6, 300


def fits_of(estimate: Numbers) -> list[Fitted]:
    """Values and fit of the first tasks; nothing for a loaded estimate, which has no data."""
    if estimate.tasks is None:
        return []
    return [_fit(estimate, t) for t in range(min(len(estimate.names), MOST_TASKS))]


def leading_direction(points: Float[np.ndarray, "n d"], values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " d"]:
    """The direction, in coordinates scaled by their spread, along which the values change most.

    >>> x = np.random.default_rng(0).normal(size=(500, 3))
    >>> np.abs(leading_direction(x, x[:, 1] ** 2)).round(1)
    array([0., 1., 0.])
    """
    spread = points.std(axis=0)
    z = (points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    scale = float(np.max(np.abs(values - values.mean()))) or 1.0
    v = (values - values.mean()) / scale
    slope, bend = z.T @ v / len(z), (z * v[:, None]).T @ z / len(z)
    _, vectors = np.linalg.eigh(np.outer(slope, slope) + bend @ bend.T)
    direction = vectors[:, -1]
    return direction * np.sign(direction[np.argmax(np.abs(direction))])


def _fit(estimate: Numbers, index: int) -> Fitted:
    assert estimate.tasks is not None
    task, name = estimate.tasks[index], estimate.names[index]
    step = -(-task.size // MOST_POINTS)
    points, scores, values = (array[::step] for array in (task.points, task.scores, task.values))
    predicted = estimate.mean[index] + estimate.control_variate(points, scores, index)
    if task.dimension == 1:
        return Fitted(name, points[:, 0], values, predicted, "x")
    direction = leading_direction(task.points, task.values)
    spread = task.points.std(axis=0)
    along = (points - task.points.mean(axis=0)) / np.where(spread > 0, spread, 1.0) @ direction
    return Fitted(name, along, values, predicted, _described(direction))


def _described(direction: Float[np.ndarray, " d"]) -> str:
    """The coordinates that make most of a direction, in words."""
    order = np.argsort(-np.abs(direction))[:3]
    parts = [f"{direction[j]:+.2f} x[{j}]" for j in order if abs(direction[j]) > 0.1]
    more = " ..." if len(direction) > 3 and np.sum(direction[order] ** 2) < 0.98 else ""
    return f"{' '.join(parts)}{more}"
