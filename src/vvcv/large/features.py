"""Columns of a linear model for samples of any size, from simple to rich: each fit is the first so many of them.

    values = A c + residual,   A = [1 | Stein images of monomials, degree by degree | of single axes | k_0(x, z)]

There are two such models. Polynomials stand alone, with the degrees that none is offered of but others are compared
with; beside a kernel they end where they are offered, as more of them cost digits and take from it what it does better.
The columns are multiplied by the inverse of R, A_pilot = Q R, the ridge of the kernel's coefficients counted as rows:
all sums over A R^-1 are then well conditioned, and normal equations cost no digits (Rokhlin and Tygert, 2008).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import qr, solve_triangular

from ..candidates.polynomial import HIGHEST_DEGREE, STEP
from ..data import Coordinates, Prepared
from ..stein import along_axes, count_features
from .inducing import LEAST_NOISE, Inducing
from .monomials import monomial_images

#: Monomials of degree three and more at most, of degree two, and columns of all kinds: normal equations cost the rows
#: times the square of the columns.
MANY_MONOMIALS, MANY_PRODUCTS, MANY_COLUMNS = 100, 500, 800

#: Pilot rows for each column beside the kernel's: with fewer, columns fit the pilot's noise.
ROWS_PER_COLUMN = 4

#: Rows are worked on in multiples of this: products of other shapes are compiled anew and rounded otherwise.
WIDTH = 512

#: A column is left out that lies in the span of those before it but for this part of its length: its square is below
#: the rounding of the normal equations.
DEPENDENT = 1e-10


class Stage(NamedTuple):
    """A fit with the first columns: what they are, how many, and their degree where they are all monomials up to it."""

    method: str
    words: str
    columns: int
    degree: int = 0


@dataclass(frozen=True, eq=False)
class Features:
    """The columns of the linear model at any rows; `inverse` is R^-1, upper triangular."""

    polynomials: Polynomials
    inducing: Inducing | None
    inverse: Float[np.ndarray, "q q"]
    stages: tuple[Stage, ...]

    def raw(self, points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n+k q"]:
        """The columns as they are, at a multiple of WIDTH rows: rows of zeros are added."""
        n = len(points)
        points, scores = _filled(points), _filled(scores)
        rows = self.polynomials.rows(points, scores)
        if self.inducing is not None:
            rows = np.vstack([rows, self.inducing.rows(points, scores)])
        rows[:, n:] = 0.0
        return rows.T

    def first(self, count: int) -> Features:
        """The fits with the first so many columns at most: a kernel's are not told one by one."""
        stages = tuple(stage for stage in self.stages if stage.columns <= count)
        if len(stages) == len(self.stages):
            return self
        last = stages[-1].columns if stages else 0
        kept = np.arange(last) if self.polynomials.kept is None else self.polynomials.kept[:last]
        return Features(replace(self.polynomials, kept=kept), None, self.inverse[:last, :last], stages)

    @property
    def penalty(self) -> Float[np.ndarray, "q q"]:
        """The ridge of the kernel's coefficients c, noise times c' k_0(z, z) c, in the coordinates of A R^-1."""
        if self.inducing is None:
            return np.zeros_like(self.inverse)
        root = np.sqrt(self.inducing.noise) * self.inducing.factor.T @ self.inverse[-self.inducing.count :]
        return root.T @ root


@dataclass(frozen=True, eq=False)
class Polynomials:
    """The constant, Stein images of monomials and, with `axes`, of squares to fourths of every axis along itself.

    Of all these, `kept` do not depend on those before them.
    """

    scaled: Coordinates
    whole: Coordinates
    degree: int
    axes: bool
    kept: Int[np.ndarray, " k"] | None = None

    def rows(self, points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "k n"]:
        """The columns at some rows, each in one piece."""
        parts = [np.ones((1, len(points)))]
        if self.degree:
            parts.append(monomial_images(self.scaled.points(points), self.scaled.scores(scores), self.degree))
        if self.axes:
            sides = self.whole.axes(points), self.whole.axis_scores(scores)
            parts += [along_axes(*sides, k).T for k in (1, 2, 3)]
        rows = np.vstack(parts)
        return rows if self.kept is None or len(self.kept) == len(rows) else rows[self.kept]

    def stages(self, d: int) -> list[Stage]:
        """The fits by the first of these columns."""
        kept = np.zeros(0, dtype=int) if self.kept is None else self.kept
        stages = [
            Stage("zv", f"polynomial of degree {k}", int(np.sum(kept < 1 + count_features(d, k))), k)
            for k in range(1, self.degree + 1)
        ]
        if self.axes and not (stages and stages[-1].columns == len(kept)):
            stages.append(Stage("zv", f"polynomial of degree {self.degree} and single axes to degree 4", len(kept)))
        return stages


