"""What is known of each integral: points x_ti, scores grad log pi_t(x_ti), values f_t(x_ti) (paper, section 3.1).

`Task` holds one integral, `Tasks` several. Inside, everything is one long form: rows of (point, score, value) with
the index of their task, which serves balanced and unbalanced sizes, one target and many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..runtime.once import cached_property
from .about_inputs import Elsewhere, HeavyInput
from .axes import together
from .lazy import LazyArray, lazy_columns, lazy_rows, shape_of, stays_lazy
from .validation import column_names, finite_array, repeated, require, visible


@dataclass(frozen=True, eq=False)
class Task:
    """One expectation E[f(x)]: points, scores of the target at the points, and values of f there.

    Points and scores are `(n, d)`, or `(chain, draw, d)` for Markov chains, with values `(n,)` or `(chain, draw)`; for
    d = 1 plain vectors `(n,)` will do. Axes of xarray's that are named chain and draw are put first, wherever they are;
    scores and values whose draws or coordinates have the labels of the points' (xarray, pandas) are put in their order.
    Dask arrays, memory maps, zarr, and xarray over them, with more rows than an exact fit could take, stay where they
    are, and `estimate` reads them block by block.

    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 5)
    >>> Task(x, -x, x**2, name="square")
    Task('square', n=5, d=1)
    """

    points: Float[np.ndarray, "n d"]
    scores: Float[np.ndarray, "n d"]
    values: Float[np.ndarray, " n"]
    name: str | None = None
    chains: tuple[int, int] | None = field(default=None, init=False)
    tails: tuple[HeavyInput, ...] = field(default=(), kw_only=True)  # that values grow into
    elsewhere: Elsewhere | None = field(default=None, kw_only=True)  # where values may be followed better
    inputs: tuple[str, ...] = field(default=(), kw_only=True)  # of a simulator, whose scores these are for certain

    def __post_init__(self) -> None:
        label = "" if self.name is None else f" of task {self.name!r}"
        given = together(self.points, self.scores, self.values)
        for field_name, array in zip(("points", "scores", "values"), given, strict=True):
            object.__setattr__(self, field_name, array)
        if stays_lazy(self.points, self.scores, self.values):
            self._stay_lazy(label)
            return
        points = finite_array(self.points, f"points{label}")
        scores = finite_array(self.scores, f"scores{label}")
        values = visible(finite_array(self.values, f"values{label}"), f"values{label}")
        points = points[:, None] if points.ndim == 1 else points
        scores = scores[:, None] if scores.ndim == 1 else scores
        _check_shapes(points.shape, scores.shape, values.shape, label)
        chains = points.shape[:2] if points.ndim == 3 else None
        object.__setattr__(self, "points", points.reshape(-1, points.shape[-1]))
        object.__setattr__(self, "scores", scores.reshape(-1, points.shape[-1]))
        object.__setattr__(self, "values", values.reshape(-1))
        object.__setattr__(self, "chains", chains)
        for array in (self.points, self.scores, self.values):
            array.flags.writeable = False

    def _stay_lazy(self, label: str) -> None:
        """Check the shapes, and leave the arrays where they are."""
        shapes = [shape_of(array) for array in (self.points, self.scores, self.values)]
        points, scores = ((*shape, 1) if len(shape) == 1 else shape for shape in shapes[:2])
        _check_shapes(points, scores, shapes[2], label)
        leading, tail = points[:-1], points[-1:]
        object.__setattr__(self, "points", lazy_rows(self.points, f"points{label}", leading, tail))
        object.__setattr__(self, "scores", lazy_rows(self.scores, f"scores{label}", leading, tail))
        object.__setattr__(self, "values", lazy_rows(self.values, f"values{label}", leading))
        object.__setattr__(self, "chains", leading if len(leading) == 2 else None)

    def carrying(self, values: Any, name: str) -> Task:
        """Another integrand on the same sample, in memory; points and scores are not copied.

        >>> x = np.linspace(-1, 1, 5)
        >>> first = Task(x, -x, x, name="x")
        >>> square = first.carrying(first.values**2, "x^2")
        >>> square, square.points is first.points
        (Task('x^2', n=5, d=1), True)
        """
        label = f" of task {name!r}"
        values = visible(finite_array(values, f"values{label}"), f"values{label}")
        rows = (self.size,) if values.ndim == 1 else self.chains or (self.size,)
        _check_shapes((*rows, self.dimension), (*rows, self.dimension), values.shape, label)
        values = values.reshape(-1)
        values.flags.writeable = False
        other = copy(self)
        object.__setattr__(other, "values", values)
        object.__setattr__(other, "name", name)
        return other

    @property
    def is_lazy(self) -> bool:
        """Whether the rows are read block by block, from where they are."""
        return isinstance(self.points, LazyArray)

    @property
    def size(self) -> int:
        """Number of points n."""
        return self.points.shape[0]

    @property
    def dimension(self) -> int:
        """Dimension d of the points."""
        return self.points.shape[1]

    def __repr__(self) -> str:
        return f"Task({self.name!r}, n={self.size}, d={self.dimension})"


class Tasks(Sequence[Task]):
    """Several expectations to be estimated together, in one long form (N = sum of n_t rows).

    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 6)[:, None]
    >>> Tasks.shared(x, -x, np.hstack([x, x**2]), names=["mean", "square"])
    Tasks(T=2, d=1, n=[6, 6], shared points)
    """

    def __init__(self, tasks: Sequence[Task] | Task) -> None:
        require(
            isinstance(tasks, Task | Iterable),
            f"Tasks takes a list of Task, but got a {type(tasks).__name__}. Pass [Task(points, scores, values), ...].",
        )
        tasks = [tasks] if isinstance(tasks, Task) else list(tasks)
        require(len(tasks) > 0, "Tasks needs at least one task, but the list is empty. Pass Task(points, scores, ...).")
        for i, task in enumerate(tasks):
            require(
                isinstance(task, Task),
                f"Tasks takes a list of Task, but item {i} is a {type(task).__name__}. Use Task(points, scores, values)"
                " for it, or Tasks.shared(points, scores, values) for many integrands on one sample.",
            )
        dimensions = {task.dimension for task in tasks}
        require(
            len(dimensions) == 1,
            f"All tasks must have points of one dimension, but found dimensions {sorted(dimensions)}. "
            "Tasks on different spaces share no control variate: estimate them in separate calls.",
        )
        names = [f"task {i + 1}" if task.name is None else str(task.name) for i, task in enumerate(tasks)]
        twice = repeated(names)
        require(not twice, f"Names of tasks must differ, but {twice} occur more than once. Rename them.")
        self._tasks = tuple(tasks)
        self.names = tuple(names)

    @classmethod
    def shared(cls, points: Any, scores: Any, values: Any, names: Sequence[str] | None = None) -> Tasks:
        """Many integrands on one sample: values `(n, T)`, or `(chain, draw, T)` with points `(chain, draw, d)`.

        Columns of a table (pandas, Polars) name the tasks, unless `names` does.
        """
        names = column_names(values) if names is None else names
        points, scores, values = together(points, scores, values)
        if not stays_lazy(points, scores, values):
            values, points, scores = (
                finite_array(array, what)
                for array, what in ((values, "values"), (points, "points"), (scores, "scores"))
            )
            columns = _columns(values, points.ndim)
            labels = _one_for_each(names, len(columns))
            first = Task(points, scores, columns[0], name=labels[0])
            others = zip(columns[1:], labels[1:], strict=True)
            return cls([first, *(first.carrying(column, name) for column, name in others)])
        shape = shape_of(points)
        leading, tail = (shape[:-1], shape[-1:]) if len(shape) > 1 else (shape, (1,))
        lazy: list[Any] = lazy_columns(values, leading)
        labels = _one_for_each(names, len(lazy))
        if shape_of(scores) == shape:  # each opened once for all tasks; if not, Task says what is wrong
            points, scores = lazy_rows(points, "points", leading, tail), lazy_rows(scores, "scores", leading, tail)
        return cls([Task(points, scores, column, name=name) for column, name in zip(lazy, labels, strict=True)])

    def __len__(self) -> int:
        return len(self._tasks)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            require(index in self.names, f"There is no task named {index!r}; the names are {list(self.names)}.")
            index = self.names.index(index)
        return self._tasks[index]

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks)

    def __repr__(self) -> str:
        kind = ", shared points" if self.share_points else ""
        return f"Tasks(T={len(self)}, d={self.dimension}, n={list(self.sizes)}{kind})"

    @property
    def dimension(self) -> int:
        """Dimension d of the points."""
        return self._tasks[0].dimension

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sample sizes n_t."""
        return tuple(task.size for task in self._tasks)

    @cached_property
    def share_points(self) -> bool:
        """Whether several tasks have the very same points, scores and chains (one sample, many integrands)."""
        first = self._tasks[0]
        return len(self) > 1 and all(
            task.chains == first.chains and _same(task.points, first.points) and _same(task.scores, first.scores)
            for task in self._tasks[1:]
        )

    @cached_property
    def points(self) -> Float[np.ndarray, "N d"]:
        """All points, task after task."""
        return np.concatenate([task.points for task in self._tasks])

    @cached_property
    def scores(self) -> Float[np.ndarray, "N d"]:
        """All scores, each of its own task's target."""
        return np.concatenate([task.scores for task in self._tasks])

    @cached_property
    def values(self) -> Float[np.ndarray, " N"]:
        """All values."""
        return np.concatenate([task.values for task in self._tasks])

    @cached_property
    def task(self) -> Int[np.ndarray, " N"]:
        """Index of the task that each row belongs to."""
        return np.repeat(np.arange(len(self)), self.sizes)


