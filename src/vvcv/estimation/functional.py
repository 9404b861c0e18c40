"""`functional`: a smooth function of several expectations, with its standard error by the delta method.

    g(m) +- sqrt(k sum_t (J_t e_t)^2),   J = dg/dm at the estimates m, e their standard errors

k is what is left where errors cancel (`joint`); of averages this is sqrt(J C J'), C their joint covariance. On shared
points the linear part sum_t J_t f_t is an integrand as well, and is estimated as one of its own: it varies less than
its terms do, and is followed to more digits than errors of theirs, fitted apart, cancel to.

>>> x = np.random.default_rng(0).normal(size=(200, 1))
>>> functional(Tasks.shared(x, -x, 3 + x, names=["x"]), "variance", "x", method="zv").value.round(6)
np.float64(1.0)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..data import Prepared, Task, Tasks, as_tasks, probability_between, require
from ..data.rounding import QUANTUM
from ..report import printable, with_error
from ..report.table import gain as gain_words
from ..runtime.precision import float64
from ..runtime.tracing import as_array, differentiable
from .common import COMMON, centred, common, growth_of, refuse_whole_variables, with_products
from .diagnosis import made_of
from .joint import of_functions, value_correlation
from .result import Estimate
from .run import check_options, estimate
from .summary import as_source
from .weights import ROUNDING


class Means:
    """The expectations as a function sees them: `m["x"]` by name, `m[0]` by place, `m[:]` all as an array."""

    def __init__(self, names: Sequence[str], values: Float[Array, " T"]) -> None:
        self.names, self.values = tuple(names), values

    def __getitem__(self, key: Any) -> Float[Array, ""]:
        if isinstance(key, int | np.integer) and not -len(self) <= key < len(self):  # JAX would give the last one
            raise IndexError(f"There are {len(self)} estimates, {list(self.names)}, and none at place {key}.")
        if not isinstance(key, str):
            require(
                not isinstance(key, tuple),
                f'Means are asked for one by one, m["x"], or all, m[:], but not by {key!r}.',
            )
            return self.values[key]
        require(key in self.names, f"There is no estimate named {key!r}; the names are {list(self.names)}.")
        return self.values[self.names.index(key)]

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class Functional:
    """A function of expectations: value, standard error, and the same from plain averages; prints itself."""

    label: str
    value: Float[np.ndarray, "..."]
    std_error: Float[np.ndarray, "..."]
    plain_value: Float[np.ndarray, "..."]
    plain_std_error: Float[np.ndarray, "..."]
    freedom: Float[np.ndarray, "..."] | float

    @property
    def gain(self) -> Float[np.ndarray, "..."]:
        """By what factor plain averages would need more samples for the same standard error."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return (self.plain_std_error / self.std_error) ** 2

    def interval(self, level: float = 0.95) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]:
        """Lower and upper ends of intervals that hold the true value with probability `level`."""
        probability_between(level, "level")
        from scipy.stats import t as student  # takes a third of a second

        half = student.ppf(0.5 + level / 2, self.freedom) * self.std_error
        return self.value - half, self.value + half

    def __str__(self) -> str:
        entries = (self.value, self.std_error, self.plain_value, self.plain_std_error, self.gain)
        lines = []
        for index in np.ndindex(self.value.shape):
            value, error, plain, plain_error, gain = (float(entry[index]) for entry in entries)
            place = f"[{','.join(map(str, index))}]" if index else ""
            plainly = "{} +- {}".format(*with_error(plain, plain_error))
            numbers = "{} +- {}".format(*with_error(value, error))
            lines.append(f"{printable(self.label)}{place} = {numbers} (plain averages: {plainly}, {gain_words(gain)})")
        return "\n".join(lines)

    __repr__ = __str__


#: Growth in a standard deviation of points from which on a kernel needs a weight for it: exp(x / 2) is followed to a
#: millionth of its spread from 100 normal points as it is, exp(x) to a ten-thousandth.
STRONG = 0.6

#: As many looks at an error as a bar tells of it. At 1 to 3 root mean squares of z lie nearer to one than without
#: another look (12 functions, 100 replications each): .52 to 1.07 instead of .58 to 1.18.
LOOKS = 2


