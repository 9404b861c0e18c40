"""Closed forms for spaces that are linear in theta (paper, Theorem 4.1 and C.2).

With Q the quadratic form of the objective (Q = diag(1/m_t) for J_vv), Psi the features and P the matrix of the penalty,
the joint minimiser of (y - A beta - Psi theta)' Q (...) + lambda theta' P theta is

    W = Psi P^-1 Psi' + lambda Q^-1,   beta = (A' W^-1 A)^-1 A' W^-1 y,   theta = P^-1 Psi' W^-1 (y - A beta),

and by least squares on theta itself where there are fewer features than rows, or no penalty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import LinAlgError, cholesky, solve

from ..data import is_number
from ..linear_system.solution import solve_matrix
from ..runtime.precision import float64
from .objective import Objective, Variance
from .problem import Problem
from .variates import Dual, Penalty

#: Where less than this of a value is left unfitted, least squares goes through it whatever it is: no residual tells.
UNSEEN = 1e-9


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """The joint minimiser, with what an error bar asks: the weight of every value in beta, and residuals left out."""

    theta: Float[np.ndarray, " ..."]
    beta: Float[np.ndarray, " p"]
    objective: float
    influence: Callable[[], Influence]


class Influence(NamedTuple):
    """Each value's weight in beta, and residuals of values predicted without them: row by row, or block by block."""

    weights: Float[np.ndarray, "p N"]
    left_out: Float[np.ndarray, " N"]
    blocks_left_out: Callable[[Sequence[Int[np.ndarray, " k"]]], Iterable[Float[np.ndarray, " k"]]]


@float64
def joint_solution(
    problem: Problem,
    regularization: float,
    penalty: Penalty = "rkhs",
    b: Float[np.ndarray, "T T"] | None = None,
    objective: Objective | None = None,
) -> LinearSolution:
    """theta and beta that minimise L_vv together, for a fixed B (paper, eq. 8; Theorem 4.1 with beta optimal too)."""
    space = problem.space_with(penalty)
    b = problem.b if b is None else b
    precision = (objective or Variance()).precision(problem.chains)
    if penalty == "rkhs":
        check_regularization(regularization)
        solution = _dual(space.dual(b), precision, problem, regularization)
    else:
        psi = np.asarray(space.expand(b))
        if psi.shape[1] <= psi.shape[0] or regularization == 0:
            solution = _primal(psi, precision, problem, regularization)
        else:
            solution = _dual(_euclidean(psi), precision, problem, regularization)
    return replace(solution, theta=solution.theta.reshape(space.initial().shape))


@float64
def solution_given_means(
    problem: Problem,
    beta: Float[np.ndarray, " p"],
    regularization: float,
    penalty: Penalty = "rkhs",
    b: Float[np.ndarray, "T T"] | None = None,
    objective: Objective | None = None,
) -> LinearSolution:
    """theta of Theorem 4.1 with beta given, and as means the averages of f - g (paper, after Theorem 4.1).

    N T unknowns in the paper's parametrisation, N in the reduced one, (K0 + lambda diag(m_t)) c = f - beta, which gives
    the same function.
    """
    check_regularization(regularization)
    space = problem.space_with(penalty)
    b = problem.b if b is None else b
    dual = space.dual(b) if penalty == "rkhs" else _euclidean(np.asarray(space.expand(b)))
    precision = (objective or Variance()).precision(problem.chains)
    noise = regularization * (np.diag(1 / precision) if precision.ndim == 1 else np.linalg.inv(precision))
    inverse, target = np.linalg.inv(dual.gram + noise), problem.values - problem.columns @ beta
    weights = solve(dual.gram + noise, target, assume_a="pos")
    count = len(problem.tasks)
    mine, left = problem.columns[:, :count], problem.values - problem.columns[:, count:] @ beta[count:]
    averages = mine.T / mine.sum(axis=0)[:, None]

    def without(blocks: Sequence[np.ndarray]) -> Iterable[np.ndarray]:
        return (np.linalg.solve(inverse[np.ix_(rows, rows)], weights[rows]) for rows in blocks)

    return LinearSolution(
        theta=dual.coefficients(weights).reshape(space.initial().shape),
        beta=np.concatenate([averages @ (left - dual.gram @ weights), beta[count:]]),
        objective=float(target @ weights) * regularization,
        influence=lambda: Influence(averages @ noise @ inverse, weights / np.diag(inverse), without),
    )


