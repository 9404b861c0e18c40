"""B by a sequence of convex problems (paper, Theorem D.1): one target, K_0 = B k_0, delta decreasing to 0.

    Lbar_delta(alpha, beta, B) = J(alpha, beta) + lambda Tr[B^-1 (alpha' k_0 alpha + delta^2 I)] + ||B||_F^2

is jointly convex in alpha = theta B (the coefficients of g in k_0), beta and B. Two exact steps in turn: (alpha, beta)
given B is Theorem 4.1, and B given alpha is (lambda (alpha' k_0 alpha + delta^2 I) / 2)^(1/3). The paper's delta^2
stands inside a sum over all pairs of points: its delta is ours divided by N. A diagonal or block-diagonal B is found
block by block, for which the problem is convex too; a Fixed one stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ..data import is_number, whole_number
from ..runtime.precision import float64
from .closed_form import check_regularization, joint_solution
from .error_bars import exact_covariance
from .problem import Problem
from .result import Fit, Path
from .selection import Seed, Selection
from .settings import check_tolerance


class ConvexPath(NamedTuple):
    """Coefficients, means and B at the end; objective, delta, means and B after every step."""

    theta: Float[np.ndarray, " N"]
    beta: Float[np.ndarray, " p"]
    b: Float[np.ndarray, "T T"]
    objectives: Float[np.ndarray, " steps"]
    deltas: Float[np.ndarray, " steps"]
    betas: Float[np.ndarray, "steps p"]
    matrices: Float[np.ndarray, "steps T T"]


@dataclass(frozen=True)
class ConvexSequence(Selection):
    """Settings of the sequence: delta falls by `shrink` from `delta` (relative to B's own scale) to `smallest`."""

    regularization: float = 1e-3
    delta: float = 1e-1
    shrink: float = 0.1
    smallest: float = 1e-6
    tolerance: float = 1e-8
    steps: int = 500

    def __post_init__(self) -> None:
        check_regularization(self.regularization)
        object.__setattr__(self, "steps", whole_number(self.steps, 1, "The number of steps"))
        check_tolerance(self.tolerance)
        numbers = all(map(is_number, (self.shrink, self.smallest, self.delta)))
        if not (numbers and 0 < self.shrink < 1 and 0 < self.smallest <= self.delta < np.inf):
            raise ValueError(
                "A decreasing sequence needs 0 < shrink < 1 and 0 < smallest <= delta, but found "
                f"shrink = {self.shrink}, smallest = {self.smallest}, delta = {self.delta}."
            )

    def select(self, problem: Problem, seed: Seed = 0) -> Fit:
        """The end of the sequence; nothing is random."""
        end = convex_sequence(problem, self)
        path = Path(end.betas[:, : len(problem.tasks)], end.objectives, end.matrices, None)
        solution = joint_solution(problem, self.regularization, "rkhs", end.b)
        spread = partial(exact_covariance, problem, solution)
        return Fit.of(problem, end.theta, end.beta, end.b, float(end.objectives[-1]), spread, path)


@float64
def convex_sequence(problem: Problem, settings: ConvexSequence) -> ConvexPath:
    """Minimise Lbar_delta for each delta in turn, each from the minimiser of the one before."""
    lam, gram = settings.regularization, problem.space.scalar_gram()
    indicator = np.eye(len(problem.tasks))[problem.tasks.task]
    free = problem.free_entries
    learned = np.ix_(*[np.flatnonzero(free.any(axis=0))] * 2)
    b = _start(problem.b, free)
    delta = settings.delta * float(np.sqrt(2 * np.trace(b @ b @ b) / (lam * len(b))))
    stop = delta * settings.smallest / settings.delta
    objectives, deltas, betas, matrices = [], [], [], []
    while True:
        for step in range(settings.steps):
            solution = joint_solution(problem, lam, "rkhs", b)
            penalty = lam * delta**2 * np.trace(np.linalg.inv(b[learned]))
            objectives.append(solution.objective + penalty + np.sum(b**2))
            deltas.append(delta)
            betas.append(solution.beta)
            matrices.append(b)
            if step and objectives[-2] - objectives[-1] <= settings.tolerance * objectives[-1]:
                break
            own = theta_products(gram, solution.theta, indicator)
            b = np.where(free, best_b_of_function(np.where(free, b @ own @ b, 0.0), lam, delta), b)
        if delta <= stop * (1 + 1e-9):
            break
        delta *= settings.shrink
    paths = (np.array(path) for path in (objectives, deltas, betas, matrices))
    return ConvexPath(solution.theta, solution.beta, matrices[-1], *paths)


def best_b_of_function(
    products: Float[np.ndarray, "T T"], regularization: float, delta: float = 0.0
) -> Float[np.ndarray, "T T"]:
    """argmin over B of lambda Tr[B^-1 (S + delta^2 I)] + ||B||_F^2, which is (lambda (S + delta^2 I) / 2)^(1/3).

    >>> best_b_of_function(np.diag([16.0, 2.0]), 1.0).round(12)
    array([[2., 0.],
           [0., 1.]])
    """
    values, vectors = np.linalg.eigh(0.5 * regularization * (products + products.T) / 2)
    return (vectors * np.cbrt(np.maximum(values, 0.0) + 0.5 * regularization * delta**2)) @ vectors.T


def theta_products(
    gram: Float[np.ndarray, "N N"], theta: Float[np.ndarray, " N"], indicator: Float[np.ndarray, "N T"]
) -> Float[np.ndarray, "T T"]:
    """theta' k_0 theta in the reduced parametrisation; alpha' k_0 alpha is B (theta' k_0 theta) B."""
    spread = theta[:, None] * indicator
    return spread.T @ gram @ spread


def _start(b: Float[np.ndarray, "T T"], free: Bool[np.ndarray, "T T"]) -> Float[np.ndarray, "T T"]:
    """The given B, lifted where it is singular and may move: every convex problem forgets its start."""
    lifted = b + 1e-6 * np.trace(b) / len(b) * np.eye(len(b)) if np.linalg.eigvalsh(b)[0] <= 0 else b
    return np.where(free, lifted, b)
