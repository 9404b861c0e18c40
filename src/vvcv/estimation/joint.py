"""How the errors of several estimates go together: what the control variates leave of the values, task against task.

    cov(m_s, m_t) = e_s e_t corr(r_s, r_t),   r_t = f_t(x) - g_t(x) on points that both tasks have

with standard errors e. Tasks on points of their own are taken as independent: what a joint kernel makes their errors
share is left out, which widens the error bar of a difference of tasks that are alike.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from ..data import Task, Tasks
from .control_variate import ControlVariate

#: Rows from which correlations are computed at most; so many give them to 3 %, and a variate is dear to evaluate.
MOST_ROWS = 1000


def error_correlation(tasks: Tasks, variate: ControlVariate) -> Float[np.ndarray, "T T"]:
    """Correlation of the errors of all tasks' estimates: of their residuals where they share points, zero elsewhere."""
    return _by_group(tasks, [task.values[rows_of(task)] - fitted(variate, task, t) for t, task in enumerate(tasks)])


def value_correlation(tasks: Tasks) -> Float[np.ndarray, "T T"]:
    """Correlation of the errors of plain averages: of the values where tasks share points, zero elsewhere.

    >>> x = np.array([-1.0, 0.0, 1.0])
    >>> value_correlation(Tasks.shared(x, -x, np.column_stack([x, 1 - 2 * x])))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    return _by_group(tasks, [task.values for task in tasks])


def rows_of(task: Task) -> slice:
    """Every k-th row, so that at most `MOST_ROWS` remain."""
    return slice(None, None, -(-task.size // MOST_ROWS))


def fitted(variate: ControlVariate, task: Task, index: int) -> Float[np.ndarray, " k"]:
    """The control variate of one task at its own rows, thinned as `rows_of` says."""
    rows = rows_of(task)
    return variate(task.points[rows], task.scores[rows], index)


def _by_group(tasks: Tasks, left: list[np.ndarray]) -> Float[np.ndarray, "T T"]:
    result = np.eye(len(tasks))
    for members in _groups(tasks):
        if len(members) > 1:
            result[np.ix_(members, members)] = _correlation(np.array([left[t] for t in members]))
    return result


def _groups(tasks: Tasks) -> list[list[int]]:
    """Tasks on the very same points."""
    if tasks.share_points:
        return [list(range(len(tasks)))]
    groups: dict[bytes, list[int]] = {}
    for t, task in enumerate(tasks):
        groups.setdefault(task.points.tobytes(), []).append(t)
    return list(groups.values())


def _correlation(left: Float[np.ndarray, "m n"]) -> Float[np.ndarray, "m m"]:
    """Correlation of rows; a row that does not vary, whose error is nil, goes with no other."""
    centred = left - left.mean(axis=1, keepdims=True)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    unit = np.divide(centred, length, out=np.zeros_like(centred), where=length > 0)
    result = np.clip(unit @ unit.T, -1.0, 1.0)
    np.fill_diagonal(result, 1.0)
    return result
