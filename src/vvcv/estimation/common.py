"""The functions of means that have a name, and the products of integrands that they need.

Variance, sd, cv, covariance, correlation, ratio, difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..data import Prepared, Tasks, as_tasks, require
from ..data.growth import Growth
from ..data.seen import growing


def refuse_whole_variables(names: Sequence[str], known: Sequence[str]) -> None:
    """Say what the elements are called, where a variable that has several is named."""
    for name in names:
        elements = [each for each in known if each.startswith(f"{name}[")]
        require(
            name in known or not elements,
            f"There is no expectation named {name!r}, but there are its elements {elements}. Name one of them.",
        )


def with_products(tasks: Tasks, needed: dict[str, tuple[str, str]]) -> Tasks:
    """The tasks and the products that are needed of them, `name -> (factor, factor)`, unless they are there."""
    tasks = as_tasks(tasks, lazy=not needed)
    added = []
    for name, (first, second) in needed.items():
        if name not in tasks.names:
            a, b = tasks[first], tasks[second]
            require(
                np.array_equal(a.points, b.points),
                f"{name!r} is the mean of a product on one sample, but {first!r} and {second!r} have points of their "
                "own. Evaluate both on the same points.",
            )
            added.append(a.carrying(a.values * b.values, name))
    if not added:
        return tasks
    named = [task.carrying(task.values, name) for task, name in zip(tasks, tasks.names, strict=True)]
    return Tasks([*named, *added])


def centred(tasks: Tasks, names: Sequence[str]) -> tuple[Tasks, dict[str, float]]:
    """The tasks with those named less numbers of their size, and these: products of large numbers lose the digits."""
    tasks = as_tasks(tasks)
    each = list(dict.fromkeys(names))
    prepared = Prepared.of(Tasks([tasks[name] for name in each]))
    centres = {name: _centre(prepared, k) for k, name in enumerate(each)}
    moved = [t.carrying(t.values - centres.get(name, 0.0), name) for t, name in zip(tasks, tasks.names, strict=True)]
    return Tasks(moved), centres


def _centre(prepared: Prepared, task: int) -> float:
    """The plain average; of a + b exp(r . x) it is a, so that squares are exponentials, too, and are fitted as such."""
    points, values = prepared.tasks[task].points, prepared.tasks[task].values
    growth = growth_of(prepared, task)
    if growth is None:
        return float(np.mean(values))
    both = np.column_stack([np.ones(len(values)), growth.weight(points) ** 2])
    return float(np.linalg.lstsq(both, values)[0][0])


def growth_of(prepared: Prepared, task: int, strong: float = 0.0) -> Growth | None:
    """The growth of the exponential that a task's values are, if they are one as strong, in standard deviations."""
    grown = growing(prepared, task)
    growth = None if grown is None else grown.growth
    if not isinstance(growth, Growth):
        return None
    return growth if np.std(prepared.distinct[task].points @ growth.rate) >= strong else None


def common(
    kind: str, names: Sequence[str], centres: Mapping[str, float] | None = None
) -> tuple[Callable[[Any], Any], dict[str, tuple[str, str]]]:
    """A common function of the means, which may be of tasks less their `centres`, and the products that it needs."""
    require(kind in COMMON, f"g must be a function or one of {list(COMMON)}, but is {kind!r}.")
    count, function, products = COMMON[kind]
    fits = len(names) == count and all(isinstance(name, str) for name in names)
    require(fits, f"{kind!r} takes the names of {count} task(s), but got {list(names)}.")
    x, y = names[0], names[-1]
    pairs = {"xx": (x, x), "yy": (y, y), "xy": (x, y)}
    prefix, shift = ("", {x: 0.0, y: 0.0}) if centres is None else ("centred ", centres)
    named = [(prefix + _product_name(*pairs[product]), pairs[product]) for product in products]
    needed = dict(named)  # of a task with itself all products are one

    def of_means(m: Any) -> Any:
        spreads = (m[name] - m[first] * m[second] for name, (first, second) in named)
        return function(m[x] + shift[x], m[y] + shift[y], *spreads)

    return of_means, needed


def _product_name(first: str, second: str) -> str:
    return f"{first}^2" if first == second else f"{first}*{second}"


#: name -> number of tasks, function of their means and of the covariances of pairs, which pairs
COMMON: dict[str, tuple[int, Callable[..., Any], tuple[str, ...]]] = {
    "variance": (1, lambda x, y, xx: xx, ("xx",)),
    "sd": (1, lambda x, y, xx: jnp.sqrt(xx), ("xx",)),
    "cv": (1, lambda x, y, xx: jnp.sqrt(xx) / x, ("xx",)),
    "covariance": (2, lambda x, y, xy: xy, ("xy",)),
    "correlation": (2, lambda x, y, xx, yy, xy: xy / jnp.sqrt(xx * yy), ("xx", "yy", "xy")),
    "ratio": (2, lambda x, y: x / y, ()),
    "difference": (2, lambda x, y: x - y, ()),
}
