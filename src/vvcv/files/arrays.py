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
POSTERIOR, STATISTICS = "posterior", "sample_stats"


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
    if STATISTICS in complete:
        complete = [STATISTICS]  # beside them a sampler may have kept those of its warmup, or of the prior
    if len(complete) > 1:
        return _own_points(arrays, complete, file)
    points, scores = _pair(arrays, complete[0])
    values, names = _values(arrays, complete[0], points, file)
    names = names or _given_names(arrays, complete[0]) or _coordinate_names(points)
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
    names = _given_names(arrays, "") or groups
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


def _values(arrays: Arrays, group: str, at: Labelled, file: str) -> tuple[np.ndarray, list[str] | None]:
    """Values with a last axis for tasks, and their names: an array, the variables of a posterior, or the points."""
    place = f"{group}/{VALUES}" if group else VALUES
    points, leading = at.values, at.values.ndim - 1
    if place in arrays:
        values = _in_order_of(at, arrays[place])
        return values.values, _given_names(arrays, group) or _task_names(group, values, points)
    columns: dict[str, np.ndarray] = {}
    for path, array in arrays.items():
        inside = path.startswith(f"{POSTERIOR}/") and not path.endswith("__")  # tau_log__ is the sampler's own
        if inside and array.values.dtype.kind in "fiub":
            require(
                array.values.shape[:leading] == points.shape[:-1],
                f"{path!r} in {file!r} must have the chains and draws of the points, {points.shape[:-1]}, but has "
                f"shape {array.values.shape}. Write it again.",
            )
            bad = int((~np.isfinite(array.values)).sum())
            require(
                bad == 0,
                f"{path!r} in {file!r} must be finite, but {bad} of {array.values.size} entries are not. "
                "Remove that variable, or those draws of all variables and statistics.",
            )
            found = _elements(path.removeprefix(f"{POSTERIOR}/"), _in_order_of(at, array), leading)
            repeated = sorted(columns.keys() & found.keys())
            require(not repeated, f"{file!r} has several variables that are named {repeated[:8]}. Rename them.")
            columns |= found
    return (np.stack(list(columns.values()), axis=-1), list(columns)) if columns else (points, None)


def _given_names(arrays: Arrays, group: str) -> list[str]:
    """Names from the array of names of a group, or of the whole file; it may hold bytes."""
    found = arrays.get(f"{group}/{NAMES}") or arrays.get(NAMES)
    names = [] if found is None else np.ravel(found.values).tolist()
    return [name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name) for name in names]


def _task_names(group: str, values: Labelled, points: np.ndarray) -> list[str]:
    """Names of the columns of values: labels of their axis, the group of the only one, or numbers."""
    many = values.values.ndim == max(points.ndim, 2)
    labels = values.labels[-1] if many and values.labels else None
    count = values.values.shape[-1] if many else 1
    if labels is not None:
        return list(labels)
    return [group] if count == 1 and group else [f"task {t + 1}" for t in range(count)]


def _elements(name: str, array: Labelled, leading: int) -> dict[str, np.ndarray]:
    """Each element of a variable by its name: `tau`, `theta[1,2]`, or `theta[Choate]` where axes are labelled."""
    shape = array.values.shape[leading:]
    if not shape:
        return {name: array.values}
    known = list(array.labels)[-len(shape) :] if len(array.labels) >= len(shape) else [None] * len(shape)
    axes = [
        range(size) if labels is None or len(set(labels)) < size else labels  # equal labels would hide each other
        for size, labels in zip(shape, known, strict=True)
    ]
    return {
        f"{name}[{','.join(map(str, label))}]": array.values[(..., *index)]
        for index, label in zip(np.ndindex(*shape), product(*axes), strict=True)
    }


def _coordinate_names(points: Labelled) -> list[str]:
    labels = points.labels[-1] if points.labels else None
    dimension = points.values.shape[-1] if points.values.ndim > 1 else 1
    return [f"mean of x[{j}]" for j in range(dimension)] if labels is None else [str(label) for label in labels]


def _pair(arrays: Arrays, group: str) -> tuple[Labelled, Labelled]:
    points, scores = (arrays[_first(arrays, group, names)] for names in (POINTS, SCORES))
    return points, _in_order_of(points, scores)


def _in_order_of(other: Labelled, array: Labelled) -> Labelled:
    """An array whose axes have the order of another's where both have the same labels: chains, draws, coordinates."""
    values, labels = array.values, list(array.labels)
    for axis, (wanted, given) in enumerate(zip(other.labels, array.labels, strict=False)):
        if wanted and given and wanted != given and set(wanted) == set(given) and len(wanted) == len(set(given)):
            places = {label: place for place, label in enumerate(given)}
            values, labels[axis] = np.take(values, [places[label] for label in wanted], axis=axis), wanted
    return Labelled(values, labels)


def _first(arrays: Arrays, group: str, names: tuple[str, ...]) -> str:
    paths = [f"{group}/{name}" if group else name for name in names]
    return next((path for path in paths if path in arrays), "")
