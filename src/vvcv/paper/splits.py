"""Parts of a data set: held-out rows and folds, drawn task by task."""

from __future__ import annotations

import jax
import numpy as np

from ..data import Task, Tasks


def take(tasks: Tasks, rows: list[np.ndarray]) -> Tasks:
    """The given rows of each task, as tasks with the same names."""
    parts = zip(tasks, tasks.names, rows, strict=True)
    return Tasks([Task(t.points[r], t.scores[r], t.values[r], name=name) for t, name, r in parts])


def hold_out(tasks: Tasks, fraction: float, seed: int | jax.Array) -> tuple[Tasks, Tasks]:
    """A random fraction of every task set aside: (kept, held out).

    >>> x = np.arange(10.0)[:, None]
    >>> [part.sizes for part in hold_out(Tasks.shared(x, -x, x), 0.3, seed=0)]
    [(7,), (3,)]
    """
    kept, held = [], []
    for order, size in zip(_orders(tasks, seed), tasks.sizes, strict=True):
        count = round(fraction * size)
        if not 1 <= count < size:
            raise ValueError(
                f"Both parts of a split need at least one row of every task, but a fraction {fraction} of {size} rows "
                f"is {count}. Change the fraction, or collect more rows."
            )
        kept.append(np.sort(order[count:]))
        held.append(np.sort(order[:count]))
    return take(tasks, kept), take(tasks, held)


def folds(tasks: Tasks, count: int, seed: int | jax.Array) -> list[tuple[Tasks, Tasks, list[np.ndarray]]]:
    """k folds of every task: (the other folds, this fold, this fold's rows in each task).

    >>> x = np.arange(6.0)[:, None]
    >>> [fold.sizes for _, fold, _ in folds(Tasks.shared(x, -x, x), 3, seed=0)]
    [(2,), (2,), (2,)]
    """
    if not 2 <= count <= min(tasks.sizes):
        raise ValueError(
            f"The number of folds must be between 2 and the smallest sample size, {min(tasks.sizes)}, but is {count!r}."
        )
    parts = [np.array_split(order, count) for order in _orders(tasks, seed)]
    result = []
    for k in range(count):
        inside = [np.sort(part[k]) for part in parts]
        outside = [np.sort(np.concatenate(part[:k] + part[k + 1 :])) for part in parts]
        result.append((take(tasks, outside), take(tasks, inside), inside))
    return result


def as_generator(seed: int | jax.Array) -> np.random.Generator:
    """A generator from an integer or from a JAX key.

    Rows are shuffled on the host: a sort and a generator inside the loop would only take time to compile.
    """
    entropy = seed if isinstance(seed, int | np.integer) else np.asarray(jax.random.key_data(seed)).ravel()
    return np.random.default_rng(entropy)


def _orders(tasks: Tasks, seed: int | jax.Array) -> list[np.ndarray]:
    rng = as_generator(seed)
    return [rng.permutation(size) for size in tasks.sizes]
