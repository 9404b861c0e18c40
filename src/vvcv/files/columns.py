"""Columns of a table <-> tasks: points `x[j]`, scores `score[j]`, chains, and one column of values for each task."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from ..data import Task, Tasks, require
from .tables import TASK, Columns

#: Columns that order the rows, and the one of values where tasks are below each other.
CHAIN, DRAW, VALUE = "chain", "draw", "value"

#: What others call them, in small or capital letters: samplers' tables, and R's posterior package, whose .draw numbers
#: the draws of all chains and counts where .iteration is not.
ALSO = {CHAIN: (CHAIN, ".chain"), DRAW: (DRAW, ".iteration", "iteration", ".draw")}

#: Columns that Stan adds for itself end so.
STANS_OWN = "__"


def tasks_of_columns(columns: Columns, file: str) -> Tasks:
    """Tasks from the columns of a table, or a ValueError that says which column is wrong."""
    require(all(map(len, columns.values())), f"{file!r} has a header and no rows. Write it again.")
    columns = _in_our_names(columns, file)
    first, second = indexed(columns, "x"), indexed(columns, "score")
    stan = [name for name in columns if f"p_{name}" in columns and f"g_{name}" in columns]
    if stan and {*first, *second} <= set(stan):
        points, scores = (_stacked(columns, names, file) for names in (stan, [f"g_{name}" for name in stan]))
        ordering = {name: column for name, column in columns.items() if name not in stan}
        in_file = {DRAW: np.arange(len(points)), **ordering}  # CmdStan's is of one chain
        order, shape = _chains(in_file, len(points), file)
        points, scores = (array[order].reshape(*shape, -1) for array in (points, scores))
        return Tasks.shared(points, -scores, points, names=stan)
    _require_pairs(columns, first, second, file)
    points, scores = _stacked(columns, first, file), _stacked(columns, second, file)
    if TASK in columns:
        return _below_each_other(columns, points, scores, file)
    named = _named(columns)
    values = _stacked(columns, named, file) if named else points
    order, shape = _chains(columns, len(points), file)
    points, scores, values = (array[order].reshape(*shape, -1) for array in (points, scores, values))
    return Tasks.shared(points, scores, values, names=named or [f"mean of {name}" for name in first])


def columns_of_tasks(tasks: Tasks) -> dict[str, np.ndarray]:
    """The columns of a table that holds the tasks."""
    if len(tasks) == 1 or tasks.share_points:
        before = {**_order([tasks[0]]), **_coordinates(tasks[0].points, tasks[0].scores)}
        columns = {**before, **{name: task.values for name, task in zip(tasks.names, tasks, strict=True)}}
        kept = set(_named(columns)) - {*before, ""}
        taken = [name for name in tasks.names if name not in kept]
        require(
            not taken,
            f"A column of values cannot be named {taken}: points, scores, chains and what Stan adds are. Rename the "
            "task, or write .npz or netCDF.",
        )
        return columns
    require(
        len({task.chains is None for task in tasks}) == 1,
        "A table cannot hold chains of some tasks, and independent points of others. Write .npz or netCDF.",
    )
    require("" not in tasks.names, "A table cannot hold a task without a name. Name it, or write .npz or netCDF.")
    names = np.repeat(np.array(tasks.names, dtype=object), tasks.sizes)
    return {TASK: names, **_order(tasks), **_coordinates(tasks.points, tasks.scores), VALUE: tasks.values}


def indexed(columns: Columns, what: str) -> list[str]:
    """The columns what[0], what[1], ... in order, or the column `what` alone.

    >>> indexed({"x[1]": 0, "x[0]": 0, "y": 0}, "x")
    ['x[0]', 'x[1]']
    """
    found = [(int(match[1]), name) for name in columns if (match := re.fullmatch(rf"{what}\[(0|[1-9]\d*)\]", name))]
    return [name for _, name in sorted(found)] or ([what] if what in columns else [])


def _in_our_names(columns: Columns, file: str) -> Columns:
    """The table with columns of chains and draws under our names, whoever has written them; Stan's parameters stay.

    >>> list(_in_our_names({"x": 0, ".chain": 0, ".iteration": 0, ".draw": 0}, "draws.csv"))
    ['x', 'chain', 'draw']
    >>> list(_in_our_names({"Chain": 0, "Iteration": 0, "x": 0}, "draws.csv"))
    ['x', 'chain', 'draw']
    """
    capital = [name for name in columns if name.lower() == TASK != name]
    require(
        not capital,
        f"{file!r} has a column {capital[:1]}. Rename it {TASK!r} if it says which task a row belongs to, or otherwise "
        "if it holds values.",
    )
    ours = dict(columns)
    for name, others in ALSO.items():
        known = [given for given in columns if given.lower() in others and f"p_{given}" not in columns]
        found = [given for other in others for given in known if given.lower() == other]
        kept = found[:1] if found == [".iteration", ".draw"] else found
        both = " and ".join(map(repr, kept))
        require(len(kept) < 2, f"{file!r} has both {both}. Remove one of them.")
        ours = {given: column for given, column in ours.items() if given not in found}
        ours |= {name: columns[kept[0]]} if kept else {}
    return ours


def _named(columns: Columns) -> list[str]:
    """The columns of values: all but points, scores and what orders the rows."""
    ordering, places = {TASK, *ALSO[CHAIN], *ALSO[DRAW]}, {*indexed(columns, "x"), *indexed(columns, "score")}
    return [n for n in columns if n not in places and n.lower() not in ordering and not n.endswith(STANS_OWN)]


def _require_pairs(columns: Columns, points: list[str], scores: list[str], file: str) -> None:
    for names, what in ((points, "x"), (scores, "score")):
        require(
            bool(names),
            f"{file!r} has no columns {what}[0], {what}[1], ...; it has {_some(list(columns))}. Rename its columns of "
            f"{'points' if what == 'x' else 'scores'}.",
        )
    require(
        [name.removeprefix("x") or "[0]" for name in points]
        == [name.removeprefix("score") or "[0]" for name in scores],
        f"{file!r} has points {_some(points)} and scores {_some(scores)}. Every coordinate needs both, x[j] and "
        "score[j].",
    )


def _order(tasks: Iterable[Task]) -> dict[str, np.ndarray]:
    """Chain and draw of each row; nothing for independent points."""
    shapes = [task.chains for task in tasks if task.chains is not None]
    if not shapes:
        return {}
    places = [np.indices(shape).reshape(2, -1) for shape in shapes]
    return dict(zip((CHAIN, DRAW), np.concatenate(places, axis=1), strict=True))


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
    text, row = _first_text(column)
    raise ValueError(
        f"Column {name!r} of {file!r} must hold numbers, but holds {text!r} in row {row} below the header. Remove the "
        "text, or the column."
    )


def _below_each_other(columns: Columns, points: np.ndarray, scores: np.ndarray, file: str) -> Tasks:
    require(
        VALUE in columns,
        f"{file!r} has a column {TASK!r}, but none named {VALUE!r}; it has {_some(list(columns))}. Rename its column "
        "of values.",
    )
    values = _stacked(columns, [VALUE], file)[:, 0]
    given = columns[TASK].tolist()
    require(
        not any(label is None or label != label or label == "" for label in given),
        f"A row of {file!r} does not say of which {TASK} it is. Name or remove it.",
    )
    labels = np.array([str(label) for label in given], dtype=object)
    made = []
    for name in dict.fromkeys(labels.tolist()):
        rows = np.nonzero(labels == name)[0]
        order, shape = _chains({key: columns[key][rows] for key in (CHAIN, DRAW) if key in columns}, len(rows), file)
        rows = rows[order]
        made.append(Task(points[rows].reshape(*shape, -1), scores[rows].reshape(*shape, -1),
                         values[rows].reshape(shape), name=name))  # fmt: skip
    return Tasks(made)


def _chains(columns: Columns, n: int, file: str) -> tuple[np.ndarray, tuple[int, ...]]:
    """The order of rows that puts chain after chain, and the leading shape; draws without a chain are of one."""
    if CHAIN not in columns and DRAW not in columns:
        return np.arange(n), (n,)
    columns = {CHAIN: np.zeros(n), **columns}
    keys = [columns[name] for name in (DRAW, CHAIN) if name in columns]
    rows = list(zip(*(key.tolist() for key in keys), strict=True))
    require(
        not any(entry is None or entry != entry for row in rows for entry in row),
        f"A row of {file!r} has no {CHAIN} or {DRAW}. Number all rows, or leave out these columns.",
    )
    require(
        len(keys) == 1 or len(set(rows)) == n,
        f"A draw of {file!r} occurs more than once in its chain. Give every run a number of its own as {CHAIN}.",
    )
    labels, places, counts = np.unique(columns[CHAIN], return_inverse=True, return_counts=True)
    require(
        len(set(counts.tolist())) == 1,
        f"All chains in {file!r} must have as many draws, but they have {counts.tolist()}. Cut the longer ones.",
    )
    # As text, draw 10 would come before draw 9.
    within = [_numbers(columns[DRAW], DRAW, file)] if DRAW in columns else []
    return np.lexsort([*within, places]), (len(labels), int(counts[0]))


def _first_text(column: np.ndarray) -> tuple[str, int]:
    """The first entry that is no number, and its row, counted from 1; of dates say, what they are."""
    for row, entry in enumerate(column.tolist(), 1):
        try:
            float(entry)
        except (TypeError, ValueError):
            return str(entry)[:40], row
    return str(column.dtype), 1


def _some(names: list[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
