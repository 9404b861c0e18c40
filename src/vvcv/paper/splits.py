"""Parts of a data set: held-out rows and folds, drawn task by task; of chains, runs of neighbouring draws of each."""

from __future__ import annotations

import jax
import numpy as np
from jaxtyping import Int

from ..data import Task, Tasks

#: Rows of one task, in the shape (chain, draw) where it has chains, in any order of draws where it has none.
Rows = Int[np.ndarray, "chain draw"]


def take(tasks: Tasks, rows: list[Rows]) -> Tasks:
    """The given rows of each task, as tasks with the same names and as many chains."""
    parts = zip(tasks, tasks.names, rows, strict=True)
    return Tasks([_part(task, name, kept) for task, name, kept in parts])


def hold_out(tasks: Tasks, fraction: float, seed: int | jax.Array) -> tuple[Tasks, Tasks]:
    """A fraction of every task set aside, (kept, held out): random rows, or the last draws of every chain.

    >>> x = np.arange(10.0)[:, None]
    >>> [part.sizes for part in hold_out(Tasks.shared(x, -x, x), 0.3, seed=0)]
    [(7,), (3,)]
    """
    kept, held = [], []
    for order in _orders(tasks, seed):
        draws = order.shape[1]
        count = round(fraction * draws)
        if not 1 <= count < draws:
            raise ValueError(
                f"Both parts of a split need at least one row of every task, but a fraction {fraction} of {draws} rows "
                f"is {count}. Change the fraction, or collect more rows."
            )
        kept.append(np.sort(order[:, count:]))
        held.append(np.sort(order[:, :count]))
    return take(tasks, kept), take(tasks, held)


def folds(tasks: Tasks, count: int, seed: int | jax.Array) -> list[tuple[Tasks, Tasks, list[np.ndarray]]]:
    """k folds of every task: (the other folds, this fold, this fold's rows in each task).

    >>> x = np.arange(6.0)[:, None]
    >>> [fold.sizes for _, fold, _ in folds(Tasks.shared(x, -x, x), 3, seed=0)]
    [(2,), (2,), (2,)]
    """
    orders = _orders(tasks, seed)
    smallest = min(order.shape[1] for order in orders)
    if not 2 <= count <= smallest:
        raise ValueError(
            f"The number of folds must be between 2 and the smallest sample size, {smallest}, but is {count!r}."
        )
    parts = [np.array_split(order, count, axis=1) for order in orders]
    result = []
    for k in range(count):
        inside = [np.sort(part[k]) for part in parts]
        outside = [np.sort(np.concatenate(part[:k] + part[k + 1 :], axis=1)) for part in parts]
        result.append((take(tasks, outside), take(tasks, inside), [rows.ravel() for rows in inside]))
    return result


def as_generator(seed: int | jax.Array) -> np.random.Generator:
    """A generator from an integer or from a JAX key.

    Rows are shuffled on the host: a sort and a generator inside the loop would only take time to compile.
    """
    entropy = seed if isinstance(seed, int | np.integer) else np.asarray(jax.random.key_data(seed)).ravel()
    return np.random.default_rng(entropy)


def _orders(tasks: Tasks, seed: int | jax.Array) -> list[Rows]:
    """Rows in random order, or the draws of every chain from the last on: neighbours stay together."""
    rng = as_generator(seed)
    return [
        rng.permutation(task.size)[None] if task.chains is None else np.arange(task.size).reshape(task.chains)[:, ::-1]
        for task in tasks
    ]


def _part(task: Task, name: str, rows: Rows) -> Task:
    rows = rows[0] if task.chains is None else rows
    return Task(task.points[rows], task.scores[rows], task.values[rows], name=name)
