"""What is seen of several tasks at first sight, by regression on scores: how alike they are, and which axes count."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from ..data import Coordinates, Prepared, rounded
from ..data.directions import LEAST_WEIGHT

#: Ridge of the regressions, as if every row came with a tenth of another in which nothing depends on anything: there
#: may be fewer rows than axes.
RIDGE = 0.1


def start_covariance(prepared: Prepared, members: tuple[int, ...]) -> Float[np.ndarray, "m m"]:
    """A first B from how alike the linear parts of the tasks are, shrunk towards the identity."""
    coordinates = prepared.coordinates(members, "scaled")
    slopes = np.array([_slopes(*_rows(prepared, task, coordinates)) for task in members])
    norms = np.linalg.norm(slopes, axis=1) + 1e-12
    alike = rounded((slopes @ slopes.T) / np.outer(norms, norms))
    return 0.2 * np.eye(len(members)) + 0.8 * alike


def axis_weights(
    prepared: Prepared, members: tuple[int, ...], coordinates: Coordinates, covariance: Float[np.ndarray, "m m"]
) -> Float[np.ndarray, " d"]:
    """How much each axis counts: squared slopes of the linear function that all tasks have in common, but for signs."""
    rows = [_rows(prepared, task, coordinates) for task in members]
    signs = np.where(covariance[0] >= 0, 1.0, -1.0)
    values = np.concatenate([sign * y for sign, (_, y) in zip(signs, rows, strict=True)])
    slopes = _slopes(np.concatenate([scores - scores.mean(axis=0) for scores, _ in rows]), values)
    return rounded(slopes**2 / max(float(np.max(slopes**2)), 1e-300)) + LEAST_WEIGHT


def _rows(prepared: Prepared, task: int, coordinates: Coordinates) -> tuple[np.ndarray, np.ndarray]:
    return coordinates.scores(prepared.distinct[task].scores), prepared.standard_values(task)


def _slopes(scores: Float[np.ndarray, "n d"], values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " d"]:
    columns = np.hstack([np.ones((len(scores), 1)), scores])
    ridge = RIDGE * len(scores) * np.eye(columns.shape[1])
    ridge[0, 0] = 0.0
    return np.linalg.solve(columns.T @ columns + ridge, columns.T @ values)[1:]
