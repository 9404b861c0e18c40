"""Columns of a table <-> tasks: points `x[j]`, scores `score[j]`, chains, and one column of values for each task."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ..data import Task, Tasks, require
from .tables import Columns

#: Columns that are not values.
CHAIN, DRAW, TASK, VALUE = "chain", "draw", "task", "value"

#: Columns that Stan adds for itself end so.
STANS_OWN = "__"


def tasks_of_columns(columns: Columns, file: str) -> Tasks:
    """Tasks from the columns of a table, or a ValueError that says which column is wrong."""
    stan = [name for name in columns if f"p_{name}" in columns and f"g_{name}" in columns]
    if stan:
        points, scores = (_stacked(columns, names, file) for names in (stan, [f"g_{name}" for name in stan]))
        return Tasks.shared(points, -scores, points, names=stan)
    first, second = indexed(columns, "x"), indexed(columns, "score")
    for names, what in ((first, "x"), (second, "score")):
        require(
            bool(names),
            f"{file!r} has no columns {what}[0], {what}[1], ...; it has {_some(list(columns))}. Rename its columns of "
            f"{'points' if what == 'x' else 'scores'}.",
        )
    require(
        len(first) == len(second),
        f"{file!r} has {len(first)} columns of points x[...] and {len(second)} of scores score[...]. Every coordinate "
        "needs both.",
    )
    points, scores = _stacked(columns, first, file), _stacked(columns, second, file)
    if TASK in columns and VALUE in columns:
        return _below_each_other(columns, points, scores, file)
    special = {*first, *second, CHAIN, DRAW}
    named = [name for name in columns if name not in special and not name.endswith(STANS_OWN)]
    values = _stacked(columns, named, file) if named else points
    order, shape = _chains(columns, len(points), file)
    points, scores, values = (array[order].reshape(*shape, -1) for array in (points, scores, values))
    return Tasks.shared(points, scores, values, names=named or [f"mean of {name}" for name in first])


def columns_of_tasks(tasks: Tasks) -> dict[str, np.ndarray]:
    """The columns of a table that holds the tasks."""
    if len(tasks) == 1 or tasks.share_points:
        columns = _coordinates(tasks[0].points, tasks[0].scores)
        if tasks[0].chains is not None:
            count, length = tasks[0].chains
            order = {CHAIN: np.repeat(np.arange(count), length), DRAW: np.tile(np.arange(length), count)}
            columns = {**order, **columns}
        taken = [name for name in tasks.names if name in {*columns, CHAIN, DRAW, TASK}]
        require(
            not taken, f"A column of a table cannot be named {taken}, which mean points or chains. Rename the task."
        )
        return {**columns, **{name: task.values for name, task in zip(tasks.names, tasks, strict=True)}}
    require(
        all(task.chains is None for task in tasks),
        "A table cannot hold chains of tasks with points of their own. Write .npz or netCDF.",
    )
    names = np.repeat(np.array(tasks.names, dtype=object), tasks.sizes)
    return {TASK: names, **_coordinates(tasks.points, tasks.scores), VALUE: tasks.values}


def indexed(columns: Columns, what: str) -> list[str]:
    """The columns what[0], what[1], ... in order, or the column `what` alone.

    >>> indexed({"x[1]": 0, "x[0]": 0, "y": 0}, "x")
    ['x[0]', 'x[1]']
    """
    found = [(int(match[1]), name) for name in columns if (match := re.fullmatch(rf"{what}\[(\d+)\]", name))]
    return [name for _, name in sorted(found)] or ([what] if what in columns else [])


def _coordinates(points: np.ndarray, scores: np.ndarray) -> dict[str, np.ndarray]:
    arrays = {"x": points, "score": scores}
    return {f"{what}[{j}]": array[:, j] for what, array in arrays.items() for j in range(array.shape[1])}


def _stacked(columns: Columns, names: Sequence[str], file: str) -> np.ndarray:
    stacked = np.column_stack([_numbers(columns[name], name, file) for name in names])
    rows, places = np.nonzero(~np.isfinite(stacked))
    if rows.size:
        raise ValueError(
            f"Column {names[places[0]]!r} of {file!r} has an empty or infinite cell, in row {rows[0] + 1} below the "
            "header. Remove that row."
        )
    return stacked


def _numbers(column: np.ndarray, name: str, file: str) -> np.ndarray:
    """A column as floats; whole numbers too long for a machine and decimals come as objects."""
    try:
        if column.dtype.kind in "fiubO":
            return column.astype(float)
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"Column {name!r} of {file!r} must hold numbers, but holds {_first_text(column)!r}. Remove the text, or the "
        "column."
    )


def _below_each_other(columns: Columns, points: np.ndarray, scores: np.ndarray, file: str) -> Tasks:
    values = _stacked(columns, [VALUE], file)[:, 0]
    labels = columns[TASK].astype(str)
    names = list(dict.fromkeys(labels.tolist()))
    return Tasks([Task(points[labels == n], scores[labels == n], values[labels == n], name=n) for n in names])


def _chains(columns: Columns, n: int, file: str) -> tuple[np.ndarray, tuple[int, ...]]:
    """The order of rows that puts chain after chain, and the leading shape of the arrays."""
    if CHAIN not in columns:
        return np.arange(n), (n,)
    labels, counts = np.unique(columns[CHAIN], return_counts=True)
    require(
        len(set(counts.tolist())) == 1,
        f"All chains in {file!r} must have as many draws, but they have {counts.tolist()}. Cut the longer ones.",
    )
    keys = (columns[DRAW], columns[CHAIN]) if DRAW in columns else (columns[CHAIN],)
    return np.lexsort(keys), (len(labels), int(counts[0]))


def _first_text(column: np.ndarray) -> str:
    for entry in column.tolist():
        try:
            float(entry)
        except (TypeError, ValueError):
            return str(entry)[:40]
    return str(column.dtype)


def _some(names: list[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
