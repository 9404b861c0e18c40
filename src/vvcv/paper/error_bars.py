"""Error bars of means: jackknife of closed forms, residuals of descents, both with the autocorrelation of chains.

    beta - beta_(-I) = w_I' r_I,   r_I the residuals of block I predicted without it,   Var(beta) = sum_I (w_I' r_I)^2

A value deleted is a value replaced by its prediction from the others, so that the weights w of the values in beta say
what each block does to it. Independent rows are blocks of one. Along a chain neighbours predict each other, and blocks
are a few correlation times long; what remains in the series w_i r_i of autocorrelation enters by Geyer's sum, and few
effective draws widen the bar as Student's t does. None of these sees all of the bias of beta; for independent rows,
`estimators.CrossFit` has none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr, stdtrit

from ..data.chains import effective_sizes, variance_of_mean
from .closed_form import Influence, LinearSolution, joint_solution
from .problem import Problem
from .settings import DescentSettings

#: Blocks left out of chains are this many correlation times long, but at least so many blocks are made of a sample: at
#: rho = 0.99 longer ones give bars twice too wide (benchmarks/chains_fit.py).
TIMES, FEWEST_BLOCKS = 1, 20

#: Fewer degrees of freedom than this are not believed: bars of Student's t with one or two are of no use to anyone.
FEWEST_DRAWS = 3.0


def exact_covariance(problem: Problem, solution: LinearSolution) -> Float[np.ndarray, "T T"]:
    """Covariance of the means of a closed form: the jackknife, by blocks where rows are chains."""
    count, influence = len(problem.tasks), solution.influence()
    if all(task.chains is None for task in problem.tasks):
        spread = influence.weights * influence.left_out
        return (spread @ spread.T)[:count, :count]
    starts = np.cumsum([0, *problem.tasks.sizes[:-1]])
    own = [start + np.arange(task.size)[:, None] for start, task in zip(starts, problem.tasks, strict=True)]
    if problem.tasks.share_points:  # one chain with all integrands on it: a draw is left out of all of them
        return _of_rows(problem, influence, np.hstack(own), problem.tasks[0].chains)
    parts = [_of_rows(problem, influence, rows, task.chains) for rows, task in zip(own, problem.tasks, strict=True)]
    return np.sum(parts, axis=0)


def average_variance(remainder: Float[np.ndarray, " n"], chains: tuple[int, int] | None) -> float:
    """Squared standard error of the average of a remainder f - g, of independent rows or along chains."""
    if len(remainder) < 2:
        return np.inf
    if chains is None:
        return float(np.var(remainder, ddof=1) / len(remainder))
    variance, draws = variance_of_mean(remainder, chains)
    return variance * _widening(remainder, draws) ** 2


def descent_covariance(
    problem: Problem,
    theta: Any,
    beta: Float[np.ndarray, " p"],
    b: Float[np.ndarray, "T T"],
    settings: DescentSettings,
) -> Float[np.ndarray, "T T"]:
    """The larger of two: the spread of the fit's own residuals, and the jackknife of the minimiser it approaches.

    The first is blind to overfitting, the second to a descent that stopped early.
    """
    g = problem.function(theta, beta, b)
    remainders = [task.values - g(task.points, task.scores, t) for t, task in enumerate(problem.tasks)]
    variances = [average_variance(r, task.chains) for r, task in zip(remainders, problem.tasks, strict=True)]
    own = np.where(np.isfinite(variances), variances, 0.0)  # of a single row, the jackknife is all there is
    if settings.regularization == 0:
        return np.diag(own)
    try:
        objective = settings.objective.quadratic
        minimiser = joint_solution(problem, settings.regularization, settings.penalty, b, objective)
        jackknife = exact_covariance(problem, minimiser)
    except ValueError:  # Not linear, or not positive definite within rounding: the residuals are all there is.
        return np.diag(own)
    return jackknife + np.diag(np.maximum(own - np.diag(jackknife), 0.0))


def _of_rows(
    problem: Problem, influence: Influence, rows: Int[np.ndarray, "n copies"], chains: tuple[int, int] | None
) -> Float[np.ndarray, "T T"]:
    """What the given rows, along chains or independent, contribute to the covariance of the means."""
    count = len(problem.tasks)
    if chains is None:
        spread = influence.weights[:count, rows[:, 0]] * influence.left_out[rows[:, 0]]
        return spread @ spread.T
    left_out = np.empty(len(problem.values))
    blocks = [rows[draws].ravel() for draws in _blocks(problem, rows, chains)]
    for block, residuals in zip(blocks, influence.blocks_left_out(blocks), strict=True):
        left_out[block] = residuals
    series = np.sum(influence.weights[:count, rows] * left_out[rows], axis=2)
    errors = np.array([_error_of_sum(each, chains) for each in series])
    lengths = np.linalg.norm(series, axis=1)
    unit = series / np.where(lengths > 0, lengths, 1.0)[:, None]
    return errors[:, None] * (unit @ unit.T) * errors


def _blocks(problem: Problem, rows: np.ndarray, chains: tuple[int, int]) -> list[Int[np.ndarray, " k"]]:
    """Neighbouring draws of each chain, a few correlation times of values and points together."""
    series = np.column_stack([problem.tasks.points[rows[:, 0]], problem.values[rows]])
    size = float(effective_sizes(series, chains).min())
    count, length = chains
    per_chain = int(np.clip(size / (TIMES * count), -(-FEWEST_BLOCKS // count), length))
    draws = np.arange(count * length).reshape(chains)
    return [block for chain in draws for block in np.array_split(chain, per_chain)]


def _error_of_sum(series: Float[np.ndarray, " n"], chains: tuple[int, int]) -> float:
    """Root mean square of the sum of a series along chains: its own value, the jackknife's bias, and its spread."""
    variance, draws = variance_of_mean(series, chains)
    return float(np.hypot(np.sum(series), np.sqrt(variance) * len(series) * _widening(series, draws)))


def _widening(series: Float[np.ndarray, " n"], draws: float) -> float:
    """By how much two standard errors must grow to cover what they cover of a normal, with so few draws.

    A variance from n draws of kurtosis k is as uncertain as one from 2 n / (k - 1) normal ones.
    """
    centred = series - np.mean(series)
    variance = float(np.mean(centred**2))
    kurtosis = float(np.mean(centred**4)) / variance**2 if variance > 0 else 3.0
    freedom = max(2 * draws / (max(kurtosis, 3.0) - 1) - 1, FEWEST_DRAWS)
    return float(stdtrit(freedom, ndtr(2.0)) / 2)
