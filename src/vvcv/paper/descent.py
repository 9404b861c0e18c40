"""Runs Algorithms 1 and 2 on one data set or many of equal shape: progress, early stopping, refusals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..data import Tasks
from ..runtime.precision import float64
from ..runtime.progress import progress_bar
from .batches import Batches, make_batches, shuffled_rows
from .loop import ADAM, Data, Known, Rules, State, run, start
from .problem import Problem
from .result import Path
from .settings import DescentSettings
from .splits import as_generator

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
    settings: DescentSettings,
    seeds: Sequence[int | jax.Array],
    held: Sequence[Tasks] | None = None,
) -> list[Descended]:
    """Select by stochastic optimisation on every problem at once; problems must have equal shapes."""
    _check_shapes(problems, settings)
    rules = _rules(settings, problems[0], None if held is None else held[0])
    data = _stack([_data(p, settings) for p in problems])
    held_data = None if held is None else _stack([_held(p, t, settings) for p, t in zip(problems, held, strict=True)])
    batches = make_batches(problems[0].tasks.sizes, settings.batch_size)
    batches = Batches(batches.positions, batches.weights.astype(settings.precision))
    state = jax.vmap(partial(start, rules))(*_stack([_cast(_start(p, settings), settings) for p in problems]))
    state, path, early = _chunks(settings, rules, data, held_data, batches, state, seeds, problems)
    unknowns = state.best if early else state.unknowns
    return [_unstack(unknowns, path, index, held is not None) for index in range(len(problems))]


def _chunks(settings, rules, data, held, batches, state: State, seeds, problems) -> tuple[State, list, bool]:
    epochs = settings.epochs
    padded = -(-epochs // CHUNK) * CHUNK
    scales = jnp.asarray(settings.scales(padded), settings.precision)
    generators = [as_generator(seed) for seed in seeds]
    path: list = []
    reference = np.array([_start_objective(p, settings) for p in problems])
    with progress_bar("epochs", epochs, shown=settings.progress) as step:
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
            step(count)
            if held is not None and _stalled(path, settings.patience):
                break
    return state, path, held is not None and bool(path)


def _check(losses: np.ndarray, reference: np.ndarray, begin: int, settings: DescentSettings, last: bool) -> None:
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
    held = np.concatenate([piece[3] for piece in path], axis=1)
    return bool((held.shape[1] - 1 - np.argmin(held, axis=1) >= patience).all())


def _start_objective(problem: Problem, settings: DescentSettings) -> float:
    plain = problem.values - problem.columns @ problem.plain_means
    spread = settings.objective.value(plain, problem.chains)
    of_b = float(np.sum(problem.b**2)) if _learns_b(problem, settings) else 0.0
    return spread + of_b + 1e-12 * float(np.mean(problem.values**2))


def _learns_b(problem: Problem, settings: DescentSettings) -> bool:
    """Whether B is learned: a form without parameters, such as Fixed, stays, and Algorithm 1 is Algorithm 2."""
    return settings.learn_b and bool(jax.tree.leaves(problem.form))


def _rules(settings: DescentSettings, problem: Problem, held: Tasks | None) -> Rules:
    learn_b = _learns_b(problem, settings)
    return Rules(
        regularization=jnp.asarray(settings.regularization, settings.precision),
        optimizer=settings.optimizer or ADAM,
        penalty=settings.penalty,
        objective=settings.objective,
        chains=problem.chains,
        held_chains=() if held is None else problem.on(held).chains,
        learn_b=learn_b,
        shared_state=learn_b and settings.shared_state,
        b_first=settings.b_first,
    )


def _start(problem: Problem, settings: DescentSettings) -> tuple[Any, np.ndarray, Any]:
    """theta, beta and B to start from; a start of beta may leave out the polynomial part."""
    theta = initial = problem.space.initial()
    if settings.start_theta is not None:
        theta = settings.start_theta
        shapes = [jax.tree.map(np.shape, tree) for tree in (theta, initial)]
        if shapes[0] != shapes[1]:
            raise ValueError(f"start_theta must have the shape of theta, {shapes[1]}, but has {shapes[0]}.")
    beta = problem.plain_means
    if settings.start_beta is not None:
        beta = problem.completed(settings.start_beta)
    return theta, beta, problem.form if _learns_b(problem, settings) else Known(problem.b)


def _data(problem: Problem, settings: DescentSettings) -> Data:
    return _cast(Data(problem.space_with(settings.penalty), problem.columns, problem.values), settings)


def _held(problem: Problem, tasks: Tasks, settings: DescentSettings) -> Data:
    space, columns = problem.elsewhere(tasks.points, tasks.scores, tasks.task)
    return _cast(Data(space, columns, tasks.values), settings)


def _cast(tree: Any, settings: DescentSettings) -> Any:
    def cast(leaf):
        leaf = np.asarray(leaf)
        return leaf.astype(settings.precision) if leaf.dtype.kind == "f" else leaf

    return jax.tree.map(cast, tree)


def _stack(parts: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *parts)


def _unstack(unknowns, path: list, index: int, with_held: bool) -> Descended:
    (theta, beta), b = jax.tree.map(lambda leaf: np.asarray(leaf[index], dtype=float), tuple(unknowns))
    matrix = np.asarray(b.matrix())
    tasks = len(matrix)
    pieces = [[np.asarray(part[index], dtype=float) for part in piece] for piece in path]
    if not pieces:
        empty = np.zeros(0)
        return Descended(theta, beta, matrix, Path(np.zeros((0, tasks)), empty, np.zeros((0, tasks, tasks)), None))
    betas, losses, matrices, held = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    return Descended(theta, beta, matrix, Path(betas[:, :tasks], losses, matrices, held if with_held else None))


def _check_shapes(problems: Sequence[Problem], settings: DescentSettings) -> None:
    sizes = {(p.tasks.sizes, p.columns.shape) for p in problems}
    if len(sizes) > 1:
        raise ValueError(f"Replications that run together must have equal sample sizes, but found {sorted(sizes)}.")
    if settings.learn_b and not problems[0].variate.separable:
        raise ValueError(
            "B can be learned for a separable variate, K = B k, but this kernel is matrix-valued and has its own "
            "relation of tasks. Use StochasticOptimisation, or a scalar kernel."
        )
