"""Scores against central differences of the log density, (f(x + h e_j) - f(x - h e_j)) / 2h, at a few points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.optimize import linear_sum_assignment

from ..data.task import Tasks
from ..data.validation import require
from .findings import Finding
from .sample import Sample

LogDensity = Callable[[np.ndarray], Any]

#: Points at which the scores are compared, spread evenly over the rows: a mistake shows at nearly all of them, and each
#: costs a few evaluations of the log density.
COMPARED = 32


def densities_of(
    tasks: Tasks, given: LogDensity | Sequence[LogDensity] | Mapping[str, LogDensity]
) -> dict[str, LogDensity]:
    """One log density for each task: the same for all, a list in their order, or a mapping by their names."""
    if callable(given):
        return dict.fromkeys(tasks.names, given)
    if isinstance(given, Mapping):
        unknown = sorted(set(given) - set(tasks.names))
        require(not unknown, f"log_density must name tasks among {list(tasks.names)}, but names {unknown}.")
        return dict(given)
    require(
        len(given) == len(tasks),
        f"log_density must be a function, or hold one per task, but holds {len(given)} for {len(tasks)} tasks.",
    )
    return dict(zip(tasks.names, given, strict=True))


def compare(sample: Sample, log_density: LogDensity) -> Finding:
    """Whether the scores are the derivatives of the log density, and if not, what they are instead."""
    rows = np.unique(np.linspace(0, sample.size - 1, min(COMPARED, sample.size)).astype(int))
    gradient, noise = _gradient(log_density, sample, rows)
    usable = np.isfinite(gradient).all(axis=1) & np.isfinite(noise).all(axis=1)
    name = sample.label
    if not usable.any():
        message = "the log density is not finite near any of the points compared."
        return Finding("warning", "no-differences", message, "Pass points inside its support.", name)
    rows, gradient, noise = rows[usable], gradient[usable], noise[usable]
    tolerance = 10 * noise + 1e-3 * np.sqrt(np.mean(gradient**2, axis=0) + np.finfo(float).tiny)
    if (np.abs(sample.scores[rows] - gradient) <= tolerance).all():
        return Finding(
            "ok", "gradient", f"scores are the derivatives of the log density at {len(rows)} points.", task=name
        )
    code, what = _explain(sample.scores, rows, gradient, tolerance)
    i, j = np.unravel_index(np.argmax(np.abs(sample.scores[rows] - gradient) / tolerance), gradient.shape)
    message = (
        f"scores are not the derivatives of the log density: at row {rows[i]}, coordinate {j}, the score is "
        f"{sample.scores[rows[i], j]:.4g} and the derivative {gradient[i, j]:.4g}; {what}."
    )
    return Finding("error", code, message, "Correct the scores, or the log density.", name)


def _gradient(log_density: LogDensity, sample: Sample, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Central differences and an estimate of their error: the change from a step twice as long."""
    points = sample.points[rows]
    function = _by_rows(log_density, points)
    # Rounding in f weighs as eps / h, the cubic term as h^2: a third power of eps balances the two.
    step = np.cbrt(np.finfo(float).eps) * np.where(sample.varying, sample.points.std(axis=0), 1.0) * 4
    short, long = (np.empty_like(points) for _ in range(2))
    for j, h in enumerate(step):
        shift = np.zeros(points.shape[1])
        shift[j] = h
        short[:, j] = (function(points + shift) - function(points - shift)) / (2 * h)
        long[:, j] = (function(points + 2 * shift) - function(points - 2 * shift)) / (4 * h)
    return short, np.abs(short - long)


def _by_rows(log_density: LogDensity, points: Float[np.ndarray, "k d"]) -> Callable[[np.ndarray], np.ndarray]:
    """The log density as a function of many points, whether it was written for one or for many."""

    def one_by_one(x: np.ndarray) -> np.ndarray:
        values = [np.asarray(log_density(point), dtype=float) for point in x]
        require(
            all(value.size == 1 for value in values),
            f"log_density must return one number for a point of shape ({x.shape[1]},), but returned an array of shape "
            f"{values[0].shape}. Sum over data and coordinates.",
        )
        return np.array([value.reshape(()) for value in values])

    d = points.shape[1]
    probe = np.resize(points, (d + 1, d))  # d + 1 rows, so that an axis of coordinates cannot pass for one of rows
    try:
        together = np.asarray(log_density(probe), dtype=float)
    except Exception:  # written for one point: whatever it raises, the call below raises for real mistakes
        return one_by_one
    if together.shape not in ((d + 1,), (d + 1, 1)):
        return one_by_one
    return lambda x: np.asarray(log_density(x), dtype=float).reshape(len(x))


def _explain(scores: np.ndarray, rows: np.ndarray, gradient: np.ndarray, tolerance: np.ndarray) -> tuple[str, str]:
    given = scores[rows]

    def agrees(candidate: np.ndarray) -> bool:
        return bool((np.abs(candidate - gradient) <= tolerance).all())

    distance = np.array(
        [[np.abs(given[:, k] - gradient[:, j]).max() for k in range(given.shape[1])] for j in range(given.shape[1])]
    )
    order = linear_sum_assignment(distance)[1]
    factor = (given * gradient).sum(axis=0) / np.maximum((gradient**2).sum(axis=0), np.finfo(float).tiny)
    shift = given - gradient
    elsewhere = [
        (np.abs(scores - g) <= t).all(axis=1).any()
        for g, t in zip(gradient, tolerance * np.ones_like(gradient), strict=True)
    ]
    if agrees(-given):
        return "sign", "they have the wrong sign"
    if agrees(given[:, order]):
        return "parameter-order", f"their columns {order.tolist()} would fit"
    if (factor != 0).all() and agrees(given / np.where(factor == 0, 1.0, factor)):
        return "units", f"they are {np.array2string(factor, precision=3)} times the derivatives"
    if all(elsewhere):
        return "row-order", "they are the derivatives at other rows"
    if (np.abs(shift - np.round(shift.mean(axis=0))) <= tolerance).all():
        return (
            "jacobian",
            f"they differ by the constants {np.round(shift.mean(axis=0)).tolist()}, as Jacobians of logs do",
        )
    return "gradient", "no simple mistake explains it"
