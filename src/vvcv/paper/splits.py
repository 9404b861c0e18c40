"""Parts of a data set: held-out rows and folds, drawn task by task; of chains, runs of neighbouring draws of each.

Independent rows at one point, of whatever tasks, are in one part: a fit that has seen one of them has seen them all.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import jax
import numpy as np
from jaxtyping import Int

from ..data import Task, Tasks, point_numbers, require

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

    def sizes(draws: int) -> list[int]:
        count = round(fraction * draws)
        require(
            1 <= count < draws,
            f"Both parts of a split need at least one row of every task, but a fraction {fraction:g} of {draws} rows "
            f"is {count}. Change the fraction, or collect more rows.",
        )
        return [count, draws - count]

    require(0 < fraction < 1, f"A fraction of the rows lies between 0 and 1, but is {fraction!r}.")
    held, kept = _parts(tasks, 2, sizes, seed)
    return take(tasks, kept), take(tasks, held)


def folds(tasks: Tasks, count: int, seed: int | jax.Array) -> list[tuple[Tasks, Tasks, list[np.ndarray]]]:
    """k folds of every task: (the other folds, this fold, this fold's rows in each task).

    >>> x = np.arange(6.0)[:, None]
    >>> [fold.sizes for _, fold, _ in folds(Tasks.shared(x, -x, x), 3, seed=0)]
    [(2,), (2,), (2,)]
    """

    def sizes(draws: int) -> list[int]:
        require(
            count in range(2, draws + 1),
            f"The number of folds must be an integer between 2 and the smallest sample size, {draws} or less, but is "
            f"{count!r}.",
        )
        return [len(part) for part in np.array_split(np.arange(draws), int(count))]

    parts = _parts(tasks, count, sizes, seed)
    result = []
    for k, inside in enumerate(parts):
        others = zip(*(part for j, part in enumerate(parts) if j != k), strict=True)
        outside = [np.sort(np.concatenate(rows, axis=1)) for rows in others]
        result.append((take(tasks, outside), take(tasks, inside), [rows.ravel() for rows in inside]))
    return result


def as_generator(seed: int | jax.Array) -> np.random.Generator:
    """A generator from an integer or from a JAX key.

    Rows are shuffled on the host: a sort and a generator inside the loop would only take time to compile.
    """
    known = isinstance(seed, int | np.integer | jax.Array) and (isinstance(seed, jax.Array) or seed >= 0)
    require(known, f"A seed is an integer of at least 0, or a JAX key, but is {seed!r}.")
    entropy = seed if isinstance(seed, int | np.integer) else np.asarray(jax.random.key_data(seed)).ravel()
    return np.random.default_rng(entropy)


def _parts(tasks: Tasks, count: int, sizes: Callable[[int], list[int]], seed: int | jax.Array) -> list[list[Rows]]:
    """The rows of every task in each part; `sizes` says how many of so many draws or points the parts have.

    Where tasks share some points only, those with fewest rows choose first: theirs are the parts that must be even.
    """
    rng = as_generator(seed)
    orders = [rng.permutation(task.size) if task.chains is None else np.arange(task.size) for task in tasks]
    numbers = point_numbers(tasks.points)
    points = np.split(numbers, np.cumsum(tasks.sizes)[:-1])
    part_of = np.full(len(numbers), -1)
    found: list[list[Rows]] = [[] for _ in tasks]
    for t in sorted(range(len(tasks)), key=lambda t: tasks.sizes[t]):
        chains = tasks[t].chains
        if chains is not None:
            found[t] = _runs(np.arange(tasks[t].size).reshape(chains), sizes(chains[1]))
            continue
        part_of = _assigned(part_of, points[t][orders[t]], sizes)
        rows = part_of[points[t]]
        found[t] = [np.flatnonzero(rows == k)[None] for k in range(int(count))]
        require(
            all(part.size > 0 for part in found[t]),
            f"Every part needs rows of every task, but task {tasks.names[t]!r} shares most of its points with others "
            "and has none left for one. Ask for fewer folds, or a fraction nearer to a half.",
        )
    return [list(part) for part in zip(*found, strict=True)]


def _runs(draws: Rows, sizes: list[int]) -> list[Rows]:
    """Runs of neighbouring draws of every chain, from the last on."""
    ends = draws.shape[1] - np.cumsum([0, *sizes])
    return [draws[:, low:high] for high, low in pairwise(ends)]


def _assigned(part_of: np.ndarray, points: np.ndarray, sizes: Callable[[int], list[int]]) -> np.ndarray:
    """The part of every point, with those of one more task, in the given order, where they have none yet."""
    distinct = points[np.sort(np.unique(points, return_index=True)[1])]
    before, wanted = part_of[distinct], np.array(sizes(len(distinct)))
    missing = np.maximum(wanted - np.bincount(before[before >= 0], minlength=len(wanted)), 0)
    slots, free = np.repeat(np.arange(len(wanted)), missing), distinct[before < 0]
    result = part_of.copy()
    result[free] = slots[np.arange(len(free)) * len(slots) // max(len(free), 1)]
    return result


def _part(task: Task, name: str, rows: Rows) -> Task:
    rows = rows[0] if task.chains is None else rows
    return Task(task.points[rows], task.scores[rows], task.values[rows], name=name)