@float64
def functional(source: Estimate | Tasks, g: Callable[[Any], Any] | str, *names: str, **options: Any) -> Functional:
    """A function of several expectations, with a standard error that knows how their errors go together.

    `g` is a JAX function of the means, by name (`m["x"]`) or as an array (`m[:]`), that gives a number or an array; or
    the name of a common one, followed by the `names` of its tasks: "variance", "sd" and "cv" (coefficient of variation)
    of one, "covariance", "correlation", "ratio" and "difference" of two. Given tasks instead of an estimate, the
    squares and products that these need are added, of values less their plain average (or less what an exponential
    grows from) so that no digits are lost, and all is estimated in one call, with `options` of `estimate`. Where tasks
    share their points the function's linear part is then an integrand of its own, fitted by the same method with these
    options, and the surer of the two answers is given, its error bar wider where they disagree: this takes as long as
    an estimate. Of an estimate that was loaded from a file, or whose rows were read block by block, the covariance
    alone is known: the error bar of a difference of nearly equal integrands is then wider.
    """
    check_options(**options)
    made: AbstractContextManager = nullcontext()
    if not isinstance(source, Estimate):
        source = as_source(source, names if isinstance(g, str) else None, lazy=True)
    if isinstance(g, str):
        function, needed = common(g, names)
        label = f"{g}({', '.join(names)})"
        refuse_whole_variables(names, source.names)
        if needed and not isinstance(source, Estimate):
            made = made_of(as_tasks(source))
            source, centres = centred(source, names)
            function, needed = common(g, names, centres)
    else:
        require(callable(g), f"g must be a function of the means or one of {list(COMMON)}, but is {g!r}.")
        function, needed, label = g, {}, getattr(g, "__name__", "value").replace("<lambda>", "value")
    with made:
        result = source if isinstance(source, Estimate) else estimate(with_products(source, needed), **options)
    missing = [name for name in (*needed, *names) if name not in result.names]
    require(
        not missing,
        f"{label} needs the expectations {missing}, but the estimate has {list(result.names)}. Pass the tasks instead "
        "of an estimate: squares and products are then added.",
    )
    return _delta(result, function, label, {"method": result.method, **options})


def _delta(result: Estimate, g: Callable[[Any], Any], label: str, options: dict[str, Any]) -> Functional:
    def of_array(means: Float[Array, " T"]) -> Float[Array, "..."]:
        return _as_numbers(g(Means(result.names, means)), label)

    value, slopes = _with_slopes(of_array, result.mean, result.std_error, label)
    plain, correlation = result.monte_carlo, np.eye(len(result.names))
    if result.tasks is not None:
        correlation = value_correlation(result.tasks)
    plain_value, plain_slopes = _with_slopes(of_array, plain.mean, plain.std_error, label)
    plain_error = _by_covariance(plain_slopes, np.outer(plain.std_error, plain.std_error) * correlation)
    error, freedom = _error_and_freedom(result, slopes)
    error = np.where(np.isfinite(value), error, np.nan)  # the root of a negative number has none
    plain_error = np.where(np.isfinite(plain_value), plain_error, np.nan)
    found = Functional(label, value, error, plain_value, plain_error, freedom)
    if result.tasks is None or result.moves is None or not result.tasks.share_points or result.method == "mc":
        return found
    return _by_linear_parts(found, result.tasks, result.mean, slopes.reshape(-1, len(result.names)), options)


def _by_linear_parts(
    found: Functional,
    tasks: Tasks,
    mean: Float[np.ndarray, " T"],
    slopes: Float[np.ndarray, "k T"],
    options: dict[str, Any],
) -> Functional:
    """The surer of what the means say and of the same with the function's linear part estimated for itself."""
    shown = np.isfinite(slopes).all(axis=1)  # where a function is not defined, it has no linear part either
    several = np.flatnonzero(shown & (np.count_nonzero(slopes, axis=1) > 1))  # that of one mean was fitted already
    values = slopes[several] @ np.array([task.values for task in tasks])
    parts = [tasks[0].carrying(row, f"linear part {k}") for k, row in zip(several, values, strict=True)]
    # Errors of means say nothing of what they cancel to beyond the digits that they are judged on.
    beyond = np.std(values, axis=1) <= QUANTUM * np.abs(slopes[several]) @ [np.std(task.values) for task in tasks]
    followed = _as_well_followed(tasks, parts, slopes[several] != 0) | beyond
    parts, several = [part for part, well in zip(parts, followed, strict=True) if well], several[followed]
    if several.size == 0:
        return found
    own, flat = estimate(Tasks(parts), **{**options, "check": False}), slopes[several]
    moved, least = own.mean - flat @ mean, ROUNDING * (np.abs(flat) @ np.abs(mean))
    of_means = np.where(beyond[followed], np.inf, found.std_error.flat[several])
    of_part = np.hypot(own.std_error, least)
    surer = of_part < of_means
    value = found.value.flat[several] + np.where(surer, moved, 0.0)
    known = np.broadcast_to(found.freedom, found.value.shape).flat[several]
    bar = _seen_twice(np.minimum(of_part, of_means), np.maximum(of_part, of_means), moved)
    return _with_entries(found, several, value, bar, np.where(surer, own.freedom, known))


