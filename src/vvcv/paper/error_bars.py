"""Error bars of means: jackknife of closed forms, residuals of descents, both with the autocorrelation of chains.

    beta - beta_(-I) = w_I' r_I,   r_I the residuals of block I predicted without it,   Var(beta) = sum_I (w_I' r_I)^2

A value deleted is a value replaced by its prediction from the others, so that the weights w of the values in beta say
what each block does to it. Independent rows are blocks of one point, with the values of all tasks there. Along a chain
neighbours predict each other, and blocks are a few correlation times long; what remains in the series w_i r_i of
autocorrelation enters by Geyer's sum, and few effective draws widen the bar as Student's t does. None of these sees all
of the bias of beta; for independent rows, `estimators.CrossFit` has none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr, stdtrit

from ..data import Tasks, point_numbers
from ..data.chains import effective_sizes, variance_of_mean
from .closed_form import Influence, LinearSolution, joint_solution
from .problem import Problem
from .settings import DescentSettings

#: Blocks left out of chains are this many correlation times long, but at least so many blocks are made of a sample: at
#: rho = 0.99 longer ones give bars twice too wide (benchmarks/chains_fit.py).
TIMES, FEWEST_BLOCKS = 1, 20

#: Fewer degrees of freedom than this are not believed: bars of Student's t with one or two are of no use to anyone.
FEWEST_DRAWS = 3.0

#: A weight in a mean below this is rounding: what the value would have been does not matter to the mean.
NEGLIGIBLE = 1e-9


def exact_covariance(problem: Problem, solution: LinearSolution) -> Float[np.ndarray, "T T"]:
    """Covariance of the means of a closed form: the jackknife by points, and by blocks where rows are chains."""
    tasks, influence = problem.tasks, solution.influence()
    rows = np.split(np.arange(len(problem.values)), np.cumsum(tasks.sizes)[:-1])
    total = np.zeros((len(tasks), len(tasks)))
    for sharing in _on_one_sample(tasks):
        chains = tasks[sharing[0]].chains
        if chains is None:
            total += _of_points(problem, influence, np.concatenate([rows[t] for t in sharing]))
        else:  # one chain with several integrands on it: a draw is left out of all of them
            total += _of_draws(problem, influence, np.column_stack([rows[t] for t in sharing]), chains)
    lost = ~np.isfinite(np.diag(total))
    return np.where(lost[:, None] | lost, np.diag(np.where(lost, np.inf, 0.0)), total)


def average_variance(remainder: Float[np.ndarray, " n"], chains: tuple[int, int] | None) -> float:
    """Squared standard error of the average of a remainder f - g, of independent rows or along chains."""
    if len(remainder) < 2:
        return np.inf
    if chains is None:
        return float(np.var(remainder, ddof=1) / len(remainder))
    variance, draws = variance_of_mean(remainder, chains)
    return variance * _widening(remainder, draws) ** 2


def cautious_variance(remainder: Float[np.ndarray, " n"], chains: tuple[int, int] | None) -> float:
    """`average_variance`, of independent rows too as wide as their number and tails ask.

    Of remainders that share the errors of coefficients: with n draws of an exponential, two plain standard errors of
    such averages hold 65 %, and are too short on average, too.
    """
    variance = average_variance(remainder, chains)
    if chains is not None or not np.isfinite(variance):
        return variance
    return variance * _widening(remainder, len(remainder)) ** 2


def averages_covariance(
    remainder: Float[np.ndarray, " N"], tasks: Tasks, variances: Float[np.ndarray, " T"]
) -> Float[np.ndarray, "T T"]:
    """Covariance of averages with known variances: they err together as far as remainders at the same points do."""
    means = np.bincount(tasks.task, weights=remainder) / tasks.sizes
    number = point_numbers(tasks.points)
    series = np.zeros((len(tasks), number.max() + 1))
    np.add.at(series, (tasks.task, number), remainder - means[tasks.task])
    lengths = np.linalg.norm(series, axis=1)
    unit = series / np.where(lengths > 0, lengths, 1.0)[:, None]
    errors = np.sqrt(np.where(np.isfinite(variances), variances, 0.0))
    covariance = errors[:, None] * (unit @ unit.T) * errors
    np.fill_diagonal(covariance, variances)
    return covariance


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
    own = averages_covariance(np.concatenate(remainders), problem.tasks, np.array(variances))
    if settings.regularization == 0:
        return own
    try:
        objective = settings.objective.quadratic
        minimiser = joint_solution(problem, settings.regularization, settings.penalty, b, objective)
        jackknife = exact_covariance(problem, minimiser)
    except ValueError:  # Not linear, or not positive definite within rounding: the residuals are all there is.
        return own
    np.fill_diagonal(jackknife, np.maximum(np.diag(own), np.diag(jackknife)))
    return jackknife


def _on_one_sample(tasks: Tasks) -> list[list[int]]:
    """Tasks whose rows are looked at together: all independent ones, and those along the very same chains."""
    found: dict[Any, list[int]] = {}
    for t, task in enumerate(tasks):
        key = None if task.chains is None else (task.chains, task.points.tobytes())
        found.setdefault(key, []).append(t)
    return list(found.values())


def _of_points(problem: Problem, influence: Influence, rows: Int[np.ndarray, " n"]) -> Float[np.ndarray, "T T"]:
    """What independent rows contribute to the covariance of the means, all values at a point left out together."""
    number, task = point_numbers(problem.tasks.points[rows]), problem.tasks.task[rows]
    left_out = influence.left_out.copy()
    blocks = np.split(rows[np.argsort(number, kind="stable")], np.cumsum(np.bincount(number))[:-1])
    several = [block for block in blocks if len(block) > 1]
    for block, residuals in zip(several, influence.blocks_left_out(several), strict=True):
        left_out[block] = residuals
    for t in np.unique(task):  # at one point alone nothing is left to predict from
        if len(np.unique(number[task == t])) == 1:
            left_out[rows[task == t]] = np.inf
    moved, lost = _moves(problem, influence, rows, left_out)
    spread = np.zeros((number.max() + 1, len(moved)))
    np.add.at(spread, number, moved.T)
    return spread.T @ spread + lost


def _moves(
    problem: Problem, influence: Influence, rows: Int[np.ndarray, " ..."], left_out: Float[np.ndarray, " N"]
) -> tuple[Float[np.ndarray, "T ..."], Float[np.ndarray, "T T"]]:
    """What each row moves the means by, and infinite variances of means with values that nothing else predicts."""
    weights, known = influence.weights[: len(problem.tasks), rows], np.isfinite(left_out[rows])
    unseen = np.abs(np.where(known, 0.0, weights)).reshape(len(weights), -1).max(axis=1) > NEGLIGIBLE
    return weights * np.where(known, left_out[rows], 0.0), np.diag(np.where(unseen, np.inf, 0.0))


def _of_draws(
    problem: Problem, influence: Influence, rows: Int[np.ndarray, "n copies"], chains: tuple[int, int]
) -> Float[np.ndarray, "T T"]:
    """What rows along chains contribute to the covariance of the means."""
    left_out = np.empty(len(problem.values))
    blocks = [rows[draws].ravel() for draws in _blocks(problem, rows, chains)]
    for block, residuals in zip(blocks, influence.blocks_left_out(blocks), strict=True):
        left_out[block] = residuals
    moved, lost = _moves(problem, influence, rows, left_out)
    series = np.sum(moved, axis=2)
    errors = np.array([_error_of_sum(each, chains) for each in series])
    lengths = np.linalg.norm(series, axis=1)
    unit = series / np.where(lengths > 0, lengths, 1.0)[:, None]
    return errors[:, None] * (unit @ unit.T) * errors + lost


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
