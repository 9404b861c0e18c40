"""Exact kernel control variates for one task or several: search on rounded rows, solution on the data as they are.

`independent` fits one task by itself. `joint` fits several: on different points by the shared + own model
B k_0 + diag(k_t), on shared points by one covariance for all, where every B gives the same estimate. Both return a
`KernelFit` in the user's units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from ..data import DIGITS, Coordinates, Prepared
from ..kernels import Kernel
from .design import Design
from .families import CANDIDATES, change_family, scalar_model, separable_model, shared_and_own
from .kernel_fit import KernelFit, build_design
from .model import Criterion
from .search import FROM_NOTHING, refit, search

#: Rows beyond which hyperparameters are chosen on a part of the data (the solution always uses all).
MOST_TUNING_ROWS = 1000

#: Tasks whose promised errors are on average this many times smaller when fitted together clearly inform each other.
CLEARLY_ALIKE = 2.0


@dataclass(frozen=True)
class Options:
    """How hyperparameters are chosen."""

    families: tuple[str | Kernel, ...] = CANDIDATES
    criterion: Criterion = "reml"
    order: int = 1


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
    parts = []
    for task in members:
        rows = prepared.distinct[task]
        scores = coordinates.scores(rows.scores)
        columns = np.hstack([np.ones((len(scores), 1)), scores])
        ridge = 0.1 * len(scores) * np.eye(columns.shape[1])
        ridge[0, 0] = 0.0
        parts.append(np.linalg.solve(columns.T @ columns + ridge, columns.T @ prepared.standard_values(task))[1:])
    slopes = np.array(parts)
    norms = np.linalg.norm(slopes, axis=1) + 1e-12
    alike = np.round((slopes @ slopes.T) / np.outer(norms, norms), DIGITS)
    return 0.2 * np.eye(len(members)) + 0.8 * alike
