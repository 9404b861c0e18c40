"""Columns of one linear model for samples of any size, from simple to rich: each fit is the first so many of them.

    values = A c + residual,   A = [1 | Stein images of monomials, degree by degree | of single axes | k_0(x, z)]

The columns are multiplied by the inverse of R, A_pilot = Q R, the ridge of the kernel's coefficients counted as rows:
all sums over A R^-1 are then well conditioned, and normal equations cost no digits (Rokhlin and Tygert, 2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import qr, solve_triangular

from ..data import Coordinates, Prepared
from ..stein import Ridge, count_features, polynomial_features
from .inducing import Inducing

#: Highest total degree; monomials of degree three and more at most, of degree two, and columns of all kinds.
HIGHEST_DEGREE, MANY_MONOMIALS, MANY_PRODUCTS, MANY_COLUMNS = 4, 100, 500, 800

#: Pilot rows for each column beside the kernel's.
ROWS_PER_COLUMN = 4

#: A column is left out that lies in the span of those before it but for this part of its length.
DEPENDENT = 1e-10


class Stage(NamedTuple):
    """A fit with the first columns: what they are, and how many."""

    method: str
    words: str
    columns: int


@dataclass(frozen=True, eq=False)
class Features:
    """The columns of the linear model at any rows; `inverse` is R^-1, with a row of zeros for a column left out."""

    scaled: Coordinates
    whole: Coordinates
    degree: int
    axes: bool
    inducing: Inducing | None
    inverse: Float[np.ndarray, "p q"]
    stages: tuple[Stage, ...]

    def raw(self, points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n p"]:
        """The columns as they are."""
        parts = _polynomials(self.scaled, self.whole, self.degree, self.axes, points, scores)
        return np.hstack(parts if self.inducing is None else [*parts, self.inducing.raw(points, scores)])

    @property
    def penalty(self) -> Float[np.ndarray, "q q"]:
        """The ridge of the kernel's coefficients c, noise times c' k_0(z, z) c, in the coordinates of A R^-1."""
        if self.inducing is None:
            return np.zeros((self.inverse.shape[1],) * 2)
        root = np.sqrt(self.inducing.noise) * self.inducing.factor.T @ self.inverse[-self.inducing.count :]
        return root.T @ root


def build_features(prepared: Prepared, inducing: Inducing | None, rows: int) -> Features:
    """All columns that the pilot rows can tell apart, for a sample of so many rows."""
    pilot = prepared.distinct[0]
    n, d = pilot.points.shape
    members = (0,)
    scaled = prepared.coordinates(members, "scaled")
    whole = prepared.coordinates(members, prepared.systems(members)[-1])
    degree = _degree(n, d)
    axes = 3 * d + count_features(d, degree) <= min(MANY_COLUMNS, n // ROWS_PER_COLUMN)
    parts = _polynomials(scaled, whole, degree, axes, pilot.points, pilot.scores)
    columns = np.hstack(parts) * np.sqrt(pilot.multiplicity * rows / pilot.multiplicity.sum())[:, None]
    stages = [Stage("zv", f"polynomial of degree {k}", 1 + count_features(d, k)) for k in range(1, degree + 1)]
    if axes:
        words = f"polynomial of degree {degree} and single axes to degree 4"
        stages.append(Stage("zv", words, columns.shape[1]))
    if inducing is not None:
        # phi = k_0(x, z) L^-T rather than k_0(x, z): of length one under the prior, and the ridge is the noise.
        phi = solve_triangular(inducing.factor, inducing.raw(pilot.points, pilot.scores).T, lower=True).T
        phi *= np.sqrt(pilot.multiplicity * rows / pilot.multiplicity.sum())[:, None]
        ridge = np.zeros((inducing.count, columns.shape[1] + inducing.count))
        ridge[:, -inducing.count :] = np.sqrt(inducing.noise) * np.eye(inducing.count)
        columns = np.vstack([np.hstack([columns, phi]), ridge])
        stages.append(Stage("inducing", "", columns.shape[1]))
    inverse, kept = _orthogonalised(columns)
    if inducing is not None:
        inverse[-inducing.count :] = solve_triangular(inducing.factor, inverse[-inducing.count :], lower=True, trans=1)
    stages = [stage._replace(columns=int(np.sum(kept < stage.columns))) for stage in stages]
    return Features(scaled, whole, degree, axes, inducing, inverse, tuple(stages))


def _polynomials(
    scaled: Coordinates, whole: Coordinates, degree: int, axes: bool, points: np.ndarray, scores: np.ndarray
) -> list[np.ndarray]:
    """The constant, the Stein images of monomials, and those of squares to fourths of every axis along itself."""
    parts = [np.ones((len(points), 1))]
    if degree:
        parts.append(polynomial_features(scaled.points(points), scaled.scores(scores), degree))
    if axes:
        sides = whole.axes(points), whole.axis_scores(scores)
        parts += [Ridge(*sides, *sides, np.ones(5)).along_axes(k) for k in (1, 2, 3)]
    return parts


def _degree(n: int, d: int) -> int:
    """The highest total degree whose monomials are not too many for the rows and the work."""
    allowed = {1: MANY_COLUMNS, 2: MANY_PRODUCTS}
    fitting = [
        k
        for k in range(1, HIGHEST_DEGREE + 1)
        if count_features(d, k) <= min(allowed.get(k, MANY_MONOMIALS), n // ROWS_PER_COLUMN)
    ]
    return max(fitting, default=0)


def _orthogonalised(columns: Float[np.ndarray, "n p"]) -> tuple[Float[np.ndarray, "p q"], np.ndarray]:
    """R^-1 of the columns that do not depend on those before them, and which these are."""
    length = np.linalg.norm(columns, axis=0)
    kept = np.flatnonzero(length > 0)
    while True:
        triangle = qr(columns[:, kept] / length[kept], mode="r")[0][: len(kept)]
        dependent = np.abs(np.diag(triangle)) < DEPENDENT
        if not dependent.any():
            break
        kept = kept[~dependent]
    inverse = np.zeros((columns.shape[1], len(kept)))
    inverse[kept] = solve_triangular(triangle, np.eye(len(kept))) / length[kept][:, None]
    return inverse, kept
