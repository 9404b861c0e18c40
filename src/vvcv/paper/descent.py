"""Runs Algorithms 1 and 2 on one data set or many of equal shape: progress, early stopping, refusals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from rich.progress import Progress

from ..data import Tasks
from ..kernels import Full
from ..runtime.precision import float64
from .batches import Batches, make_batches, shuffled_rows
from .loop import ADAM, Data, Rules, State, run, start
from .problem import Problem
from .stochastic import Path, StochasticOptimisation, as_generator

#: Epochs per compiled call, at most: between calls the progress bar moves, early stopping looks and Ctrl-C is heard.
CHUNK = 50


class Descended(NamedTuple):
    """Unknowns at the end of a descent, and the way there."""

    theta: Any
    beta: Float[np.ndarray, " p"]
    b: Float[np.ndarray, "T T"]
    path: Path


@float64
def descend(
    problems: Sequence[Problem],
    settings: StochasticOptimisation,
    seeds: Sequence[int | jax.Array],
    held: Sequence[Tasks] | None = None,
) -> list[Descended]:
    """Select by stochastic optimisation on every problem at once; problems must have equal shapes."""
    _check_shapes(problems, settings)
    rules = _rules(settings, problems)
    data = _stack([_data(p, settings) for p in problems])
    held_data = None if held is None else _stack([_held(p, t, settings) for p, t in zip(problems, held, strict=True)])
    batches = make_batches(problems[0].tasks.sizes, settings.batch_size)
    batches = Batches(batches.positions, batches.weights.astype(settings.precision))
    state = jax.vmap(lambda d, beta: start(rules, d, beta, _start_b(problems[0], settings)))(
        data, jnp.asarray(np.stack([p.plain_means for p in problems]), settings.precision)
    )
    state, path, early = _chunks(settings, rules, data, held_data, batches, state, seeds, problems)
    unknowns = state.best if early else state.unknowns
    return [_unstack(unknowns, path, index, held is not None) for index in range(len(problems))]


def _chunks(settings, rules, data, held, batches, state: State, seeds, problems) -> tuple[State, list, bool]:
    epochs = settings.epochs
    padded = -(-epochs // CHUNK) * CHUNK
    scales = _scales(settings, padded)
    generators = [as_generator(seed) for seed in seeds]
    bar = Progress(transient=True, disable=not settings.progress)
    path: list = []
    reference = np.array([_start_objective(p, settings) for p in problems])
    with bar:
        job = bar.add_task("epochs", total=epochs)
        for begin in range(0, epochs, CHUNK):
            part, count = slice(begin, begin + CHUNK), min(CHUNK, epochs - begin)
            try:
                orders = _orders(generators, problems[0], batches)
                state, piece = run(rules, data, held, batches, state, scales[part], orders, jnp.asarray(count))
                path.append([np.asarray(array)[:, :count] for array in piece])
            except KeyboardInterrupt:
                if not settings.interruptible:
                    raise
                return state, path, bool(path)
            _check(path[-1][1], reference, begin, settings, last=begin + count == epochs)
            bar.advance(job, count)
            if held is not None and _stalled(path, settings.patience):
                break
    return state, path, held is not None and bool(path)


def _check(losses: np.ndarray, reference: np.ndarray, begin: int, settings: StochasticOptimisation, last: bool) -> None:
    """Refuse an objective that is not finite, or that ends far above its value without a control variate.

    In between it may rise for a while: Adam has spikes of its own.
    """
    broken = ~np.isfinite(losses).all(axis=1) | (last & (losses[:, -1] > settings.diverged * reference))
    if broken.any():
        worst = int(np.argmax(broken))
        stated = settings.optimizer is None and not callable(settings.learning_rate)
        raise ValueError(
            f"The objective must fall, but by epoch {begin + losses.shape[1]} it is {losses[worst, -1]:g}, from "
            f"{reference[worst]:g} at the start (data set {worst}): the learning rate"
            f"{f' {settings.learning_rate:g}' if stated else ''} is too large. Divide it by 10, or scale the values."
        )


def _orders(generators: list[np.random.Generator], problem: Problem, batches: Batches) -> jax.Array:
    """The next chunk of shuffled rows of every replication; one batch of all rows needs no order."""
    if batches.per_epoch == 1:
        return jnp.zeros((len(generators), CHUNK, 1), int)
    return jnp.asarray(np.stack([shuffled_rows(rng, problem.tasks.task, CHUNK) for rng in generators]))


def _stalled(path: list, patience: int) -> bool:
    scores = np.concatenate([piece[3] for piece in path], axis=1)
    return bool((scores.shape[1] - 1 - np.argmin(scores, axis=1) >= patience).all())


def _start_objective(problem: Problem, settings: StochasticOptimisation) -> float:
    plain = problem.values - problem.columns @ problem.plain_means
    spread = settings.objective.value(plain, problem.chains)
    of_b = float(np.sum(problem.b**2)) if settings.learn_b else 0.0
    return spread + of_b + 1e-12 * float(np.mean(problem.values**2))


def _rules(settings: StochasticOptimisation, problems: Sequence[Problem]) -> Rules:
    return Rules(
        regularization=jnp.asarray(settings.regularization, settings.precision),
        optimizer=settings.optimizer or ADAM,
        penalty=settings.penalty,
        norm=float(settings.objective.norm),
        learn_b=settings.learn_b,
        shared_state=settings.learn_b and getattr(settings, "shared_state", False),
        b_first=getattr(settings, "b_first", False),
    )


def _scales(settings: StochasticOptimisation, epochs: int) -> Float[jax.Array, "epochs 2"]:
    """Factors of the updates of (theta, beta) and of B; an optimiser of the user's has its own sign and rate."""
    if settings.optimizer is not None:
        return jnp.ones((epochs, 2), settings.precision)
    rates = settings.rates(epochs)
    of_b = getattr(settings, "learning_rate_b", None)
    both = [rates, rates if of_b is None else settings.rates(epochs, of_b)]
    return -jnp.asarray(np.stack(both, axis=1), settings.precision)


