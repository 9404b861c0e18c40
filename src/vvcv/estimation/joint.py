"""How the errors of several estimates go together: by what each row of the sample moves one mean and the other.

    cov(m_s, m_t) = e_s e_t corr(u_s, u_t),   u_ti = what mean t moves by when value i is replaced by its prediction

with standard errors e. Moves are linear where fits are, and so a function with slopes J has moves of its own:

    v = sum_t J_t u_t,   error^2 = k sum_t (J_t e_t)^2,   k = |v|^2 / sum_t |J_t u_t|^2

Were all errors independent, k would be one; the moves tell how much cancels or adds up. That of a difference of nearly
the same integrands cancels, though their error bars, each made of several parts, may differ by more than it is.

Tasks on points of their own are taken as independent: what a joint kernel makes their errors share is left out, which
widens the error bar of a difference of tasks that are alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ..data import Tasks
from ..data.chains import effective_sizes

Moves = Sequence[Float[np.ndarray, " n"]]


def error_correlation(tasks: Tasks, moves: Moves) -> Float[np.ndarray, "T T"]:
    """Correlation of the errors of all tasks' estimates: of their moves where they share points, zero elsewhere.

    >>> x = np.array([-1.0, 0.0, 1.0])
    >>> error_correlation(Tasks.shared(x, -x, np.column_stack([x, x])), [x, -2 * x])
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    result = np.eye(len(tasks))
    for members in _groups(tasks):
        if len(members) > 1:
            result[np.ix_(members, members)] = _correlation(np.array([moves[t] for t in members]))
    return result


def value_correlation(tasks: Tasks) -> Float[np.ndarray, "T T"]:
    """Correlation of the errors of plain averages: of the values where tasks share points, zero elsewhere.

    >>> x = np.array([-1.0, 0.0, 1.0])
    >>> value_correlation(Tasks.shared(x, -x, np.column_stack([x, 1 - 2 * x])))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    return error_correlation(tasks, [task.values - task.values.mean() for task in tasks])


def of_functions(
    tasks: Tasks, moves: Moves, slopes: Float[np.ndarray, "k T"]
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """What is left of the squared errors of k functions where those of tasks cancel (k above), and how surely.

        nu = 2 / sum_g tau_g (sum_i d_i^2 - (sum_i d_i)^2 / n_g),   d_i = v_i^2 / |v|^2 - q_i / sum_i q_i,
        q_i = sum_t (J_t u_ti)^2

    degrees of freedom (Satterthwaite), over groups g of tasks on the same n_g points, tau_g the correlation time of d
    along chains. k is a ratio of sums over rows: few rows that tell it leave it few, but where errors are those of one
    task, or go together in every row alike, nothing is in doubt. How sure each error is the tasks' own freedom says.

    >>> x, y = np.array([-1.0, 0.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0])
    >>> of_functions(Tasks.shared(x, -x, np.column_stack([x, y])), [x, y], np.array([[1.0, 0.0], [1.0, -1.0]]))
    (array([1., 1.]), array([inf,  4.]))
    """
    lengths, units = zip(*(_length_and_unit(move) for move in moves), strict=True)
    shares = slopes * np.array(lengths)
    largest = np.max(np.abs(shares), axis=1, keepdims=True)  # powers of numbers in any unit
    shares = np.divide(shares, largest, out=np.zeros_like(shares), where=largest > 0)
    groups = _groups(tasks)
    rows = [np.array([units[t] for t in members]) for members in groups]
    together = [(shares[:, members] @ row) ** 2 for members, row in zip(groups, rows, strict=True)]
    apart = [shares[:, members] ** 2 @ row**2 for members, row in zip(groups, rows, strict=True)]
    numerator, denominator = (np.sum(np.hstack(sums), axis=1, keepdims=True) for sums in (together, apart))
    left = np.divide(numerator, denominator, out=np.ones_like(numerator), where=denominator > 0)[:, 0]
    doubt = np.zeros(len(shares))
    for members, squares, terms in zip(groups, together, apart, strict=True):
        told = _parts_of(squares, numerator) - _parts_of(terms, denominator)
        chains, count = tasks[members[0]].chains, told.shape[1]
        time = 1.0 if chains is None else count / effective_sizes(told.T, chains)
        doubt += time * count * np.var(told, axis=1)
    return left, np.divide(2.0, doubt, out=np.full_like(doubt, np.inf), where=doubt > 0)


def _parts_of(rows: Float[np.ndarray, "k n"], whole: Float[np.ndarray, "k 1"]) -> Float[np.ndarray, "k n"]:
    return np.divide(rows, whole, out=np.zeros_like(rows), where=whole > 0)


def _groups(tasks: Tasks) -> list[list[int]]:
    """Tasks on the very same points."""
    if tasks.share_points:
        return [list(range(len(tasks)))]
    groups: dict[bytes, list[int]] = {}
    for t, task in enumerate(tasks):
        groups.setdefault(task.points.tobytes(), []).append(t)
    return list(groups.values())


def _correlation(moves: Float[np.ndarray, "m n"]) -> Float[np.ndarray, "m m"]:
    """Cosines between rows; a row of zeros, whose error is nil, goes with no other."""
    unit = np.array([_length_and_unit(row)[1] for row in moves])
    result = np.clip(unit @ unit.T, -1.0, 1.0)
    np.fill_diagonal(result, 1.0)
    return result


def _length_and_unit(move: Float[np.ndarray, " n"]) -> tuple[float, Float[np.ndarray, " n"]]:
    largest = float(np.max(np.abs(move)))
    if largest == 0:
        return 0.0, np.zeros_like(move)
    scaled = move / largest  # whose squares are numbers
    length = float(np.linalg.norm(scaled))
    return largest * length, scaled / length
