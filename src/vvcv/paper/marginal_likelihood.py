"""Kernel hyperparameters by the marginal likelihood (paper, D.2), on all data or on mini-batches.

    nu* = argmax -1/2 sum_t [ f_t' (K_t(nu) + lambda I)^-1 f_t + log det(K_t(nu) + lambda I) ]

Scalar kernels have B = I; a matrix-valued kernel relates the tasks itself, and all rows stand in one covariance. The
mini-batch version is the paper's: Adam on one small batch of every task at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize

from ..data import Tasks, as_tasks, is_number, one_of, require, whole_number
from ..kernels import Kernel, MatrixKernel, Side
from ..runtime.precision import float64
from ..stein import SteinKernel, gram, pullback
from .batches import make_batches, shuffled_rows
from .splits import as_generator

#: A scalar kernel, the same for every task with B = I, or a matrix-valued one with a relation of tasks of its own.
AnyKernel = Kernel | MatrixKernel


class Chosen(NamedTuple):
    """A kernel at chosen hyperparameters, and the log marginal likelihood on all data before and after."""

    kernel: Any
    before: float
    after: float


@dataclass(frozen=True)
class MarginalLikelihood:
    """All data at once, by L-BFGS from the kernel's own hyperparameters, which move by at most `reach` in logarithm.

    `constant` adds a constant kernel, which lets values have a mean; the paper's formula has none.
    """

    regularization: float = 1e-6
    order: int = 1
    constant: float = 0.0
    evaluations: int = 100
    reach: float = 6.0

    def __post_init__(self) -> None:
        _keep_whole(self, "evaluations", 1, "The number of evaluations")
        _check_between("reach", self.reach, 0, np.inf)
        _check_model(self)

    def choose(self, kernel: AnyKernel, tasks: Tasks, seed: int | jax.Array) -> AnyKernel:
        """The kernel at a maximum on all data; nothing is random."""
        return _all_data(kernel, tasks, self)


@dataclass(frozen=True)
class MiniBatchMarginalLikelihood:
    """The paper's version: Adam over mini-batches of every task, on the squares of the positive hyperparameters.

    As in the authors' program, a constant kernel is added for the mean, squares are kept above `smallest`, the rate is
    multiplied by `decay` after each batch, and the nugget grows tenfold until the condition is below `condition`.
    """

    epochs: int = 20
    batch_size: int = 10
    learning_rate: float = 0.05
    decay: float = 0.99
    regularization: float = 1e-6
    condition: float = 1e6
    constant: float = 1.0
    smallest: float = 1e-3
    order: int = 1

    def __post_init__(self) -> None:
        _keep_whole(self, "epochs", 0, "The number of epochs")
        _keep_whole(self, "batch_size", 1, "The batch size, over all tasks,")
        _check_between("condition", self.condition, 1, np.inf)
        for name in ("learning_rate", "decay", "smallest"):
            _check_between(name, getattr(self, name), 0, np.inf)
        _check_model(self)

    def choose(self, kernel: AnyKernel, tasks: Tasks, seed: int | jax.Array) -> AnyKernel:
        """The kernel where Adam ends."""
        return _mini_batches(kernel, tasks, self, seed)


def _check_model(settings: MarginalLikelihood | MiniBatchMarginalLikelihood) -> None:
    one_of(settings.order, (1, 2), "The order of the Langevin operator")
    _check_between("regularization", settings.regularization, 0, np.inf)
    require(
        is_number(settings.constant) and 0 <= settings.constant < np.inf,
        f"constant, the variance of the values' mean, must be finite and not negative, but is {settings.constant!r}.",
    )


def _keep_whole(settings: Any, name: str, least: int, what: str) -> None:
    object.__setattr__(settings, name, whole_number(getattr(settings, name), least, what))


def _check_between(name: str, value: Any, low: float, high: float) -> None:
    fine = is_number(value) and low < value < high
    require(fine, f"{name} must be a number between {low:g} and {high:g}, but is {value!r}.")


@float64
def log_marginal_likelihood(
    kernel: AnyKernel, tasks: Tasks, regularization: float, order: int = 1, constant: float = 0.0
) -> float:
    """The paper's criterion (D.2), without the term in 2 pi.

    >>> from vvcv.kernels import SquaredExponential
    >>> x = np.zeros((1, 1))
    >>> log_marginal_likelihood(SquaredExponential(), Tasks.shared(x, x, np.ones((1, 1))), 1.0).__round__(6)
    -0.596574
    """
    try:
        return -_value_and_gradient(SteinKernel(kernel, order), as_tasks(tasks), regularization, constant)[0]
    except LinAlgError as error:
        raise ValueError(
            f"K + lambda I must be positive definite, but with lambda = {regularization!r} it is not within rounding "
            f"({error}). Raise the regularization."
        ) from None


@float64
def maximise_marginal_likelihood(
    kernel: AnyKernel,
    tasks: Tasks,
    settings: MarginalLikelihood | MiniBatchMarginalLikelihood,
    seed: int | jax.Array = 0,
) -> Chosen:
    """The kernel at the hyperparameters that the marginal likelihood prefers."""
    tasks = as_tasks(tasks)
    chosen = settings.choose(kernel, tasks, seed)
    fixed = (settings.regularization, settings.order, settings.constant)
    return Chosen(chosen, *(log_marginal_likelihood(k, tasks, *fixed) for k in (kernel, chosen)))


def _value_and_gradient(
    stein: SteinKernel, tasks: Tasks, regularization: float, constant: float
) -> tuple[float, SteinKernel]:
    """Minus the criterion and its gradient: dL/dW = (W^-1 - W^-1 f f' W^-1) / 2, pulled back to parameters."""
    value, gradient = 0.0, jax.tree.map(np.zeros_like, stein)
    for rows in _blocks(stein, tasks):
        side, values = Side(tasks.points[rows], tasks.scores[rows], tasks.task[rows]), tasks.values[rows]
        means = constant * (side.task[:, None] == side.task)
        factor = cho_factor(gram(stein, side) + means + regularization * np.eye(len(values)), lower=True)
        solved, inverse = cho_solve(factor, values), cho_solve(factor, np.eye(len(values)))
        value += 0.5 * float(values @ solved) + float(np.sum(np.log(np.diag(factor[0]))))
        part = pullback(stein, side, 0.5 * (inverse - np.outer(solved, solved)))
        gradient = jax.tree.map(np.add, gradient, part)
    return value, gradient


def _blocks(stein: SteinKernel, tasks: Tasks) -> list[np.ndarray]:
    """Rows that depend on each other: those of each task (B = I), or all where the kernel relates the tasks."""
    if stein.kernel.relates_tasks:
        return [np.arange(len(tasks.task))]
    return [np.flatnonzero(tasks.task == t) for t in range(len(tasks))]


def _all_data(kernel: AnyKernel, tasks: Tasks, settings: MarginalLikelihood) -> AnyKernel:
    free, rebuild = _flatten(kernel)
    if free.size == 0:
        return kernel

    def objective(vector: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            stein = SteinKernel(rebuild(vector), settings.order)
            value, gradient = _value_and_gradient(stein, tasks, settings.regularization, settings.constant)
        except LinAlgError:
            return 1e15, np.zeros_like(vector)
        return value, _flatten(gradient.kernel)[0]

    bounds = [(v - settings.reach, v + settings.reach) for v in free]
    result = minimize(
        objective, free, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxfun": settings.evaluations}
    )
    return rebuild(result.x)


def _mini_batches(
    kernel: AnyKernel, tasks: Tasks, settings: MiniBatchMarginalLikelihood, seed: int | jax.Array
) -> AnyKernel:
    arrays, static = eqx.partition(jax.tree.map(jnp.asarray, kernel), eqx.is_inexact_array)
    squares = jax.tree.map(lambda leaf: jnp.exp(2 * leaf), arrays)
    batches = make_batches(tasks.sizes, min(settings.batch_size, sum(tasks.sizes)))
    side = Side(*(jnp.asarray(a) for a in (tasks.points, tasks.scores, tasks.task)))
    orders = shuffled_rows(as_generator(seed), tasks.task, settings.epochs)
    rows = orders[:, batches.positions]
    moved = _adam(settings, static, squares, side, jnp.asarray(tasks.values), rows, batches.weights)
    return eqx.combine(jax.tree.map(lambda square: np.asarray(0.5 * jnp.log(square)), moved), static)


@eqx.filter_jit
def _adam(settings, static, squares, side, values, rows, weights):
    optimizer = optax.scale_by_adam()

    def loss(squares, rows, weights):
        kernel = eqx.combine(jax.tree.map(lambda s: 0.5 * jnp.log(s), squares), static)
        part = Side(side.points[rows], side.scores[rows], side.task[rows])
        return _batch_criterion(SteinKernel(kernel, settings.order), part, values[rows], weights, settings)

    def batch(carry, part):
        squares, state, rate = carry
        updates, state = optimizer.update(jax.grad(loss)(squares, *part), state)
        moved = jax.tree.map(lambda s, u: jnp.maximum(s - rate * u, settings.smallest), squares, updates)
        return (moved, state, rate * settings.decay), None

    def epoch(carry, rows):
        return jax.lax.scan(batch, carry, (rows, weights))[0], None

    start = (squares, optimizer.init(squares), jnp.asarray(settings.learning_rate))
    return jax.lax.scan(epoch, start, rows)[0][0]


def _batch_criterion(stein: SteinKernel, side: Side, values: Array, weights: Array, settings) -> Float[Array, ""]:
    """Minus the criterion on one batch: B = I makes it block by task, and padded rows count as noise alone."""
    present = weights > 0
    both = present[:, None] & present[None, :]
    together = (side.task[:, None] == side.task[None, :]) & both
    related = both if stein.kernel.relates_tasks else together
    covariance = jnp.where(related, stein.block(side) + jnp.where(together, settings.constant, 0.0), 0.0)
    covariance = covariance + jnp.diag(jnp.where(present, 0.0, 1.0))
    covariance = covariance + _nugget(settings, jax.lax.stop_gradient(covariance)) * jnp.eye(len(values))
    factor = jnp.linalg.cholesky(covariance)
    whitened = jax.scipy.linalg.solve_triangular(factor, jnp.where(present, values, 0.0), lower=True)
    return 0.5 * jnp.sum(whitened**2) + jnp.sum(jnp.log(jnp.diag(factor)))


def _nugget(settings: MiniBatchMarginalLikelihood, covariance: Float[Array, "m m"]) -> Float[Array, ""]:
    """The first of regularization x 1, 10, 100, ... at which the condition number is below the limit."""
    low, high = jnp.linalg.eigvalsh(covariance)[jnp.array([0, -1])]
    candidates = settings.regularization * 10.0 ** jnp.arange(30)
    fine = high + candidates < settings.condition * (jnp.maximum(low, 0) + candidates)
    return candidates[jnp.argmax(fine)]


def _flatten(kernel: Any) -> tuple[np.ndarray, Callable[[np.ndarray], Any]]:
    arrays, static = eqx.partition(jax.tree.map(np.asarray, kernel), eqx.is_inexact_array)
    leaves, tree = jax.tree.flatten(arrays)
    sizes = np.cumsum([leaf.size for leaf in leaves])[:-1]

    def rebuild(vector: np.ndarray) -> Any:
        parts = [part.reshape(leaf.shape) for part, leaf in zip(np.split(vector, sizes), leaves, strict=True)]
        return eqx.combine(jax.tree.unflatten(tree, parts), static)

    return (np.concatenate([leaf.ravel() for leaf in leaves]) if leaves else np.zeros(0)), rebuild
