"""Exact kernel control variates for one task or several: search on rounded rows, solution on the data as they are.

`independent` fits one task by itself. `joint` fits several: on different points by the shared + own model
B k_0 + diag(k_t), on shared points by one covariance for all (every B then gives the same estimate, design of
autokrigeability). Both return a `KernelFit` in the user's units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float

from ..data import DIGITS, Coordinates, Prepared
from ..kernels import Kernel, Own, Separable, Side, correlation
from ..stein import SteinKernel, gram, polynomial_features, stein_terms, task_matrix
from .design import Design, orthonormal_features
from .families import CANDIDATES, change_family, scalar_model, separable_model, shared_and_own
from .model import Criterion, solve
from .search import FROM_NOTHING, Found, promised_errors, refit, search

#: Rows beyond which hyperparameters are chosen on a part of the data (the solution always uses all).
MOST_TUNING_ROWS = 1000

#: Tasks whose promised errors are on average this many times smaller when fitted together clearly inform each other.
CLEARLY_ALIKE = 2.0


@dataclass(frozen=True)
class Options:
    """How hyperparameters are chosen."""

    families: tuple[str, ...] = CANDIDATES
    criterion: Criterion = "reml"
    order: int = 1


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
    def system(self):
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
        """Standard errors of the means: the model's, corrected by left-out residuals."""
        return self._scale * promised_errors(self.system, self.design, self.found.tuned.count)

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


def independent(prepared: Prepared, task: int, options: Options) -> KernelFit:
    """The scalar kernel control variate of one task (control functionals, paper section 2)."""
    return _searched(prepared, (task,), options, lambda f, d, l: scalar_model(f, d, l, options.order), pooled=False)


def joint(prepared: Prepared, members: tuple[int, ...], own: dict[int, KernelFit], options: Options) -> KernelFit:
    """The vector-valued control variate of several tasks; `own` holds their independent fits, as starts."""
    if prepared.tasks.share_points:
        return _searched(prepared, members, options, lambda f, d, l: scalar_model(f, d, l, options.order), pooled=True)
    covariance = _start_covariance(prepared, members)
    separable = _searched(
        prepared, members, options, lambda f, d, l: separable_model(f, d, l, covariance, options.order), pooled=False
    )
    candidates = [separable, *_shared_and_own(prepared, separable, own, options)]
    return min(candidates, key=lambda fit: fit.found.score)


def semi_exact(fit: KernelFit, degree: int, options: Options) -> KernelFit:
    """The same kernel with polynomial columns of total degree `degree` for every task, tuned again from there.

    What the polynomials take away may leave a smoother rest, so the smoothest family gets another chance.
    """
    design = _tuning_design(fit.prepared, fit.members, fit.coordinates, degree, fit.pooled)
    found = []
    for family in dict.fromkeys((fit.found.family, options.families[0])):
        start = change_family(fit.found.model, family)
        found.append(refit(fit.found, design, start, options.criterion, family=family))
    return replace(fit, found=min(found, key=lambda f: f.score), degree=degree)


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


def _searched(prepared: Prepared, members: tuple[int, ...], options: Options, start, pooled: bool) -> KernelFit:
    coordinates = {s: prepared.coordinates(members, s) for s in prepared.systems(members)}
    designs = {s: _tuning_design(prepared, members, c, 0, pooled) for s, c in coordinates.items()}
    found = search(designs, start, options.families, options.criterion)
    return KernelFit(prepared, members, coordinates[found.system], found, 0, pooled)


def _tuning_design(prepared: Prepared, members, coordinates: Coordinates, degree: int, pooled: bool) -> Design:
    return build_design(prepared, members, coordinates, degree, pooled).rounded(DIGITS).thinned(MOST_TUNING_ROWS)


def _shared_and_own(
    prepared: Prepared, separable: KernelFit, own: dict[int, KernelFit], options: Options
) -> list[KernelFit]:
    """The shared + own model from two starts: almost all shared and, unless tasks are clearly alike, almost all own."""
    members, coordinates, found = separable.members, separable.coordinates, separable.found
    own_models = []
    for task in members:
        design = _tuning_design(prepared, (task,), coordinates, 0, False)
        start = change_family(own[task].found.model, found.family)
        own_models.append(refit(own[task].found, design, start, options.criterion).model)
    design = _tuning_design(prepared, members, coordinates, 0, False)
    alone = sum(own[task].found.score for task in members)
    clearly_alike = found.score < alone - len(members) * np.log(CLEARLY_ALIKE)
    fits = []
    for shared_part in (0.99,) if clearly_alike else (0.99, 0.01):
        start = shared_and_own(found.model, own_models, shared_part, 1 - shared_part)
        fits.append(replace(separable, found=refit(found, design, start, options.criterion, FROM_NOTHING)))
    return fits


def _start_covariance(prepared: Prepared, members: tuple[int, ...]) -> Float[np.ndarray, "m m"]:
    """A first B from how alike the linear parts of the tasks are, shrunk towards the identity."""
    coordinates = prepared.coordinates(members, "scaled")
    slopes = []
    for task in members:
        rows = prepared.distinct[task]
        scores = coordinates.scores(rows.scores)
        columns = np.hstack([np.ones((len(scores), 1)), scores])
        ridge = 0.1 * len(scores) * np.eye(columns.shape[1])
        ridge[0, 0] = 0.0
        slopes.append(np.linalg.solve(columns.T @ columns + ridge, columns.T @ prepared.standard_values(task))[1:])
    slopes = np.array(slopes)
    norms = np.linalg.norm(slopes, axis=1) + 1e-12
    alike = np.round((slopes @ slopes.T) / np.outer(norms, norms), DIGITS)
    return 0.2 * np.eye(len(members)) + 0.8 * alike


def _task_part(term: SteinKernel, design: Design) -> Float[np.ndarray, "m m"]:
    """One term's covariance between tasks: B times the mean of the scalar kernel's diagonal, or that of one task."""
    if isinstance(term.kernel, Separable):
        return task_matrix(term.kernel.coregionalization) * _mean_variance(term.kernel.kernel, term, design)
    part = np.zeros((design.tasks, design.tasks))
    task, kernel = (term.kernel.task, term.kernel.kernel) if isinstance(term.kernel, Own) else (0, term.kernel)
    part[task, task] = _mean_variance(kernel, term, design)
    return part


def _mean_variance(kernel: Kernel, term: SteinKernel, design: Design) -> float:
    return float(np.mean(np.diagonal(design.gram.upper(term.with_kernel(kernel)))))
