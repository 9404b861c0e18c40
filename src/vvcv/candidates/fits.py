"""A solved kernel control variate of some tasks, in the user's units: means, errors, task covariance, the variate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from ..data import DIGITS, Coordinates, Prepared
from ..kernels import Kernel, Own, Separable, Side, correlation
from ..linear_system.dense import DenseSystem
from ..linear_system.design import Design, orthonormal_features
from ..linear_system.mean_errors import Errors
from ..linear_system.model import solve
from ..stein import SteinKernel, gram, polynomial_features, stein_terms, task_matrix, with_kernel
from ..tuning.search import Found


@dataclass(frozen=True, eq=False)
class KernelFit:
    """A solved kernel control variate of some tasks, in the user's units."""

    prepared: Prepared
    members: tuple[int, ...]
    coordinates: Coordinates
    found: Found
    degree: int
    pooled: bool

    @cached_property
    def design(self) -> Design:
        """The rows of the solution."""
        return build_design(self.prepared, self.members, self.coordinates, self.degree, self.pooled)

    @cached_property
    def system(self) -> DenseSystem:
        """The solved linear system."""
        return solve(self.found.model, self.design)

    @property
    def mean(self) -> Float[np.ndarray, " m"]:
        """Estimates of the members' expectations."""
        count = len(self.members)
        standard = self.system.coefficients[0] if self.pooled else self.system.coefficients[:count]
        return self._shift + self._scale * standard

    @cached_property
    def task_covariance(self) -> Float[np.ndarray, "m m"]:
        """Prior covariance B of the members' variates (in standardised values), summed over terms at typical points."""
        if self.pooled:
            weights, freedom = self.system.weights, self.design.size - self.design.columns.shape[1]
            return self.design.values.T @ weights / max(freedom, 1)
        total = np.zeros((len(self.members),) * 2)
        for term in stein_terms(self.found.model.kernel):
            total += _task_part(term, self.design)
        return total

    @property
    def task_correlation(self) -> Float[np.ndarray, "m m"]:
        """How alike the model takes the members to be."""
        return correlation(self.task_covariance)

    @cached_property
    def std_error(self) -> Float[np.ndarray, " m"]:
        """Standard errors of the means: the jackknife's or the model's, whichever is larger (`mean_errors`)."""
        return self._scale * self._errors.std_error

    @property
    def model_error(self) -> Float[np.ndarray, " m"]:
        """What the model believes the means may be off by: the square root of the diagonal of cov beta."""
        return self._scale * self._errors.model * np.ones(len(self.members))

    def left_out(self, member: int) -> Float[np.ndarray, " n"]:
        """Residuals of one member's values, each predicted from all others."""
        residual, rows = self._errors.residual, self.design.side.task == member
        return self._scale[member] * (residual[:, member] if self.pooled else residual[rows])

    @property
    def promised(self) -> Float[np.ndarray, " m"]:
        """The model's errors of the means as corrected by how wrong its beliefs about values are."""
        return self._scale * self._errors.model * self._errors.z * np.ones(len(self.members))

    @cached_property
    def merits(self) -> Float[np.ndarray, " m"]:
        """By what the members' answers are weighed against others."""
        return self._errors.merit + np.log(self._scale) - self.found.credit

    @cached_property
    def _errors(self) -> Errors:
        # Left-out residuals of a smooth fit magnify the last digits, and weights must not depend on them.
        rounded = self.design.rounded(DIGITS)
        return Errors.of(solve(self.found.model, rounded), rounded, self.found.tuned.free)

    @property
    def freedom(self) -> int:
        """Degrees of freedom a task's values have left after its columns: the smallest of any task."""
        design = self.design
        columns = design.columns.shape[1] // design.tasks
        return max(int(np.bincount(design.side.task).min()) - columns, 1)

    def variate(
        self, points: Float[np.ndarray, "k d"], scores: Float[np.ndarray, "k d"], member: int
    ) -> Float[np.ndarray, " k"]:
        """g_t at new points with their scores under the target of member t (paper, eq. 9)."""
        return evaluate_variate(self, points, scores, member)

    @property
    def _shift(self) -> Float[np.ndarray, " m"]:
        return self.prepared.shift[list(self.members)]

    @property
    def _scale(self) -> Float[np.ndarray, " m"]:
        return self.prepared.scale[list(self.members)]


def build_design(
    prepared: Prepared, members: tuple[int, ...], coordinates: Coordinates, degree: int, pooled: bool
) -> Design:
    """Rows of the members in standard coordinates; pooled members share rows and have a column of values each."""
    values = [prepared.standard_values(t) for t in members]
    sources = members[:1] if pooled else members
    rows = [prepared.distinct[t] for t in sources]
    side = Side(
        np.concatenate([coordinates.points(r.points) for r in rows]),
        np.concatenate([coordinates.scores(r.scores) for r in rows]),
        np.repeat(np.arange(len(rows)), [len(r.values) for r in rows]),
    )
    stacked = np.column_stack(values) if pooled else np.concatenate(values)
    return Design.build(side, stacked, np.concatenate([r.multiplicity for r in rows]), len(rows), degree)


def evaluate_variate(
    fit: KernelFit, points: Float[np.ndarray, "k d"], scores: Float[np.ndarray, "k d"], member: int
) -> Float[np.ndarray, " k"]:
    """Kernel part K_0(x, X) c plus polynomial part, in the units of the member's values."""
    z, s = fit.coordinates.points(points), fit.coordinates.scores(scores)
    index = 0 if fit.pooled else member
    side = Side(z, s, np.full(len(z), index))
    weights = fit.system.weights[:, member] if fit.pooled else fit.system.weights
    result = gram(fit.found.model.kernel, side, fit.design.side) @ weights
    if fit.degree:
        result = result + _polynomial_part(fit, z, s, member)
    return fit.prepared.scale[fit.members[member]] * result


def _polynomial_part(fit: KernelFit, z: np.ndarray, s: np.ndarray, member: int) -> np.ndarray:
    design, coefficients = fit.design, fit.system.coefficients
    start = design.tasks
    for task in range(design.tasks):
        rows = design.rows(task)
        _, transform = orthonormal_features(design.side.points[rows], design.side.scores[rows], fit.degree)
        width = transform.shape[1]
        if fit.pooled or task == member:
            block = coefficients[start : start + width]
            block = block[:, member] if fit.pooled else block
            return polynomial_features(z, s, fit.degree) @ (transform @ block)
        start += width
    raise AssertionError("every member has its own columns")


def _task_part(term: SteinKernel, design: Design) -> Float[np.ndarray, "m m"]:
    """One term's covariance between tasks: B times the mean of the scalar kernel's diagonal, or that of one task."""
    if isinstance(term.kernel, Separable):
        return task_matrix(term.kernel.coregionalization) * _mean_variance(term.kernel.kernel, term, design)
    part = np.zeros((design.tasks, design.tasks))
    task, kernel = (term.kernel.task, term.kernel.kernel) if isinstance(term.kernel, Own) else (0, term.kernel)
    part[task, task] = _mean_variance(kernel, term, design)
    return part


def _mean_variance(kernel: Kernel, term: SteinKernel, design: Design) -> float:
    return float(np.mean(np.diagonal(design.gram.upper(with_kernel(term, kernel)))))