def as_tasks(tasks: Tasks | Task | Sequence[Task], lazy: bool = False) -> Tasks:
    """Accept one task, a list of tasks, or Tasks; with `lazy`, also those whose rows are not in memory."""
    tasks = tasks if isinstance(tasks, Tasks) else Tasks(tasks)
    waiting = [name for task, name in zip(tasks, tasks.names, strict=True) if task.is_lazy]
    require(
        lazy or not waiting,
        f"Only `estimate` reads rows block by block, but tasks {waiting} are not in memory. Pass some of their rows as "
        "NumPy arrays, or all of them if they fit.",
    )
    return tasks


def _columns(values: Float[np.ndarray, "..."], axes: int) -> list[Float[np.ndarray, "..."]]:
    """The values of each task, along the last axis, where points have so many axes."""
    values = values[..., None] if values.ndim == max(axes - 1, 1) else values
    require(
        values.ndim in (2, 3) and values.shape[-1] > 0,
        f"values of shared tasks must have shape (n, T) or (chain, draw, T) with T of at least 1, "
        f"but have shape {values.shape}. Put one column per integrand.",
    )
    return [values[..., t] for t in range(values.shape[-1])]


def _one_for_each(names: Iterable[str] | None, count: int) -> list[str]:
    names = [f"task {t + 1}" for t in range(count)] if names is None else names
    require(isinstance(names, Iterable), f"names must be a list of names, one per column of values, but is {names!r}.")
    names = [str(name) for name in names]
    require(
        len(names) == count,
        f"names must hold one name per column of values, but there are {len(names)} names for {count} columns.",
    )
    return names


def _same(left: Any, right: Any) -> bool:
    """Whether two arrays are equal; of those that are not read, whether they are one."""
    if left is right:
        return True
    if isinstance(left, LazyArray) or isinstance(right, LazyArray):
        return isinstance(left, LazyArray) and left.is_same(right)
    return left.shape == right.shape and np.array_equal(left, right)


def _check_shapes(points: tuple[int, ...], scores: tuple[int, ...], values: tuple[int, ...], label: str) -> None:
    require(
        len(points) in (2, 3) and 0 not in points,
        f"points{label} must have shape (n, d) or (chain, draw, d) with at least one point and one dimension, but have "
        f"shape {points}. Reshape them.",
    )
    require(
        scores == points,
        f"scores{label} must have the shape of the points, one gradient per point, but scores have shape "
        f"{scores} and points {points}.",
    )
    leading = points[:-1]
    require(
        values in (leading, (*leading, 1)),
        f"values{label} must hold one number per point, shape {leading}, but have shape {values}. "
        "For several integrands on one sample use Tasks.shared.",
    )
