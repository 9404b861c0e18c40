"""The functions of means that have a name: variance, sd, cv, covariance, correlation, ratio, difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from ..data import require


def refuse_whole_variables(names: Sequence[str], known: Sequence[str]) -> None:
    """Say what the elements are called, where a variable that has several is named."""
    for name in names:
        elements = [each for each in known if each.startswith(f"{name}[")]
        require(
            name in known or not elements,
            f"There is no expectation named {name!r}, but there are its elements {elements}. Name one of them.",
        )


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
