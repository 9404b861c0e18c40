"""What a fit sees: rows in standard coordinates, in an order of its own, with the columns that stand for the means.

    values = A beta + g(x) + noise,   A = [task indicators | Stein images of polynomials, task by task | of growth]

The first T columns of A are the indicators, so the first T coefficients are the expectations (paper, eq. 8).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import qr, solve_triangular

from ..data import rounded
from ..kernels import Side
from ..runtime.once import cached_property
from ..stein import Gram, Ridge, polynomial_features

#: Rows that each task keeps of a sample that is thinned: a share of the whole like every other task, but no fewer than
#: tell its noise from its variance, and all where it has no more than the second, however many others have.
FEW, MANY = 8, 20


@dataclass(frozen=True, eq=False)
class Design:
    """Rows of all tasks, sorted by task.

    Rows of Markov chains come in blocks of neighbours, and rows of several tasks may lie at one point: they predict
    each other too well, and are left out together. Of functions with a weight, rows and columns are divided by it.
    Multiplicities count relative to their mean in each task, so that doubling a whole data set changes nothing.
    """

    side: Side
    values: Float[np.ndarray, " N *m"]
    multiplicity: Float[np.ndarray, " N"]
    columns: Float[np.ndarray, "N q"]
    tasks: int
    ridge: Ridge | None = None
    block: Int[np.ndarray, " N"] | None = None
    point: Int[np.ndarray, " N"] | None = None
    weight: Float[np.ndarray, " N"] | None = None

    @classmethod
    def build(
        cls,
        side: Side,
        values: np.ndarray,
        multiplicity: np.ndarray,
        tasks: int,
        degree: int = 0,
        ridge: Ridge | None = None,
        block: np.ndarray | None = None,
        point: np.ndarray | None = None,
        weight: np.ndarray | None = None,
        images: np.ndarray | None = None,
    ) -> Design:
        """A design with task indicators and, for degree > 0, semi-exact polynomial columns for every task.

        With a weight w, values are w times what is fitted: rows of the values and indicators given are divided by it.
        Stein images that are given come last, as they are.
        """
        indicators = (side.task[:, None] == np.arange(tasks)[None, :]).astype(float)
        if weight is not None:
            indicators, values = indicators / weight[:, None], (values.T / weight).T
        design = cls(side, values, multiplicity, indicators, tasks, ridge, block, point, weight)
        design = design.with_polynomials(degree) if degree else design
        return design if images is None else replace(design, columns=np.hstack([design.columns, images]))

    @property
    def size(self) -> int:
        """Number of rows N."""
        return len(self.values)

    @property
    def means(self) -> int:
        """Number of expectations: one for each task, or for each column of values where tasks share their rows."""
        return self.tasks if self.values.ndim == 1 else self.values.shape[1]

    @cached_property
    def gram(self) -> Gram:
        """The Gram matrix of the rows, for any kernel."""
        return Gram(self.side)

    @property
    def rows_of_ridge(self) -> Ridge:
        """The rows as the parts of a model see them."""
        if self.ridge is None:
            raise ValueError("A model with parts needs a design that has them.")
        return self.ridge

    @cached_property
    def counts(self) -> Int[np.ndarray, " T"]:
        """Rows of each task."""
        return np.bincount(self.side.task, minlength=self.tasks)

    @cached_property
    def noise_weight(self) -> Float[np.ndarray, " N"]:
        """By how much each row multiplies its task's noise variance: mean multiplicity over its own."""
        mean = np.bincount(self.side.task, weights=self.multiplicity, minlength=self.tasks) / self.counts
        return mean[self.side.task] / self.multiplicity

    @cached_property
    def folds(self) -> list[Int[np.ndarray, " k"]] | None:
        """The rows that are left out together, of each block or at each point; none where every row stands alone."""
        labels = [label for label in (self.block, self.point) if label is not None]
        if not labels:
            return None
        label = labels[0] if len(labels) == 1 else _joined(*labels)
        order = np.argsort(label, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(label[order])) + 1)

    def with_others_there(self, rows: Int[np.ndarray, " k"]) -> Int[np.ndarray, " m"]:
        """The rows, and those of other tasks at their points."""
        return rows if self.point is None else np.flatnonzero(np.isin(self.point, self.point[rows]))

    def rows(self, task: int) -> Int[np.ndarray, " n"]:
        """Indices of the rows of one task."""
        return self._rows[task]

    @cached_property
    def _rows(self) -> list[Int[np.ndarray, " n"]]:
        return [np.flatnonzero(self.side.task == task) for task in range(self.tasks)]

    def task_means(self, numbers: Float[np.ndarray, " N *m"]) -> Float[np.ndarray, " T"]:
        """Means over the rows of each task, or of each column where tasks share their rows."""
        if numbers.ndim == 2:
            return numbers.mean(axis=0)
        return np.bincount(self.side.task, weights=numbers, minlength=self.tasks) / self.counts

    def only(self, task: int) -> Design:
        """The design of one task alone, with its indicator as the only column."""
        rows = self.rows(task)
        side = Side(self.side.points[rows], self.side.scores[rows], np.zeros(rows.size, dtype=int))
        return Design.build(side, self.values[rows], self.multiplicity[rows], 1)

    def thinned(self, most: int) -> Design:
        """At most about `most` rows, evenly spread over each task, for choosing hyperparameters of large samples."""
        if self.size <= most:
            return self
        kept, fewest = [], min(MANY, max(most // self.tasks, FEW))
        for task in range(self.tasks):
            rows = self.rows(task)
            count = max(min(rows.size, fewest), round(most * rows.size / self.size))
            # Rows are sorted by their distance from the middle: a fixed shuffle, not the first ones, represents all.
            kept.append(np.sort(np.random.default_rng(0).permutation(rows)[:count]))
        rows = np.concatenate(kept)
        side = Side(*(a[rows] for a in self.side))
        return replace(
            self,
            side=side,
            values=self.values[rows],
            multiplicity=self.multiplicity[rows],
            columns=self.columns[rows],
            ridge=None if self.ridge is None else self.ridge.take(rows),
            block=None if self.block is None else self.block[rows],
            point=None if self.point is None else self.point[rows],
            weight=None if self.weight is None else self.weight[rows],
        )

    def rounded(self) -> Design:
        """The same design with its last digits gone, for decisions that must not depend on them."""
        side = Side(rounded(self.side.points), rounded(self.side.scores), self.side.task)
        ridge = None if self.ridge is None else self.ridge.mapped(rounded)
        return replace(self, side=side, values=rounded(self.values), columns=rounded(self.columns), ridge=ridge)

    def with_polynomials(self, degree: int) -> Design:
        """Add the Stein images of all monomials up to `degree`, separately for every task."""
        blocks = [self.columns[:, : self.tasks]]
        for task in range(self.tasks):
            rows = self.rows(task)
            basis, _ = orthonormal_features(self.side.points[rows], self.side.scores[rows], degree)
            block = np.zeros((self.size, basis.shape[1]))
            block[rows] = basis
            blocks.append(block)
        return replace(self, columns=np.hstack(blocks))


def _joined(first: Int[np.ndarray, " N"], second: Int[np.ndarray, " N"]) -> Int[np.ndarray, " N"]:
    """A label for each row, the same for rows that are linked, one by one, by either of theirs."""
    label, before = np.arange(first.size), np.empty(0, dtype=int)
    while not np.array_equal(label, before):
        before = label
        for group in (first, second):
            least = np.full(group.max() + 1, label.size)
            np.minimum.at(least, group, label)
            label = least[group]
    return label


def orthonormal_features(
    points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"], degree: int
) -> tuple[Float[np.ndarray, "n q"], Float[np.ndarray, "p q"]]:
    """Polynomial Stein features times a matrix that makes them well conditioned, and that matrix.

    Columns that depend linearly on the constant and the others (rank-deficient points) are left out.
    """
    features = polynomial_features(points, scores, degree)
    scale = np.sqrt(np.mean(features**2, axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    with_constant = np.hstack([np.ones((len(points), 1)), features / scale])
    centred = with_constant[:, 1:] - with_constant[:, 1:].mean(axis=0)
    _, triangle, order = qr(centred, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(triangle))
    rank = int(np.sum(pivots > 1e-10 * max(pivots[0], 1e-300))) if pivots.size else 0
    kept = np.sort(order[:rank])
    upper = qr(with_constant[:, 1:][:, kept], mode="economic")[1] / np.sqrt(len(points))
    transform = np.zeros((features.shape[1], rank))
    transform[kept] = solve_triangular(upper, np.eye(rank)) if rank else np.zeros((0, 0))
    transform /= scale[:, None]
    return features @ transform, transform
