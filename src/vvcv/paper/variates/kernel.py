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
from ...stein import SteinKernel, SteinSum, gram, stein_terms
from .space import FeatureSpace, LinearSpace, ReducedSpace


@dataclass(frozen=True, eq=False)
class KernelVariate:
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
    def separable(self) -> bool:
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
        columns = self._columns(centres, tasks)
        features = np.stack([gram(self.stein, rows, column) for column in columns])
        products = None
        if rows is centres:  # The norm is only asked of the space over its own centres.
            products = np.stack([np.stack([gram(self.stein, left, right) for right in columns]) for left in columns])
        return FeatureSpace(rows.task, features, products, tasks=tasks)

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


def task_matrix(given: Any, tasks: int) -> Float[np.ndarray, "T T"]:
    """B as an array: the identity for None, else symmetric positive semi-definite of the right size.

    >>> task_matrix(None, 2)
    array([[1., 0.],
           [0., 1.]])
    """
    if given is None:
        return np.eye(tasks)
    matrix = np.asarray(given.matrix() if hasattr(given, "matrix") else given, dtype=float)
    if matrix.shape != (tasks, tasks):
        raise ValueError(f"B must be {tasks} x {tasks}, one row per task, but has shape {matrix.shape}.")
    if not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T):
        raise ValueError("B must be finite and symmetric: B_tt' is a covariance between tasks.")
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest < -1e-10 * max(float(np.abs(matrix).max()), 1e-300):
        raise ValueError(
            f"B must be positive semi-definite, but has the eigenvalue {smallest:g}. A covariance of tasks is."
        )
    return matrix