def beyond_polynomials(prepared: Prepared, scaled: Coordinates, rows: int) -> tuple[int, ...]:
    """Tasks of which polynomials leave more at the pilot rows than the noise that any kernel has; all, if of none.

    What has no residual has no noise, and would take it from all tasks that are tuned together.
    """
    pilot = prepared.distinct[0]
    varying = tuple(t for t in prepared.canonical if not prepared.constant(t))
    weight = _row_weights(prepared, rows)
    polynomials = _independent_polynomials(prepared, scaled, weight, HIGHEST_DEGREE)
    columns = weight * polynomials.rows(pilot.points, pilot.scores).T
    basis = qr(columns / np.linalg.norm(columns, axis=0), mode="economic")[0]

    def left(task: int) -> float:
        values = weight[:, 0] * prepared.standard_values(task)
        return float(np.linalg.norm(values - basis @ (basis.T @ values)) / np.linalg.norm(weight))

    return tuple(t for t in varying if left(t) ** 2 > LEAST_NOISE) or varying


def build_features(prepared: Prepared, scaled: Coordinates, inducing: Inducing | None, rows: int) -> Features:
    """All columns that the pilot rows can tell apart, for a sample of so many rows: polynomials, or a kernel too.

    Monomials are those of the coordinates given, which all rows together have fixed.
    """
    pilot = prepared.distinct[0]
    weight = _row_weights(prepared, rows)
    highest = HIGHEST_DEGREE + STEP if inducing is None else HIGHEST_DEGREE
    polynomials = _independent_polynomials(prepared, scaled, weight, highest)
    columns = weight * polynomials.rows(pilot.points, pilot.scores).T
    if inducing is None:
        stages = polynomials.stages(pilot.points.shape[1])
        return Features(polynomials, None, _inverse_triangle(columns), tuple(stages))
    # phi = k_0(x, z) L^-T rather than k_0(x, z): of length one under the prior, and the ridge is the noise.
    phi = weight * solve_triangular(inducing.factor, inducing.rows(pilot.points, pilot.scores), lower=True).T
    ridge = np.sqrt(inducing.noise) * np.eye(inducing.count, columns.shape[1] + inducing.count, columns.shape[1])
    inverse = _inverse_triangle(np.vstack([np.hstack([columns, phi]), ridge]))
    inverse[-inducing.count :] = solve_triangular(inducing.factor, inverse[-inducing.count :], lower=True, trans=1)
    return Features(polynomials, inducing, inverse, (Stage("inducing", "", len(inverse)),))


def _row_weights(prepared: Prepared, rows: int) -> Float[np.ndarray, "n 1"]:
    """Roots of the rows of a sample of so many that each pilot row stands for."""
    multiplicity = prepared.distinct[0].multiplicity
    return np.sqrt(multiplicity * rows / multiplicity.sum())[:, None]


def _independent_polynomials(
    prepared: Prepared, scaled: Coordinates, weight: Float[np.ndarray, "n 1"], highest: int
) -> Polynomials:
    pilot = prepared.distinct[0]
    n, d = pilot.points.shape
    whole = prepared.coordinates((0,), prepared.systems((0,))[-1])
    degree = _degree(n, d, highest)
    axes = 3 * d + count_features(d, degree) <= min(MANY_COLUMNS, n // ROWS_PER_COLUMN)
    every = Polynomials(scaled, whole, degree, axes)
    return replace(every, kept=_independent(weight * every.rows(pilot.points, pilot.scores).T))


def _filled(rows: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n+k d"]:
    """Rows up to the next multiple of WIDTH, the first one again and again."""
    extra = -len(rows) % WIDTH
    return np.concatenate([rows, np.repeat(rows[:1], extra, axis=0)]) if extra else rows


def _degree(n: int, d: int, highest: int) -> int:
    """The highest total degree whose monomials are not too many for the rows and the work."""
    allowed = {1: MANY_COLUMNS, 2: MANY_PRODUCTS}
    fitting = [
        k
        for k in range(1, highest + 1)
        if count_features(d, k) <= min(allowed.get(k, MANY_MONOMIALS), n // ROWS_PER_COLUMN)
    ]
    return max(fitting, default=0)


def _independent(columns: Float[np.ndarray, "n p"]) -> Int[np.ndarray, " k"]:
    """The columns that do not depend on those before them."""
    length = np.linalg.norm(columns, axis=0)
    kept = np.flatnonzero(length > 0)
    while True:
        triangle = qr(columns[:, kept] / length[kept], mode="r")[0]
        dependent = np.abs(np.diag(triangle)) < DEPENDENT
        if not dependent.any():
            return kept
        kept = kept[~dependent]


def _inverse_triangle(columns: Float[np.ndarray, "n q"]) -> Float[np.ndarray, "q q"]:
    """R^-1 of the columns' QR factorisation."""
    length = np.linalg.norm(columns, axis=0)
    triangle = qr(columns / length, mode="r")[0][: len(length)]
    return solve_triangular(triangle, np.eye(len(length))) / length[:, None]
