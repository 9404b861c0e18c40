"""Named arrays <-> tasks: points, scores and values, at the root, in a group for each task, or as ArviZ has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from ..data import Task, Tasks, require

#: Names under which points, scores and values are found; those of nutpie come last.
POINTS = ("points", "unconstrained_draw")
SCORES = ("scores", "gradient")
VALUES, NAMES = "values", "names"
POSTERIOR = "posterior"


class Labelled(NamedTuple):
    """An array with the labels along its last axes, as many as are known."""

    values: np.ndarray
    labels: Sequence[Sequence[str] | None] = ()


#: path, such as "sample_stats/gradient" -> array
Arrays = Mapping[str, Labelled]


def wanted(path: str) -> bool:
    """Whether an array of this path may be needed."""
    group, _, name = path.rpartition("/")
    return name in {*POINTS, *SCORES, VALUES, NAMES} or group == POSTERIOR


def tasks_of_arrays(arrays: Arrays, file: str) -> Tasks:
    """Tasks from named arrays, or a ValueError that says which is missing or of the wrong shape."""
    groups = list(dict.fromkeys(path.rpartition("/")[0] for path in arrays))
    complete = [group for group in groups if _first(arrays, group, POINTS) and _first(arrays, group, SCORES)]
    require(
        bool(complete),
        f"{file!r} must hold arrays named {' or '.join(POINTS)}, and {' or '.join(SCORES)}, but holds "
        f"{sorted(arrays)[:8] or 'none of these'}. Rename its arrays, or store gradients when sampling "
        "(nutpie: store_unconstrained=True, store_gradient=True).",
    )
    if len(complete) > 1:
        return _own_points(arrays, complete, file)
    points, scores = _pair(arrays, complete[0])
    values, names = _values(arrays, complete[0], points.values, file)
    names = names or _coordinate_names(points)
    return Tasks.shared(points.values, scores.values, values, names=names)


def arrays_of_tasks(tasks: Tasks) -> dict[str, np.ndarray]:
    """Named arrays that hold the tasks."""
    names = {NAMES: np.array(tasks.names)}
    if len(tasks) == 1 or tasks.share_points:
        first, leading = tasks[0], tasks[0].chains or (tasks[0].size,)
        values = np.stack([task.values.reshape(leading) for task in tasks], axis=-1)
        return {"points": first.points.reshape(*leading, -1), "scores": first.scores.reshape(*leading, -1),
                VALUES: values, **names}  # fmt: skip
    arrays = dict(names)
    for t, task in enumerate(tasks):
        leading = task.chains or (task.size,)
        arrays[f"{t}/points"] = task.points.reshape(*leading, -1)
        arrays[f"{t}/scores"] = task.scores.reshape(*leading, -1)
        arrays[f"{t}/{VALUES}"] = task.values.reshape(leading)
    return arrays


def _own_points(arrays: Arrays, groups: list[str], file: str) -> Tasks:
    """A task for each group, in the order of their numbers: folders and HDF5 list groups in an order of their own."""
    numbered = {str(t) for t in range(len(groups))} == set(groups)
    groups = sorted(groups, key=int) if numbered else sorted(groups)
    names = [str(name) for name in arrays[NAMES].values.tolist()] if NAMES in arrays else groups
    require(
        names is groups or (numbered and len(names) == len(groups)),
        f"The names of {file!r} must be those of groups 0, 1, ..., but it holds {len(names)} names and the "
        f"{len(groups)} groups {groups[:8]} with points and scores. Number the groups, or leave out the names.",
    )
    for group in groups:
        require(f"{group}/{VALUES}" in arrays, f"Group {group!r} of {file!r} holds no array 'values'. Write it again.")
    made = []
    for group, name in zip(groups, names, strict=True):
        points, scores = _pair(arrays, group)
        made.append(Task(points.values, scores.values, arrays[f"{group}/{VALUES}"].values, name=name))
    return Tasks(made)


def _values(arrays: Arrays, group: str, points: np.ndarray, file: str) -> tuple[np.ndarray, list[str] | None]:
    """Values with a last axis for tasks, and their names: an array, the variables of a posterior, or the points."""
    place = f"{group}/{VALUES}" if group else VALUES
    if place in arrays:
        return arrays[place].values, _task_names(arrays, arrays[place], points)
    columns: dict[str, np.ndarray] = {}
    for path, array in arrays.items():
        inside = path.startswith(f"{POSTERIOR}/") and not path.endswith("__")  # tau_log__ is the sampler's own
        if inside and array.values.dtype.kind in "fiub":
            require(
                array.values.shape[: points.ndim - 1] == points.shape[:-1],
                f"{path!r} in {file!r} must have the chains and draws of the points, {points.shape[:-1]}, but has "
                f"shape {array.values.shape}. Write it again.",
            )
            columns |= _elements(path.removeprefix(f"{POSTERIOR}/"), array, points.ndim - 1)
    return (np.stack(list(columns.values()), axis=-1), list(columns)) if columns else (points, None)


def _task_names(arrays: Arrays, values: Labelled, points: np.ndarray) -> list[str]:
    """Names of the columns of values: an array of names, labels of their axis, or numbers."""
    if NAMES in arrays:
        return [str(name) for name in arrays[NAMES].values.reshape(-1).tolist()]
    many = values.values.ndim == points.ndim and points.ndim > 1
    labels = values.labels[-1] if many and values.labels else None
    count = values.values.shape[-1] if many else 1
    return [f"task {t + 1}" for t in range(count)] if labels is None else list(labels)


def _elements(name: str, array: Labelled, leading: int) -> dict[str, np.ndarray]:
    """Each element of a variable by its name: `tau`, `theta[1,2]`, or `theta[Choate]` where axes are labelled."""
    shape = array.values.shape[leading:]
    if not shape:
        return {name: array.values}
    known = list(array.labels)[-len(shape) :] if len(array.labels) >= len(shape) else [None] * len(shape)
    axes = [range(size) if labels is None else labels for size, labels in zip(shape, known, strict=True)]
    return {
        f"{name}[{','.join(map(str, label))}]": array.values[(..., *index)]
        for index, label in zip(np.ndindex(*shape), product(*axes), strict=True)
    }


def _coordinate_names(points: Labelled) -> list[str]:
    labels = points.labels[-1] if points.labels else None
    dimension = points.values.shape[-1] if points.values.ndim > 1 else 1
    return [f"mean of x[{j}]" for j in range(dimension)] if labels is None else [str(label) for label in labels]


def _pair(arrays: Arrays, group: str) -> tuple[Labelled, Labelled]:
    return tuple(arrays[_first(arrays, group, names)] for names in (POINTS, SCORES))  # type: ignore[return-value]


def _first(arrays: Arrays, group: str, names: tuple[str, ...]) -> str:
    paths = [f"{group}/{name}" if group else name for name in names]
    return next((path for path in paths if path in arrays), "")
