"""Rows of several tasks at one point are left out together: each would tell the others' values."""

import numpy as np
import pytest

import vvcv
from vvcv.candidates.designs import build_design
from vvcv.data import Prepared
from vvcv.kernels import Full, Separable, Side, SquaredExponential
from vvcv.linear_system.design import Design
from vvcv.linear_system.mean_errors import Errors, Outermost
from vvcv.linear_system.model import Model
from vvcv.linear_system.solution import solve
from vvcv.stein import SteinKernel

RNG = np.random.default_rng(7)
X = RNG.normal(size=(12, 2))
POINTS = np.concatenate([X, X[:5]])
TASK = np.repeat([0, 1], [12, 5])
VALUES = np.concatenate([np.abs(X[:, 0]), 1 + 2 * np.abs(X[:5, 0]) + 0.1 * X[:5, 1]])
NUMBERS = np.concatenate([np.arange(12), np.arange(5)])
KERNEL = SteinKernel(
    Separable(Full(np.array([[1.0, 0.9], [0.9, 1.0]])), SquaredExponential(np.full(2, 1.5))), axes=np.ones(2)
)


def design(rows: np.ndarray, point: np.ndarray | None = None, block: np.ndarray | None = None) -> Design:
    side = Side(POINTS[rows], -POINTS[rows], TASK[rows])
    return Design.build(side, VALUES[rows], np.ones(rows.size), 2, block=block, point=point)


def without(rows: np.ndarray):
    """The system of all other rows, with the noise that all of them have."""
    every, left = np.arange(17), np.setdiff1d(np.arange(17), rows)
    diagonals = [np.diag(design(some).gram.upper(KERNEL)) for some in (every, left)]
    ratios = [diagonals[0][t == TASK].mean() / diagonals[1][TASK[left] == t].mean() for t in (0, 1)]
    return solve(Model(KERNEL, 1e-2 * np.array(ratios)), design(left))


def test_means_move_as_they_do_without_a_point_in_any_task():
    every = np.arange(17)
    system, nested = solve(Model(KERNEL, np.full(2, 1e-2)), design(every)), design(every, NUMBERS)
    errors = Errors.of(system, nested, 0)
    for point in (0, 4, 9):
        rows = np.flatnonzero(point == NUMBERS)
        moved = system.coefficients[:2] - without(rows).coefficients[:2]
        np.testing.assert_allclose(errors.move[:, rows].sum(axis=1), moved, rtol=1e-7)
    by_point = [errors.move[:, point == NUMBERS].sum(axis=1) for point in range(12)]
    np.testing.assert_allclose(errors.jackknife, np.linalg.norm(by_point, axis=0))


def test_the_outermost_points_of_a_task_are_left_out_of_all():
    every = np.arange(17)
    system, nested = solve(Model(KERNEL, np.full(2, 1e-2)), design(every)), design(every, NUMBERS)
    far = np.argsort(-np.sum((X[:5] - X[:5].mean(axis=0)) ** 2, axis=1))[:2]
    rows = np.flatnonzero(np.isin(NUMBERS, far))
    assert rows.size == 4
    everyone = np.argsort(-np.sum((nested.side.points - nested.side.points.mean(axis=0)) ** 2, axis=1))[:4]
    every_row = np.flatnonzero(np.isin(NUMBERS, NUMBERS[everyone]))
    moved = [(system.coefficients - without(each).coefficients)[1] for each in (rows, every_row)]
    tail = Outermost.of(system, nested, np.ones(2)).tail
    assert tail[1] == pytest.approx(max(moved, key=abs), rel=1e-7)


def test_blocks_that_meet_at_a_point_are_one():
    block = np.concatenate([np.arange(12) // 3, 4 + np.array([0, 0, 1, 1, 1])])
    folds = design(np.arange(17), NUMBERS, block).folds
    assert sorted(map(len, folds)) == [3, 3, 11]  # points 0 to 5, linked by the second task's blocks, and the others


def test_only_tasks_on_points_of_others_have_points_in_common():
    apart = vvcv.Tasks([vvcv.Task(X, -X, X[:, 0]), vvcv.Task(X + 1, -X, X[:, 0])])
    nested = vvcv.Tasks([vvcv.Task(X, -X, X[:, 0]), vvcv.Task(X[:5], -X[:5], X[:5, 0])])
    shared = vvcv.Tasks.shared(X, -X, X)
    for tasks, in_common in ((apart, False), (nested, True), (shared, False)):
        prepared = Prepared.of(tasks)
        built = build_design(prepared, (0, 1), prepared.coordinates((0, 1), "scaled"), 0, tasks.share_points)
        assert (built.point is not None) == in_common == (built.folds is not None)


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_runs_of_a_dear_model_at_points_of_a_cheap_one_are_no_surer_than_it(seed):
    x = np.random.default_rng(seed).normal(size=(120, 3))
    values = np.abs(x[:, 0] + x[:, 1] / 2) + 0.2 * np.sin(3 * x[:, 2])
    tasks = vvcv.Tasks([vvcv.Task(x, -x, values), vvcv.Task(x[:40], -x[:40], 3 + 2 * values[:40])])
    cheap, dear = vvcv.estimate(tasks, check=False).std_error
    assert 0.8 < dear / 2 / cheap < 2  # the same function: .5 to 3 where values at one point predict each other