def _start_b(problem: Problem, settings: StochasticOptimisation) -> Any:
    cast = lambda leaf: jnp.asarray(leaf, settings.precision)  # noqa: E731
    return jax.tree.map(cast, Full(problem.b)) if settings.learn_b else cast(problem.b)


def _data(problem: Problem, settings: StochasticOptimisation) -> Data:
    return _cast(Data(problem.space, problem.columns, problem.values), settings)


def _held(problem: Problem, tasks: Tasks, settings: StochasticOptimisation) -> Data:
    space, columns = problem.elsewhere(tasks.points, tasks.scores, tasks.task)
    return _cast(Data(space, columns, tasks.values), settings)


def _cast(data: Data, settings: StochasticOptimisation) -> Data:
    def cast(leaf):
        leaf = np.asarray(leaf)
        return leaf.astype(settings.precision) if leaf.dtype.kind == "f" else leaf

    return jax.tree.map(cast, data)


def _stack(parts: Sequence[Data]) -> Data:
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *parts)


def _unstack(unknowns, path: list, index: int, with_held: bool) -> Descended:
    (theta, beta), b = jax.tree.map(lambda leaf: np.asarray(leaf[index], dtype=float), tuple(unknowns))
    matrix = np.asarray(b.matrix()) if isinstance(b, Full) else b
    tasks = len(matrix)
    pieces = [[np.asarray(part[index], dtype=float) for part in piece] for piece in path]
    if not pieces:
        empty = np.zeros(0)
        return Descended(theta, beta, matrix, Path(np.zeros((0, tasks)), empty, np.zeros((0, tasks, tasks)), None))
    betas, losses, matrices, held = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    return Descended(theta, beta, matrix, Path(betas[:, :tasks], losses, matrices, held if with_held else None))


def _check_shapes(problems: Sequence[Problem], settings: StochasticOptimisation) -> None:
    sizes = {(p.tasks.sizes, p.columns.shape) for p in problems}
    if len(sizes) > 1:
        raise ValueError(f"Replications that run together must have equal sample sizes, but found {sorted(sizes)}.")
    if settings.learn_b and not problems[0].variate.separable:
        raise ValueError(
            "B can be learned for a separable variate, K = B k, but this kernel is matrix-valued and has its own "
            "relation of tasks. Use StochasticOptimisation, or a scalar kernel."
        )
