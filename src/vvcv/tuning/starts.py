"""Starting models: the radial families a kernel is chosen from, and the shapes a model may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from ..kernels import Full, Kernel, Matern, Own, Radial, RationalQuadratic, Separable, SquaredExponential
from ..linear_system.design import Design
from ..linear_system.model import Model
from ..stein import SteinKernel, SteinSum

Family = Callable[..., Radial]

#: Families by name, from smooth to rough.
FAMILIES: dict[str, Family] = {
    "squared-exponential": SquaredExponential,
    "rational-quadratic": lambda lengthscale: RationalQuadratic(lengthscale, alpha=2.0),
    "matern-7/2": lambda lengthscale: Matern(lengthscale, nu=3.5),
    "matern-5/2": lambda lengthscale: Matern(lengthscale, nu=2.5),
    "matern-3/2": lambda lengthscale: Matern(lengthscale, nu=1.5),
}

#: What the data choose from by default: the first is tried with every shape, the others from its optimum.
CANDIDATES = ("squared-exponential", "matern-5/2", "matern-3/2")

#: Relative noise of a start that takes values for exact: the first factorisation works, and the search goes down from
#: there.
START_NOISE = 1e-6

#: Variance of parts that are put beside a tuned kernel, in units of its own: enough for a gradient, too
#: little to lose the kernel's optimum.
SMALL_PART = 1e-3

#: How far from one the correlation of tasks starts that are taken for one function: at one their covariance is singular
#: where points coincide.
ALMOST_ONE = 1e-6


def scalar_model(
    family: str | Kernel, design: Design, lengthscale: float, noise: float = START_NOISE, order: int = 1
) -> Model:
    """One kernel for one task."""
    return _unit_variance(Model(_stein(family, design, lengthscale, order), np.full(design.tasks, noise)), design)


def separable_model(
    family: str | Kernel,
    design: Design,
    lengthscale: float,
    tasks_covariance: np.ndarray,
    noise: float = START_NOISE,
    order: int = 1,
) -> Model:
    """B k(x, y) with a full B (special case I)."""
    scalar = _stein(family, design, lengthscale, order)
    joint = eqx.tree_at(lambda s: s.kernel, scalar, Separable(Full(tasks_covariance), scalar.kernel))
    return _unit_variance(Model(joint, np.full(design.tasks, noise)), design)


def one_function(tasks_covariance: Float[np.ndarray, "T T"]) -> Float[np.ndarray, "T T"]:
    """The covariance of tasks that are one function up to scale and sign, almost: rank one, signs as in a first B.

    A separable likelihood often has a second optimum near there, which no path from a looser B leads to.
    """
    spread = np.sqrt(np.diag(tasks_covariance))
    lead = np.linalg.eigh(tasks_covariance / np.outer(spread, spread))[1][:, -1]
    sign = np.where(lead >= 0, spread, -spread)
    return (1 - ALMOST_ONE) * np.outer(sign, sign) + ALMOST_ONE * np.diag(spread**2)


def with_task_matrix(model: Model, tasks_covariance: Float[np.ndarray, "T T"]) -> Model:
    """B k with another B."""
    return eqx.tree_at(lambda m: m.kernel.kernel.coregionalization, model, Full(tasks_covariance))


def with_axes(model: Model, design: Design, weights: Float[np.ndarray, " d"]) -> Model:
    """The same model of the same variance, its axes weighted."""
    weighted = eqx.tree_at(lambda m: m.kernel.log_axes, model, model.kernel.log_axes + np.log(weights))
    return _unit_variance(weighted, design)


def on_tasks(scalar: Model, tasks_covariance: Float[np.ndarray, "T T"], own: list[Model]) -> Model:
    """B k(x, y) with the kernel of one task's model and the noise of each task's own."""
    joint = eqx.tree_at(lambda s: s.kernel, scalar.kernel, Separable(Full(tasks_covariance), scalar.kernel.kernel))
    return Model(joint, np.exp(np.concatenate([model.log_noise for model in own])))


def shared_and_own(shared: Model, own: Mapping[int, Model], shared_part: float) -> Model:
    """B k_0 + diag(k_t): the separable model and those of some tasks' own, weighted, as one start."""
    joint = _scale(shared.kernel, shared_part)
    terms = [joint]
    for task, model in own.items():
        term = _scale(model.kernel, 1 - shared_part)
        terms.append(eqx.tree_at(lambda s: s.kernel, term, Own(term.kernel, task)))
    return eqx.tree_at(lambda m: m.kernel, shared, SteinSum(tuple(terms)))


def with_parts(model: Model, design: Design, small: bool = False) -> Model:
    """The same model with parts beside its kernel: all alike, or small ones, together of its variance."""
    count = len(design.rows_of_ridge.scale)
    share = SMALL_PART if small else 1 / (count + 1)
    kernel = model.kernel if small else _scale(model.kernel, share)
    return Model(kernel, np.exp(model.log_noise), np.full(count, share * _mean_diagonal(model, design)))


def change_family(model: Model, family: str | Kernel) -> Model:
    """The same model with every radial kernel replaced by one of another family at the same lengthscales."""
    if isinstance(family, Kernel):
        return model  # a kernel of the user's own has no neighbours

    def replace(node):
        return FAMILIES[family](np.exp(node.log_lengthscale)) if isinstance(node, Radial) else node

    return jax.tree.map(replace, model, is_leaf=lambda node: isinstance(node, Radial))


def in_other_units(model: Model, unit: Float[np.ndarray, " d"]) -> Model:
    """The same model of one radial kernel where each coordinate is measured in units so many times smaller.

    Lengths grow with it; weights of the axes twice, with the square of the scores they are multiplied by.
    """
    log, stein = np.log(unit), model.kernel
    stein = eqx.tree_at(lambda s: s.kernel.log_lengthscale, stein, stein.kernel.log_lengthscale + log)
    stein = eqx.tree_at(lambda s: s.log_axes, stein, stein.log_axes + 2 * log)
    return eqx.tree_at(lambda m: m.kernel, model, stein)


def without_noise(model: Model) -> Model:
    """The same model with no more noise than a search starts from."""
    return eqx.tree_at(lambda m: m.log_noise, model, np.full(np.shape(model.log_noise), np.log(START_NOISE)))


def _stein(family: str | Kernel, design: Design, lengthscale: float, order: int) -> SteinKernel:
    d = design.side.points.shape[1]
    kernel = family if isinstance(family, Kernel) else FAMILIES[family](np.full(d, lengthscale))
    return SteinKernel(kernel, order, np.ones(d))


def _scale(kernel: SteinKernel, factor: float) -> SteinKernel:
    return eqx.tree_at(lambda s: s.log_axes, kernel, kernel.log_axes + np.log(factor))


def _unit_variance(model: Model, design: Design) -> Model:
    """Scale the axes so that the kernel's mean variance is one, that of standardised values."""
    return eqx.tree_at(lambda m: m.kernel, model, _scale(model.kernel, 1.0 / _mean_diagonal(model, design)))


def _mean_diagonal(model: Model, design: Design) -> float:
    return float(np.mean(design.gram.diagonal(model.kernel)))
