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

from ...kernels import Kernel, MatrixKernel, Side
from ...linear_system.model import Model
from ...stein import SteinKernel, SteinSum, gram, stein_terms
from .space import FeatureSpace, LinearSpace, ReducedSpace, Space
from .variate import Variate, task_matrix


@dataclass(frozen=True, eq=False)
class KernelVariate(Variate):
    """Kernel variates: a scalar kernel k (with B: K = B k), a matrix-valued kernel, or a Stein kernel ready made.

    `parametrization="reduced"` has one scalar per observation, `"paper"` a coefficient in R^T per point. When targets
    differ, the latter wants `scores`, one score function of all points per task; without them it takes one target.

    >>> from vvcv.kernels import SquaredExponential
    >>> KernelVariate(SquaredExponential(2.0), order=1).separable
    True
    """

    kernel: Kernel | MatrixKernel | SteinKernel | SteinSum
    coregionalization: Any = None
    order: int = 1
    degree: int = 0
    parametrization: Literal["reduced", "paper"] = "reduced"
    scores: Sequence[Callable[[np.ndarray], np.ndarray]] | None = None

    natural_penalty = "rkhs"

    def __post_init__(self) -> None:
        if self.parametrization not in ("reduced", "paper"):
            raise ValueError(f'parametrization is "reduced" or "paper", but is {self.parametrization!r}.')
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
        return all(isinstance(term.kernel, Kernel) for term in stein_terms(self.stein))

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

    def _columns(self, centres: Side, tasks: int) -> list[Side]:
        """The centres as every task sees them; one copy is enough for a scalar kernel and one target."""
        if self.scores is None and self.separable:
            return [centres]
        count = len(centres.task)
        if self.scores is None:
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
