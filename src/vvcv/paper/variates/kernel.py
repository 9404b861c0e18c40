"""Kernel-based vector-valued control variates g(x) = sum_tj K_0(x, x_tj) theta_tj (paper, eq. 9 and section 3.2).

Separable kernels K = B k (special case I), one target (special case II) and general matrix-valued kernels, under
the operators of first and second order (Theorems 3.1 and C.1), in the reduced and in the paper's parametrisation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from ...data import whole_number
from ...kernels import Kernel, MatrixKernel, Side, as_kernel
from ...linear_system.model import Model
from ...stein import SteinKernel, SteinSum, gram
from ...stein.checks import check_kernel
from .space import FeatureSpace, LinearSpace, ReducedSpace, Space
from .variate import Variate, task_matrix


@dataclass(frozen=True, eq=False)
class KernelVariate(Variate):
    """Kernel variates: a scalar kernel or function k (with B: K = B k), a matrix-valued kernel, or a Stein kernel.

    `parametrization="reduced"` has one scalar per observation, `"paper"` a coefficient in R^T per point. The latter
    wants the score of every task at all points: `scores`, one function per task, or "shared" for one target. Tasks on
    the same points with the same scores have one target already.

    >>> from vvcv.kernels import SquaredExponential
    >>> KernelVariate(SquaredExponential(2.0), order=1).separable
    True
    """

    kernel: Kernel | MatrixKernel | SteinKernel | SteinSum
    coregionalization: Any = None
    order: int = 1
    degree: int = 0
    parametrization: Literal["reduced", "paper"] = "reduced"
    scores: Sequence[Callable[[np.ndarray], np.ndarray]] | Literal["shared"] | None = None

    natural_penalty = "rkhs"

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, MatrixKernel | SteinKernel | SteinSum):
            object.__setattr__(self, "kernel", as_kernel(self.kernel))
        object.__setattr__(self, "degree", whole_number(self.degree, 0, "The degree of a semi-exact variate"))
        if self.parametrization not in ("reduced", "paper"):
            raise ValueError(f'parametrization is "reduced" or "paper", but is {self.parametrization!r}.')
        if isinstance(self.scores, str) and self.scores != "shared":
            raise ValueError(f'scores are one function per task, or "shared" for one target, but are {self.scores!r}.')
        if not self.separable and self.coregionalization is not None:
            raise ValueError(
                "coregionalization belongs to a scalar kernel, but this kernel is matrix-valued and has its own "
                "relation of tasks. Leave coregionalization out."
            )

    @property
    def stein(self) -> SteinKernel | SteinSum:
        """The Stein kernel K_0 (without B, for a scalar kernel)."""
        given = self.kernel
        return given if isinstance(given, SteinKernel | SteinSum) else SteinKernel(given, self.order)

    @property
    def separable(self) -> bool:  # type: ignore[override]
        """Whether the kernel is scalar, so that B multiplies it and may be learned."""
        return not any(term.kernel.relates_tasks for term in self.stein.terms)

    @property
    def exact_degree(self) -> int:
        """Degree of the polynomials whose Stein images enter unpenalised beside the means (semi-exact variates)."""
        return self.degree

    def task_matrix(self, tasks: int) -> Float[np.ndarray, "T T"]:
        """B: given, or the identity; all ones where the kernel holds the relation of tasks itself."""
        return task_matrix(self.coregionalization, tasks) if self.separable else np.ones((tasks, tasks))

    def space(self, rows: Side, centres: Side, tasks: int) -> LinearSpace:
        """The parametric space spanned by kernels at `centres`, seen at `rows`."""
        if self.parametrization == "reduced":
            return ReducedSpace(rows.task, gram(self.stein, rows, centres), centres.task)
        features = np.stack([gram(self.stein, rows, column) for column in self._columns(centres, tasks)])
        return FeatureSpace(rows.task, features, tasks=tasks)

    def with_norm(self, space: Space, centres: Side, tasks: int) -> Space:
        """The space with the inner products of its functions, which the paper's parametrisation needs for its norm."""
        if self.parametrization == "reduced":
            return space
        columns = self._columns(centres, tasks)
        products = np.stack([np.stack([gram(self.stein, left, right) for right in columns]) for left in columns])
        return space.with_products(products)

    def check(self, rows: Side, tasks: int) -> None:
        """Kernels must be kernels for these tasks; the paper's parametrisation needs scores of all tasks."""
        check_kernel(self.stein, rows, tasks)
        if self.parametrization == "paper" and self.scores is None and not _one_target(rows, tasks):
            raise ValueError(
                'parametrization="paper" needs the score of every task at the points of all tasks, but the tasks have '
                'different points and no score functions were given. Pass scores=[score_1, ..., score_T], or "shared" '
                'if all tasks have one target; parametrization="reduced" needs neither and gives the same function.'
            )

    def _columns(self, centres: Side, tasks: int) -> list[Side]:
        """The centres as every task sees them; one copy is enough for a scalar kernel and one target."""
        count = len(centres.task)
        if self.scores is None or isinstance(self.scores, str):
            if self.separable:
                return [centres]
            return [Side(centres.points, centres.scores, np.full(count, u)) for u in range(tasks)]
        if len(self.scores) != tasks:
            raise ValueError(f"scores must hold one function per task, but has {len(self.scores)} for {tasks} tasks.")
        return [
            Side(centres.points, np.asarray(score(np.asarray(centres.points)), float), np.full(count, u))
            for u, score in enumerate(self.scores)
        ]


class ModelVariate(KernelVariate):
    """The kernel of a covariance model, with the model beside it; a scalar Stein kernel is the same for every task."""

    model: Model

    def __init__(self, model: Model) -> None:
        super().__init__(model.kernel)
        object.__setattr__(self, "model", model)

    def task_matrix(self, tasks: int) -> Float[np.ndarray, "T T"]:
        """All ones: the kernel holds B."""
        return np.ones((tasks, tasks))


def _one_target(rows: Side, tasks: int) -> bool:
    """Whether the rows alone show one target: one task, or the same points with the same scores for all."""
    parts = [np.asarray(rows.task) == t for t in range(tasks)]
    both = [np.hstack([np.asarray(rows.points)[part], np.asarray(rows.scores)[part]]) for part in parts]
    return all(np.array_equal(both[0], other) for other in both[1:])
