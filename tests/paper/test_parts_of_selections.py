"""The parts of which closed forms, sequences and error bars are made, number by number."""

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.special import ndtr, stdtrit

from vvcv import Task, Tasks
from vvcv.data.chains import variance_of_mean
from vvcv.kernels import Diagonal, SquaredExponential
from vvcv.paper import (
    Exact,
    KernelVariate,
    PolynomialVariate,
    Problem,
    StochasticOptimisation,
    alternation,
    convex,
    error_bars,
    fit,
)
from vvcv.paper.closed_form import best_means, coefficients_given_means, joint_solution, solution_given_means
from vvcv.paper.objective import MarkovChainVariance, Variance
from vvcv.runtime.precision import float64

KERNEL = SquaredExponential(1.5)
RNG = np.random.default_rng(2)


@pytest.mark.parametrize("objective", [Variance(), MarkovChainVariance(bandwidth=3)], ids=["rows", "chains"])
@pytest.mark.parametrize("regularization", [0.0, 0.3])
@float64
def test_polynomials_by_least_squares_leave_out_what_a_fit_without_it_leaves(one_target, objective, regularization):
    problem = Problem(Tasks([one_target[1]]), PolynomialVariate(2))
    columns, psi = problem.columns, np.asarray(problem.space.expand(problem.b))
    both, values = np.hstack([columns, psi]), problem.values
    q = objective.precision(problem.chains)
    q = np.diag(q) if q.ndim == 1 else q
    ridge = regularization * block_diag(0.0, np.eye(psi.shape[1]))
    expected = np.linalg.solve(both.T @ q @ both + ridge, both.T @ q @ values)
    found = joint_solution(problem, regularization, "euclidean", objective=objective)
    np.testing.assert_allclose(np.append(found.beta, found.theta), expected, rtol=1e-8, atol=1e-10)
    residual = values - both @ expected
    assert found.objective == pytest.approx(residual @ q @ residual + expected @ ridge @ expected, rel=1e-8)
    influence = found.influence()
    np.testing.assert_allclose(influence.weights @ values, found.beta, rtol=1e-8)
    if isinstance(objective, MarkovChainVariance):
        return
    for rows in (np.array([3]), np.arange(4, 9), np.arange(12)):  # fewer rows than unknowns, and more
        left = np.setdiff1d(np.arange(len(values)), rows)
        kept, weight = both[left], q[left][:, left]
        without = np.linalg.lstsq(kept.T @ weight @ kept + ridge, kept.T @ weight @ values[left], rcond=None)[0]
        (mine,) = influence.blocks_left_out([rows])
        np.testing.assert_allclose(mine, values[rows] - both[rows] @ without, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(influence.left_out[3], next(iter(influence.blocks_left_out([np.array([3])])))[0])


def test_a_feature_that_is_zero_on_the_sample_gets_no_coefficient():
    x = np.column_stack([RNG.normal(size=12), np.zeros(12)])
    scores = np.column_stack([-x[:, 0], np.zeros(12)])
    problem = Problem(Tasks([Task(x, scores, 2 + x[:, 0])]), PolynomialVariate(1))
    found = joint_solution(problem, 0.0, "euclidean")
    np.testing.assert_allclose(found.beta, [2.0], atol=1e-12)
    np.testing.assert_allclose(np.ravel(found.theta), [-1.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("lam", [1e-2, 1.0])
@float64
def test_theta_with_means_given_solves_its_system(one_target, related, lam):
    problem, beta = Problem(one_target, KernelVariate(KERNEL, related)), np.array([0.4, 1.3])
    k = np.asarray(problem.space.expand(related))
    counts = np.repeat([40.0, 25.0], [40, 25])
    target = problem.values - np.repeat(beta, [40, 25])
    c = np.linalg.solve(k + lam * np.diag(counts), target)
    found = solution_given_means(problem, beta, lam)
    np.testing.assert_allclose(found.theta, c, rtol=1e-8)
    np.testing.assert_allclose(coefficients_given_means(problem, beta, lam), c, rtol=1e-8)
    remainder = problem.values - k @ c
    np.testing.assert_allclose(found.beta, [remainder[:40].mean(), remainder[40:].mean()], rtol=1e-8)
    np.testing.assert_allclose(best_means(problem, c), found.beta, rtol=1e-8)
    residual = target - k @ c
    assert found.objective == pytest.approx(residual @ (residual / counts) + lam * c @ k @ c, rel=1e-8)
    influence = found.influence()
    np.testing.assert_allclose(influence.weights @ target, found.beta - beta, rtol=1e-7, atol=1e-10)
    rows = np.arange(10, 16)
    left = np.setdiff1d(np.arange(65), rows)
    without = np.linalg.solve((k + lam * np.diag(counts))[np.ix_(left, left)], target[left])
    (mine,) = influence.blocks_left_out([rows])
    np.testing.assert_allclose(mine, target[rows] - k[np.ix_(rows, left)] @ without, rtol=1e-7, atol=1e-9)
    for wrong in (0.0, -1.0, np.inf):
        with pytest.raises(ValueError, match="penalty lambda must be positive"):
            solution_given_means(problem, beta, wrong)


def test_error_bars_widen_as_students_with_the_kurtosis_of_the_series():
    series = RNG.exponential(size=200)
    centred = series - series.mean()
    kurtosis = np.mean(centred**4) / np.mean(centred**2) ** 2
    assert kurtosis > 4
    freedom = 2 * 50.0 / (kurtosis - 1) - 1
    assert error_bars._widening(series, 50.0) == pytest.approx(stdtrit(freedom, ndtr(2.0)) / 2, rel=1e-12)
    flat = np.tile([-1.0, 1.0], 20)  # of kurtosis 1, which counts as that of a normal
    assert error_bars._widening(flat, 30.0) == pytest.approx(stdtrit(29.0, ndtr(2.0)) / 2, rel=1e-12)
    assert error_bars._widening(np.zeros(5), 30.0) == pytest.approx(stdtrit(29.0, ndtr(2.0)) / 2, rel=1e-12)
    assert error_bars._widening(flat, 1.0) == pytest.approx(stdtrit(3.0, ndtr(2.0)) / 2, rel=1e-12)


def test_the_error_of_a_sum_has_its_own_value_and_its_spread():
    series = 0.1 + RNG.normal(size=60)
    variance, draws = variance_of_mean(series, (2, 30))
    spread = 60 * np.sqrt(variance) * error_bars._widening(series, draws)
    assert error_bars._error_of_sum(series, (2, 30)) == pytest.approx(np.hypot(series.sum(), spread), rel=1e-12)


def test_averages_of_independent_rows_have_their_own_variance():
    series = RNG.normal(size=9)
    assert error_bars.average_variance(series, None) == pytest.approx(series.var(ddof=1) / 9, rel=1e-12)
    assert error_bars.average_variance(series[:2], None) == pytest.approx(series[:2].var(ddof=1) / 2, rel=1e-12)
    assert error_bars.average_variance(series[:1], None) == np.inf


def test_blocks_are_runs_of_each_chain_and_at_least_twenty():
    slow = RNG.normal(size=(2, 60, 1)).cumsum(axis=1)
    tasks = Tasks([Task(slow, -slow, slow[..., 0])])
    blocks = error_bars._blocks(Problem(tasks, KernelVariate(KERNEL)), np.arange(120)[:, None], (2, 60))
    assert [len(block) for block in blocks] == [6] * 20
    assert np.concatenate(blocks).tolist() == list(range(120))
    quick = RNG.normal(size=(2, 60, 1))
    tasks = Tasks([Task(quick, -quick, quick[..., 0])])
    blocks = error_bars._blocks(Problem(tasks, KernelVariate(KERNEL)), np.arange(120)[:, None], (2, 60))
    assert max(len(block) for block in blocks) <= 2


def test_the_jackknife_of_a_descent_is_that_of_its_minimiser_or_its_residuals_where_larger(one_target, related):
    problem, beta = Problem(one_target, KernelVariate(KERNEL, related)), np.array([0.5, 1.5])
    theta = np.zeros(65)
    own = [task.values.var(ddof=1) / task.size for task in one_target]
    settings = StochasticOptimisation(1, regularization=0.0)
    np.testing.assert_allclose(error_bars.descent_covariance(problem, theta, beta, related, settings), np.diag(own))
    settings = StochasticOptimisation(1, regularization=1e-2, penalty="rkhs")
    exact = error_bars.exact_covariance(problem, joint_solution(problem, 1e-2, "rkhs", related))
    expected = exact + np.diag(np.maximum(own - np.diag(exact), 0.0))
    found = error_bars.descent_covariance(problem, theta, beta, related, settings)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_allclose(fit(one_target, KernelVariate(KERNEL, related), Exact(1e-2)).covariance, exact)


def test_extrapolation_finds_the_fixed_point_of_an_affine_map_in_as_many_sweeps_as_unknowns():
    matrix, shift = np.array([[0.9, 0.05], [0.02, 0.8]]), np.array([1.0, -1.0])
    fixed = np.linalg.solve(np.eye(2) - matrix, shift)
    history, point = [], np.zeros(2)
    for _ in range(3):
        history.append((point, matrix @ point + shift - point))
        if len(history) == 1:
            np.testing.assert_allclose(alternation._anderson(history), shift)
        point = alternation._anderson(history)
    np.testing.assert_allclose(point, fixed, rtol=1e-9)


def test_the_pace_is_one_less_the_rate_of_contraction():
    def steps(*lengths):
        return [(None, np.array([length, -length / 2])) for length in lengths]

    assert alternation._pace(steps(1.0)) == 1.0
    assert alternation._pace(steps(9.0, 1.0, 0.75)) == pytest.approx(0.25)
    assert alternation._pace(steps(1.0, 1.0)) == alternation._pace(steps(1.0, 2.0)) == 1e-3
    assert alternation._pace(steps(1.0, 0.9999)) == 1e-3


def test_projection_keeps_what_may_not_move_and_cuts_negative_parts():
    b, start = np.array([[1.0, 3.0], [1.0, 1.0]]), np.array([[5.0, 0.5], [0.5, 5.0]])
    everything = np.ones((2, 2), bool)
    np.testing.assert_allclose(alternation._project(b, start, everything), [[1.5, 1.5], [1.5, 1.5]])
    np.testing.assert_allclose(alternation._project(b, start, np.eye(2, dtype=bool)), [[1.0, 0.5], [0.5, 1.0]])


def test_a_singular_start_is_lifted_where_it_may_move():
    free = np.ones((2, 2), bool)
    np.testing.assert_allclose(convex._start(np.ones((2, 2)), free), np.ones((2, 2)) + 1e-6 * np.eye(2), rtol=1e-12)
    np.testing.assert_array_equal(convex._start(2 * np.eye(2), free), 2 * np.eye(2))
    np.testing.assert_array_equal(convex._start(np.ones((2, 2)), ~free), np.ones((2, 2)))


def test_products_of_theta_are_sums_over_pairs_of_tasks():
    gram, theta = np.arange(9.0).reshape(3, 3), np.array([1.0, 2.0, -1.0])
    indicator = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    expected = [[0.0, 1 * 2 - 2], [2 * 3 - 6, 4 * 4 - 2 * 5 - 2 * 7 + 8]]
    np.testing.assert_allclose(convex.theta_products(gram, theta, indicator), expected)


def test_delta_falls_from_a_tenth_to_a_millionth_of_the_scale_of_b(one_target):
    problem, settings = Problem(one_target, KernelVariate(KERNEL, Diagonal([1.0, 2.0]))), convex.ConvexSequence()
    end = convex.convex_sequence(problem, settings)
    scale = np.sqrt(2 * (1 + 8) / (1e-3 * 2))
    np.testing.assert_allclose(np.unique(end.deltas)[::-1], scale * 10.0 ** -np.arange(1, 7), rtol=1e-9)
    first = joint_solution(problem, 1e-3).objective + 1e-3 * (0.1 * scale) ** 2 * (1 + 1 / 2) + 5
    assert end.objectives[0] == pytest.approx(first, rel=1e-9)
    assert (settings.tolerance, settings.steps) == (1e-8, 500) and end.b[0, 1] == 0


def test_a_rung_by_name_brings_the_errors_of_its_answers(one_target):
    found = fit(one_target, "zv")
    errors = found.std_error
    assert (errors > 0).all() and found.objective == pytest.approx(np.sum(np.log(errors)))
    np.testing.assert_allclose(found.covariance, np.diag(errors**2))
    task = one_target[1]
    remainder = task.values - found.control_variate(task.points, task.scores, 1)
    assert remainder.std() < 0.5 * task.values.std() and abs(remainder.mean() - found.mean[1]) < 3 * errors[1]


@float64
def test_the_first_sweep_is_theorem_4_1_at_the_plain_averages_and_the_last_the_joint_solution(one_target, related):
    problem, settings = Problem(one_target, KernelVariate(KERNEL, related)), alternation.Alternation(0.05)
    end = alternation.alternate_means(problem, settings)
    k, counts = np.asarray(problem.space.expand(related)), np.repeat([40.0, 25.0], [40, 25])
    theta = np.linalg.solve(k + 0.05 * np.diag(counts), problem.values - problem.columns @ problem.plain_means)
    left = problem.values - k @ theta
    np.testing.assert_allclose(end.betas[0], [left[:40].mean(), left[40:].mean()], rtol=1e-9)
    residual = left - problem.columns @ end.betas[0]
    assert end.objectives[0] == pytest.approx(residual @ (residual / counts) + 0.05 * theta @ k @ theta, rel=1e-9)
    joint = joint_solution(problem, 0.05)
    np.testing.assert_allclose(end.beta, joint.beta, rtol=1e-9)
    np.testing.assert_allclose(end.theta, joint.theta, rtol=1e-7, atol=1e-10)
    assert end.objectives[-1] == pytest.approx(joint.objective, rel=1e-9) and len(end.betas) <= 6
    assert end.matrices.shape == (len(end.betas), 2, 2) and (end.matrices[-1] == related).all()
    with pytest.raises(ValueError, match="after 1 of them beta still moves"):
        alternation.alternate_means(problem, alternation.Alternation(0.05, sweeps=1))


@float64
def test_alternation_with_b_adds_its_penalty_and_ends_at_a_b_that_no_step_moves(one_target, related):
    problem, settings = (
        Problem(one_target, KernelVariate(KERNEL, related)),
        alternation.Alternation(0.05, True, sweeps=3),
    )
    end = alternation.alternate_with_b(problem, settings)
    first = joint_solution(problem, 0.05)
    assert end.objectives[0] == pytest.approx(first.objective + np.sum(related**2), rel=1e-9)
    b = alternation.best_b(problem, first.theta, first.beta, 0.05)
    np.testing.assert_allclose(end.matrices[1], b, rtol=1e-9)
    counts = np.repeat([40.0, 25.0], [40, 25])

    def value(matrix):
        k = np.asarray(problem.space.expand(matrix))
        residual = problem.values - problem.columns @ first.beta - k @ first.theta
        return residual @ (residual / counts) + 0.05 * first.theta @ k @ first.theta + np.sum(matrix**2)

    for step in (np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]]), np.eye(2)[::-1] + np.eye(2)):
        slope = (value(b + 1e-4 * step) - value(b - 1e-4 * step)) / 2e-4
        assert abs(slope) < 1e-6 or np.linalg.eigvalsh(b)[0] < 1e-9
    assert np.linalg.eigvalsh(b)[0] > -1e-12
