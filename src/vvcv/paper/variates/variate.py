"""What a variate is asked for: its parametric space at given rows, its task matrix B, and its natural penalty."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from ...kernels import Coregionalization, Full, Side
from ...kernels.coregionalization import task_covariance
from ...runtime.precision import float64
from .space import Penalty, Space


class Variate(ABC):
    """A family of control variates: `space` sees it at rows of data, spanned by functions at `centres`."""

    #: A scalar family: B multiplies it, and may be learned.
    separable: ClassVar[Any] = True
    natural_penalty: ClassVar[Penalty] = "euclidean"
    coregionalization: Any

    @abstractmethod
    def space(self, rows: Side, centres: Side, tasks: int) -> Space:
        """The parametric space, seen at `rows`."""

    def check(self, rows: Side, tasks: int) -> None:  # noqa: B027  (nothing to check is an answer)
        """Raise a ValueError where what the user wrote cannot be a variate for these rows."""

    def with_norm(self, space: Space, centres: Side, tasks: int) -> Space:
        """The space over its own centres with all that the norm of its RKHS needs."""
        return space

    @property
    def exact_degree(self) -> int:
        """Degree of the polynomials whose Stein images enter unpenalised beside the means (semi-exact variates)."""
        return 0

    def task_matrix(self, tasks: int) -> Float[np.ndarray, "T T"]:
        """B: given, or the identity."""
        return task_matrix(self.coregionalization, tasks)

    def task_form(self, tasks: int) -> Coregionalization:
        """The form of B with its parameters: what was given, or any positive definite matrix from B on."""
        matrix, given = self.task_matrix(tasks), self.coregionalization
        return given if isinstance(given, Coregionalization) else Full(matrix)


@dataclass(frozen=True, eq=False)
class Rung(Variate):
    """A rung of the ladder by its name: its variates are chosen by restricted likelihood.

    >>> Rung("vv").name
    'vv'
    """

    name: str
    coregionalization = None

    def space(self, rows: Side, centres: Side, tasks: int) -> Space:
        raise ValueError(
            f"A rung by name, here {self.name!r}, has its kernel chosen by RestrictedLikelihood. Leave the selection "
            "out, or pass a variate such as KernelVariate(kernel) for the other selections."
        )


def task_matrix(given: Any, tasks: int) -> Float[np.ndarray, "T T"]:
    """B as an array: the identity for None, else symmetric positive semi-definite of the right size.

    >>> task_matrix(None, 2)
    array([[1., 0.],
           [0., 1.]])
    """
    if given is None:
        return np.eye(tasks)
    matrix = np.asarray(float64(given.matrix)() if isinstance(given, Coregionalization) else given, dtype=float)
    if matrix.shape != (tasks, tasks):
        raise ValueError(f"B must be {tasks} x {tasks}, one row per task, but has shape {matrix.shape}.")
    task_covariance(matrix)
    return matrix
