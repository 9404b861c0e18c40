"""Exact block-coordinate descent: closed forms in turn for theta, beta and B (paper, section 4, after Theorem 4.1).

    theta <- Theorem 4.1 given beta     beta_t <- average of f_t - (g_theta)_t     B <- argmin Lbar given theta, beta

The sweep theta, beta is an affine map of beta in R^T that contracts slowly when lambda is small: beta moves by
lambda A' W^-1 (y - A beta). Anderson's extrapolation finds its fixed point in about T sweeps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve

from ..data import whole_number
from ..runtime.precision import float64
from .closed_form import check_regularization, joint_solution
from .error_bars import exact_covariance
from .problem import Problem
from .result import Fit, Path
from .selection import Seed, Selection
from .settings import check_tolerance


class Alternated(NamedTuple):
    """Where an alternation ended, and objective, means and B after every sweep."""

    theta: Float[np.ndarray, " N"]
    beta: Float[np.ndarray, " p"]
    b: Float[np.ndarray, "T T"]
    objectives: Float[np.ndarray, " sweeps"]
    betas: Float[np.ndarray, "sweeps p"]
    matrices: Float[np.ndarray, "sweeps T T"]


@dataclass(frozen=True)
class Alternation(Selection):
    """Alternate exact minimisers of L_vv over theta and beta, and of Lbar_vv over B with `learn_b`.

    `accelerate` extrapolates the sweeps of theta and beta; without it they are the paper's, and slow at small lambda.

    >>> from vvcv import Tasks
    >>> from vvcv.kernels import SquaredExponential
    >>> from vvcv.paper import Exact, KernelVariate, fit
    >>> x = np.linspace(-2, 2, 9)[:, None]
    >>> tasks, variate = Tasks.shared(x, -x, np.sin(x + 1)), KernelVariate(SquaredExponential())
    >>> bool(abs(fit(tasks, variate, Alternation()).mean - fit(tasks, variate, Exact()).mean) < 1e-9)
    True
    """

    regularization: float = 1e-3
    learn_b: bool = False
    accelerate: bool = True
    tolerance: float = 1e-13
    sweeps: int = 10_000

    def __post_init__(self) -> None:
        check_regularization(self.regularization)
        check_tolerance(self.tolerance)
        object.__setattr__(self, "sweeps", whole_number(self.sweeps, 1, "The number of sweeps"))

    def select(self, problem: Problem, seed: Seed = 0) -> Fit:
        """Sweeps until they come to rest; nothing is random."""
        end = (alternate_with_b if self.learn_b else alternate_means)(problem, self)
        path = Path(end.betas[:, : len(problem.tasks)], end.objectives, end.matrices, None)
        solution = joint_solution(problem, self.regularization, "rkhs", end.b)
        spread = partial(exact_covariance, problem, solution)
        return Fit.of(problem, end.theta, end.beta, end.b, float(end.objectives[-1]), spread, path)


def alternate_means(problem: Problem, settings: Alternation) -> Alternated:
    """Sweeps of theta (Theorem 4.1) and beta (averages) until beta stands still."""
    gram = _reduced_gram(problem, problem.b)
    task, columns, values = problem.tasks.task, problem.columns, problem.values
    counts = np.bincount(task)[task]
    factor = cho_factor(gram + settings.regularization * np.diag(counts))
    solver = np.linalg.lstsq(columns / np.sqrt(counts)[:, None], np.diag(1 / np.sqrt(counts)), rcond=None)[0]

    def sweep(beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        theta = cho_solve(factor, values - columns @ beta)
        return theta, solver @ (values - gram @ theta)

    scale = np.std(values) + np.abs(problem.plain_means).max() * 1e-3 + 1e-300
    history: list[tuple[np.ndarray, np.ndarray]] = []
    beta, objectives, betas = problem.plain_means, [], []
    for _ in range(settings.sweeps):
        theta, moved = sweep(beta)
        past = history[-columns.shape[1] :] if settings.accelerate else []
        history = [*past, (beta, moved - beta)]
        residual = values - columns @ moved - gram @ theta
        objectives.append(residual @ (residual / counts) + settings.regularization * theta @ gram @ theta)
        betas.append(moved)
        if np.abs(moved - beta).max() <= settings.tolerance * scale * _pace(history):
            theta, _ = sweep(moved)
            matrices = np.broadcast_to(problem.b, (len(betas), *problem.b.shape))
            return Alternated(theta, moved, problem.b, np.array(objectives), np.array(betas), matrices)
        beta = _anderson(history)
    raise ValueError(
        f"The sweeps must come to rest, but after {settings.sweeps} of them beta still moves by "
        f"{np.abs(history[-1][1]).max():g}. Set accelerate=True, or increase the regularization."
    )


@float64
def alternate_with_b(problem: Problem, settings: Alternation) -> Alternated:
    """Exact (theta, beta) given B, then the exact B given (theta, beta), until Lbar_vv stands still (paper, eq. 10)."""
    b, objectives, betas, matrices = problem.b, [], [], []
    for _ in range(settings.sweeps):
        solution = joint_solution(problem, settings.regularization, "rkhs", b)
        objectives.append(solution.objective + np.sum(b**2))
        betas.append(solution.beta)
        matrices.append(b)
        if len(objectives) > 1 and objectives[-2] - objectives[-1] <= settings.tolerance * abs(objectives[-1]):
            break
        b = best_b(problem, solution.theta, solution.beta, settings.regularization)
    paths = (np.array(objectives), np.array(betas), np.array(matrices))
    return Alternated(solution.theta, solution.beta, matrices[-1], *paths)


def best_b(
    problem: Problem,
    theta: Float[np.ndarray, " N"],
    beta: Float[np.ndarray, " p"],
    regularization: float,
    steps: int = 2000,
) -> Float[np.ndarray, "T T"]:
    """argmin over positive semi-definite B of Lbar_vv with theta and beta held fixed: Update_B of Algorithm 1, exactly.

    The objective is a strongly convex quadratic in B: accelerated gradient steps, each projected on the cone. Entries
    that the form of B does not let move (all of a Fixed one) stay.
    """
    task, gram = problem.tasks.task, problem.space.scalar_gram()
    tasks = len(problem.tasks)
    indicator = np.eye(tasks)[task]
    heights = gram @ (theta[:, None] * indicator)
    weighted = (indicator / np.bincount(task)[task][:, None]).T
    target = problem.values - problem.columns @ beta
    slope = weighted @ (target[:, None] * heights) - 0.5 * regularization * indicator.T @ (theta[:, None] * heights)
    curvatures = np.einsum("ti,iu,iv->tuv", weighted, heights, heights) + np.eye(tasks)

    def gradient(b: np.ndarray) -> np.ndarray:
        raw = np.einsum("tv,tvu->tu", b, curvatures) - slope
        return raw + raw.T

    rates = np.linalg.eigvalsh(curvatures)
    step, ratio = 0.5 / rates.max(), np.sqrt(rates.min() / rates.max())
    momentum = (1 - ratio) / (1 + ratio)
    free = problem.free_entries
    b = ahead = _project(problem.b, problem.b, free)
    for _ in range(steps):
        moved = _project(ahead - step * gradient(ahead), problem.b, free)
        if np.abs(moved - b).max() <= 1e-15 * np.abs(moved).max():
            return moved
        ahead, b = moved + momentum * (moved - b), moved
    return b


def _project(b: np.ndarray, start: np.ndarray, free: np.ndarray) -> np.ndarray:
    """The nearest positive semi-definite matrix with the entries of `start` where none may move."""
    values, vectors = np.linalg.eigh(np.where(free, 0.5 * (b + b.T), 0.0))
    return np.where(free, (vectors * np.maximum(values, 0.0)) @ vectors.T, start)


@float64
def _reduced_gram(problem: Problem, b: np.ndarray) -> Float[np.ndarray, "N N"]:
    problem.space.scalar_gram()
    return np.asarray(problem.space.expand(b))


def _pace(history: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """How much shorter the last step is than the way still to go: 1 - rate of contraction, from two sweeps."""
    if len(history) < 2:
        return 1.0
    before, after = np.abs(history[-2][1]).max(), np.abs(history[-1][1]).max()
    return max(1e-3, 1 - after / before) if before > after else 1e-3


def _anderson(history: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The combination of past iterates whose predicted step is smallest, plus that step."""
    points, steps = (np.array(part) for part in zip(*history, strict=True))
    if len(points) == 1:
        return points[-1] + steps[-1]
    gamma = np.linalg.lstsq(np.diff(steps, axis=0).T, steps[-1], rcond=None)[0]
    return points[-1] + steps[-1] - (np.diff(points, axis=0) + np.diff(steps, axis=0)).T @ gamma