def _as_well_followed(tasks: Tasks, parts: list[Task], used: Bool[np.ndarray, "k T"]) -> Bool[np.ndarray, " k"]:
    """Whether linear parts are fitted as their terms are: not what mixes strong exponentials of several rates.

    A kernel without the weight of a growth ends where the points do, and its error bar does not know of it.
    """
    if not parts:
        return np.zeros(0, dtype=bool)
    of_terms, of_parts = Prepared.of(tasks), Prepared.of(Tasks(parts))
    terms = [growth_of(of_terms, t, STRONG) if used[:, t].any() else None for t in range(len(tasks))]
    sums = [growth_of(of_parts, k, STRONG) for k in range(len(parts))]
    alike = [
        [term is None or (own is not None and np.array_equal(term.rate, own.rate)) for term in terms] for own in sums
    ]
    return (np.array(alike) | ~used).all(axis=1)


def _seen_twice(
    surer: Float[np.ndarray, " k"], other: Float[np.ndarray, " k"], apart: Float[np.ndarray, " k"]
) -> Float[np.ndarray, " k"]:
    """The error of the surer of two answers, their distance one more look at it, which counts by how sure the other is.

        error^2 = (LOOKS e^2 + w apart^2) / (LOOKS + w),   w = (e / other)^2

    An error bar that is taken for being the smaller of two is too small more often than not.

    >>> _seen_twice(np.array([1.0, 1.0]), np.array([1.0, 1e6]), np.array([4.0, 4.0])).round(3)
    array([2.449, 1.   ])
    """
    weight = np.divide(surer, other, out=np.zeros_like(surer), where=np.isfinite(other) & (other > 0)) ** 2
    return np.sqrt((LOOKS * surer**2 + weight * apart**2) / (LOOKS + weight))


def _with_entries(found: Functional, which: Int[np.ndarray, " k"], *entries: Float[np.ndarray, " k"]) -> Functional:
    """The same with other values, error bars and degrees of freedom for some entries: those of their linear parts.

    g(E f) is g(m) + J (E f - m) but for squares of errors, and E[J f] may be known better than each mean is: errors of
    fits that are weighed differently do not cancel as those of the values do.
    """
    changed: dict[str, Any] = {}
    for name, entry in zip(("value", "std_error", "freedom"), entries, strict=True):
        changed[name] = np.array(np.broadcast_to(getattr(found, name), found.value.shape), float)
        changed[name].flat[which] = entry
    return replace(found, **changed)


def _as_numbers(value: Any, label: str) -> Float[Array, "..."]:
    """What a function gave, as numbers that have slopes: a comparison has none, and says nothing of its own error."""
    numbers = as_array(value)
    require(
        jnp.issubdtype(numbers.dtype, jnp.floating) or jnp.issubdtype(numbers.dtype, jnp.integer),
        f"{label} must give a number, or an array of numbers, that changes with the means, but gives "
        f"{type(value).__name__ if not hasattr(value, 'dtype') else value.dtype}. How likely it is that a value lies "
        "above or below a limit `vvcv.probability` tells.",
    )
    return numbers.astype(float)


def _with_slopes(
    function: Callable[[Any], Any], means: Float[np.ndarray, " T"], errors: Float[np.ndarray, " T"], label: str
) -> tuple[np.ndarray, np.ndarray]:
    """A function at the means and its slopes, none along means that have no error: a root is infinitely steep at zero,
    and there the variance of equal values is."""
    with differentiable(label):
        value, slopes = np.asarray(function(jnp.asarray(means))), np.asarray(jax.jacrev(function)(jnp.asarray(means)))
    return value, np.where(errors > 0, slopes, 0.0)


def _error_and_freedom(result: Estimate, slopes: Float[np.ndarray, "... T"]) -> tuple[np.ndarray, np.ndarray]:
    """From the function's own moves, as sure as tasks are of their errors and moves of what cancels; or from the
    covariance."""
    shares = slopes * result.std_error
    known = _harmonic(shares, result.freedom)
    if result.tasks is None or result.moves is None:
        return _by_covariance(slopes, result.covariance), known
    left, freedom = of_functions(result.tasks, result.moves, slopes.reshape(-1, len(result.names)))
    error = np.sqrt(left.reshape(slopes.shape[:-1])) * np.linalg.norm(shares, axis=-1)
    return error, np.maximum(1 / (1 / known + 1 / freedom.reshape(slopes.shape[:-1])), 1.0)


def _by_covariance(slopes: Float[np.ndarray, "... T"], covariance: Float[np.ndarray, "T T"]) -> np.ndarray:
    return np.sqrt(np.maximum(np.einsum("...s,st,...t->...", slopes, covariance, slopes), 0.0))


def _harmonic(shares: Float[np.ndarray, "... T"], freedom: Float[np.ndarray, " T"]) -> Float[np.ndarray, "..."]:
    """The harmonic mean of the tasks' degrees of freedom, each counting by its share in the variance."""
    largest = np.max(np.abs(shares), axis=-1, keepdims=True)
    weights = np.divide(shares, largest, out=np.ones_like(shares), where=largest > 0) ** 2
    return weights.sum(axis=-1) / (weights / freedom).sum(axis=-1)