def coefficients_given_means(
    problem: Problem, beta: Float[np.ndarray, " p"], regularization: float, b: Float[np.ndarray, "T T"] | None = None
) -> Float[np.ndarray, " ..."]:
    """theta of Theorem 4.1 with beta given.

    Full:     sum_t' sum_j' (sum_t 1/m_t sum_j K0_.t K0_t. + lambda K0) theta = sum_t 1/m_t sum_j K0_.t (f - beta)
    Reduced:  (K0 + lambda diag(m_t)) c = f - beta, which gives the same function.
    """
    return solution_given_means(problem, beta, regularization, "rkhs", b).theta


@float64
def best_means(problem: Problem, theta: np.ndarray, b: np.ndarray | None = None) -> Float[np.ndarray, " T"]:
    """beta_t* = average of f_t - (g_theta)_t over the points of task t, given theta (paper, after Theorem 4.1)."""
    b = problem.b if b is None else b
    remainder = problem.values - np.asarray(problem.space.output(theta, b))
    task = problem.tasks.task
    return np.bincount(task, weights=remainder) / np.bincount(task)


def _euclidean(psi: np.ndarray) -> Dual:
    return Dual(psi @ psi.T, lambda weights: psi.T @ weights)


def _dual(dual: Dual, precision: np.ndarray, problem: Problem, lam: float) -> LinearSolution:
    """N unknowns, one factorisation of W."""
    noise = np.diag(1 / precision) if precision.ndim == 1 else np.linalg.inv(precision)
    try:
        system = solve_matrix(dual.gram + lam * noise, problem.columns, problem.values)
    except LinAlgError:
        raise ValueError(
            f"K_0 + lambda diag(m_t) must be positive definite, but is not at lambda = {lam:g} within rounding. "
            "Increase the regularization, or remove points that nearly coincide."
        ) from None
    weights = system.weights

    def influence() -> Influence:
        return Influence(system.influence, system.leave_one_out()[0], without)

    def without(blocks: Sequence[np.ndarray]) -> Iterable[np.ndarray]:
        return (residual for residual, _ in system.leave_rows_out(blocks))

    value = lam * float(problem.values @ weights)
    return LinearSolution(dual.coefficients(weights), system.coefficients, value, influence)


def _primal(psi: np.ndarray, precision: np.ndarray, problem: Problem, lam: float) -> LinearSolution:
    """As many unknowns as columns and features: least squares, of least norm where data leave a choice."""
    columns, both = problem.columns.shape[1], np.hstack([problem.columns, psi])
    root = np.sqrt(precision) if precision.ndim == 1 else cholesky(precision)
    ridge = np.zeros((psi.shape[1], columns + psi.shape[1]))
    ridge[:, columns:] = np.sqrt(lam) * np.eye(psi.shape[1])
    design = np.vstack([root[:, None] * both if root.ndim == 1 else root @ both, ridge])
    scale = np.linalg.norm(design, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    inverse = np.linalg.pinv(design / scale, rcond=1e-13)[:, : len(psi)]
    inverse = (inverse * root if root.ndim == 1 else inverse @ root) / scale[:, None]
    fitted = inverse @ problem.values
    residual = problem.values - both @ fitted
    leverage = np.sum(both * inverse.T, axis=1)
    weighted = residual @ (precision * residual if precision.ndim == 1 else precision @ residual)
    value = float(weighted + lam * np.sum(fitted[columns:] ** 2))
    own = 1 - leverage  # of a value that others say nothing of, none: no residual tells its error
    left_out = np.where(own > UNSEEN, residual / np.maximum(own, UNSEEN), np.inf)

    unknown = np.full(len(residual), np.inf)

    def without(blocks: Sequence[np.ndarray]) -> Iterable[np.ndarray]:
        for rows in blocks:
            part, back = both[rows], inverse[:, rows]
            if len(rows) > part.shape[1]:  # by the unknowns, of which there are fewer than rows
                kept, target = np.eye(part.shape[1]) - back @ part, back @ residual[rows]
            else:
                kept, target = np.eye(len(rows)) - part @ back, residual[rows]
            found, _, _, sizes = np.linalg.lstsq(kept, target, rcond=1e-12)
            seen = sizes.min() > UNSEEN
            yield (residual[rows] + part @ found if len(rows) > part.shape[1] else found) if seen else unknown[rows]

    return LinearSolution(
        fitted[columns:], fitted[:columns], value, lambda: Influence(inverse[:columns], left_out, without)
    )


def check_regularization(lam: float) -> None:
    """Refuse a lambda that no kernel variate can have.

    >>> check_regularization(1e-3)
    """
    if not (is_number(lam) and 0 < lam < np.inf):
        raise ValueError(
            f"The penalty lambda must be positive for a kernel variate, but is {lam!r}. Interpolation is the limit of "
            "a small one: take 1e-8 times the variance of the values."
        )
