"""Rows, weights and thinning of a design; inverses by halves; errors of means against refits with a value left out."""

import numpy as np
import pytest

from vvcv.kernels import Side, SquaredExponential
from vvcv.linear_system.dense import DenseSystem
from vvcv.linear_system.design import Design
from vvcv.linear_system.inverse import LEAF, diagonal_from_root, inverse_from_root, inverse_of_factor
from vvcv.linear_system.mean_errors import Errors, Judgement, Outermost
from vvcv.linear_system.merit import merit_of
from vvcv.linear_system.model import Model
from vvcv.linear_system.solution import solve
from vvcv.stein import SteinKernel, gram, polynomial_features

RNG = np.random.default_rng(0)


def design(sizes=(6, 4), multiplicity=None, degree=0):
    x = RNG.normal(size=(sum(sizes), 2))
    task = np.repeat(np.arange(len(sizes)), sizes)
    count = np.ones(len(x)) if multiplicity is None else np.array(multiplicity, float)
    return Design.build(Side(x, -x, task), np.sin(x[:, 0]) + task, count, len(sizes), degree)


def test_indicators_are_the_first_columns_and_polynomials_of_each_task_follow():
    plain, exact = design((6, 4)), design((9, 8), degree=1)
    np.testing.assert_array_equal(plain.columns, np.repeat(np.eye(2), (6, 4), axis=0))
    assert plain.size == 10
    np.testing.assert_array_equal(exact.columns[:, :2], np.repeat(np.eye(2), (9, 8), axis=0))
    first, second = exact.columns[:, 2:4], exact.columns[:, 4:6]
    assert not first[9:].any() and not second[:9].any() and exact.columns.shape[1] == 6
    features = polynomial_features(exact.side.points[9:], exact.side.scores[9:], 1)
    fitted = features @ np.linalg.lstsq(features, second[9:], rcond=None)[0]
    np.testing.assert_allclose(fitted, second[9:], atol=1e-12)
    np.testing.assert_allclose(second[9:].T @ second[9:] / 8, np.eye(2), atol=1e-12)


def test_noise_of_a_row_falls_with_how_often_it_was_seen_relative_to_its_task():
    weights = design((3, 2), [1, 2, 3, 5, 15]).noise_weight
    np.testing.assert_allclose(weights, [2 / 1, 2 / 2, 2 / 3, 10 / 5, 10 / 15])


def test_means_are_those_of_each_task_or_of_each_column_on_shared_rows():
    both = design((2, 3))
    np.testing.assert_allclose(both.task_means(np.array([1.0, 3.0, 1.0, 1.0, 4.0])), [2.0, 2.0])
    np.testing.assert_allclose(both.task_means(np.array([[1.0, 0.0], [3.0, 4.0]])), [2.0, 2.0])


def test_one_task_alone_keeps_its_rows_and_forgets_the_others():
    both = design((6, 4), [1, 1, 1, 1, 1, 1, 2, 3, 4, 5])
    alone = both.only(1)
    np.testing.assert_array_equal(alone.side.points, both.side.points[6:])
    np.testing.assert_array_equal(alone.values, both.values[6:])
    np.testing.assert_array_equal(alone.multiplicity, [2, 3, 4, 5])
    np.testing.assert_array_equal(alone.columns, np.ones((4, 1)))
    assert not alone.side.task.any() and alone.tasks == 1


def test_a_thinned_design_has_rows_of_every_task_in_proportion_but_at_least_twenty():
    large = design((300, 100, 15))
    assert large.thinned(415) is large
    thin = large.thinned(100)
    assert np.bincount(thin.side.task).tolist() == [72, 24, 15]
    place = {tuple(point): row for row, point in enumerate(large.side.points)}
    rows = np.array([place[tuple(point)] for point in thin.side.points])
    assert (np.diff(rows) > 0).all()
    for name in ("values", "columns", "multiplicity"):
        np.testing.assert_array_equal(getattr(thin, name), getattr(large, name)[rows])
    assert np.bincount(design((300, 30)).thinned(50).side.task).tolist() == [45, 20]


def test_a_design_without_polynomial_parts_says_so():
    with pytest.raises(ValueError, match="needs a design that has them"):
        _ = design().rows_of_ridge


@pytest.mark.parametrize("size", [1, 2, LEAF, LEAF + 1, 2 * LEAF + 3])
def test_a_matrix_is_inverted_from_its_factor(size):
    root = np.random.default_rng(size).normal(size=(size, size)) / np.sqrt(size)
    matrix = root @ root.T + np.eye(size)
    inverse = inverse_of_factor(np.asfortranarray(np.linalg.cholesky(matrix)))
    np.testing.assert_allclose(diagonal_from_root(inverse), np.diag(np.linalg.inv(matrix)), atol=1e-12)
    np.testing.assert_allclose(np.tril(inverse_from_root(inverse)), np.tril(np.linalg.inv(matrix)), atol=1e-12)


def left_out(k, columns, values, i):
    """Generalised least squares without row i: its prediction, the variance of that, and the coefficients."""
    rest = np.delete(np.arange(len(k)), i)
    inverse = np.linalg.inv(k[np.ix_(rest, rest)])
    normal = np.linalg.inv(columns[rest].T @ inverse @ columns[rest])
    beta = normal @ columns[rest].T @ inverse @ values[rest]
    weights = inverse @ k[rest, i]
    bent = columns[i] - weights @ columns[rest]
    variance = k[i, i] - k[i, rest] @ weights + bent @ normal @ bent
    return columns[i] @ beta + weights @ (values[rest] - columns[rest] @ beta), variance, beta


@pytest.mark.parametrize("shared", [False, True])
def test_errors_of_means_are_those_of_refits_with_each_value_left_out(shared):
    given = design((12,) if shared else (8, 6))
    k = gram(SteinKernel(SquaredExponential(1.0)), given.side) + 0.1 * np.eye(given.size)
    values = np.column_stack([given.values, given.values**2]) if shared else given.values
    given = Design(given.side, values, given.multiplicity, given.columns, given.tasks)
    errors = Errors.of(DenseSystem.of(k.copy(), given.columns, values), given, tuned=3)
    hidden = np.exp(3 / values.size)
    inverse = np.linalg.inv(k)
    covariance = np.linalg.inv(given.columns.T @ inverse @ given.columns)
    influence = covariance @ given.columns.T @ inverse
    for t in range(2):
        y, rows = (values[:, t], np.arange(12)) if shared else (values, given.rows(t))
        found = [left_out(k, given.columns, y, i) for i in range(len(k))]
        residual = y - np.array([prediction for prediction, _, _ in found])
        variance = np.array([v for _, v, _ in found])
        place, own = 0 if shared else t, 1.0
        if shared:
            (own,) = own_scale_of(k, given, y)
        assert errors.left_out[t] == pytest.approx(np.sqrt(np.mean(residual[rows] ** 2)), rel=1e-9)
        assert own * errors.z[t] == pytest.approx(np.sqrt(np.mean((residual**2 / variance)[rows])), rel=1e-9)
        np.testing.assert_allclose(errors.move[t], influence[place] * residual, atol=1e-12)
        moved = np.sqrt(np.sum((influence[place] * residual) ** 2))
        assert errors.jackknife[t] == pytest.approx(hidden * moved, rel=1e-9)
        whole = influence[place] @ y
        drift = sum(whole - beta[place] for _, _, beta in found)
        assert errors.drift[t] == pytest.approx(hidden * abs(drift), rel=1e-9)
        assert errors.model[t] == pytest.approx(own * hidden * np.sqrt(covariance[place, place]), rel=1e-9)
        expected = own * errors.z[t] * np.sqrt(np.mean(variance[rows]))
        most = own * errors.z[t] * np.exp(np.mean(np.log(variance[rows])) / 2)
        assert errors.usual[t] ** 2 == pytest.approx(max(errors.left_out[t], expected) * most, rel=1e-9)
        merit = 0.5 * np.log(errors.model[t] * errors.z[t] * errors.left_out[t])
        assert errors.merit[t] == pytest.approx(merit, rel=1e-12)


def test_the_merit_of_a_fit_that_leaves_nothing_is_a_number():
    assert merit_of(np.zeros(1), np.ones(1))[0] == pytest.approx(0.5 * np.log(1e-300))


@pytest.mark.parametrize("shared", [False, True])
def test_the_outermost_points_tell_what_a_refit_without_them_differs_by_and_how_well_it_predicts_them(shared):
    given, axes = design((9, 16)), np.array([0.9, 0.1])
    if shared:
        side = Side(given.side.points + 5, given.side.scores, np.zeros(25, int))
        given = Design.build(side, np.column_stack([given.values, np.cos(given.values)]), np.ones(25), 1)
    matrix = gram(SteinKernel(SquaredExponential(1.5)), given.side, given.side) + 1e-3 * np.eye(25)
    found = DenseSystem.of(matrix.copy(), given.columns, given.values)
    tail, far = [], []
    for task, rows in [(0, given.rows(0))] if shared else [(0, given.rows(0)), (1, given.rows(1))]:
        moved, squares = without_outermost(found, matrix, given, rows, axes)
        tail.append(np.atleast_1d(moved[task]))
        far.append(np.atleast_1d(np.sqrt(np.mean(squares, axis=0))))
    tail, far = np.concatenate(tail), np.concatenate(far)
    if not shared:  # and of both tasks together, those five that are outermost of all: what counts is the larger
        everyone = np.arange(25)
        moved, squares = without_outermost(found, matrix, given, everyone, axes)
        tail = np.where(np.abs(moved[:2]) > np.abs(tail), moved[:2], tail)
        task = given.side.task[outermost_of(given, everyone, axes)]
        assert set(task) == {0, 1}
        far = np.maximum(far, [np.sqrt(max(np.mean(squares[task == t]), 0.0)) for t in (0, 1)])
    outermost = Outermost.of(found, given, axes)
    np.testing.assert_allclose(outermost.tail, tail, rtol=1e-7)
    own = np.concatenate([own_scale_of(matrix, given, y) for y in given.values.T]) if shared else 1.0
    np.testing.assert_allclose(outermost.far * own, far, rtol=1e-7)


def without_outermost(found, matrix, given, rows, axes):
    """What coefficients move by without the sqrt(n) outermost of some rows, and r (cov^-1 r) of each of these."""
    out = outermost_of(given, rows, axes)
    kept = np.setdiff1d(np.arange(given.size), out)
    refit = DenseSystem.of(matrix[np.ix_(kept, kept)].copy(), given.columns[kept], given.values[kept])
    residual, covariance = predicted(refit, matrix, given, kept, out)
    return found.coefficients - refit.coefficients, residual * np.linalg.solve(covariance, residual)


def outermost_of(given, rows, axes):
    points = given.side.points[rows]
    return rows[np.argsort(-((points - points.mean(axis=0)) ** 2 @ axes))[: round(np.sqrt(rows.size))]]


@pytest.mark.parametrize("seed", range(3))
def test_what_one_task_knows_of_a_tail_does_not_hide_that_all_tasks_end_there(seed):
    """Two tasks on one function: beyond the outermost points of one lie the other's, beyond all of them nothing."""
    x = np.random.default_rng(seed).normal(size=(80, 1))
    given = Design.build(Side(x, -x, np.repeat([0, 1], 40)), np.exp(x[:, 0]), np.ones(80), 2)
    kernel = gram(SteinKernel(SquaredExponential(1.0)), given.side, given.side) + 1e-6 * np.eye(80)
    found = DenseSystem.of(kernel.copy(), given.columns, given.values)
    own = [abs(without_outermost(found, kernel, given, given.rows(task), np.ones(1))[0][task]) for task in range(2)]
    tail = np.abs(Outermost.of(found, given, np.ones(1)).tail)
    assert tail[0] == pytest.approx(tail[1], rel=0.01) and min(own) < 0.2 * tail[0]


@pytest.mark.parametrize("unit", [1e-3, 40.0])
def test_tasks_on_the_same_points_are_judged_in_units_of_their_own(unit):
    given = design((12,))
    k = gram(SteinKernel(SquaredExponential(1.0)), given.side) + 0.1 * np.eye(12)
    pair = np.column_stack([given.values, unit * given.values])
    given = Design(given.side, pair, given.multiplicity, given.columns, 1)
    system = DenseSystem.of(k, given.columns, pair)
    errors, outermost = Errors.of(system, given, tuned=3), Outermost.of(system, given, np.ones(2))
    for same in (errors.z, outermost.far):
        assert same[1] == pytest.approx(same[0], rel=1e-9)
    for larger in (errors.model, errors.jackknife, errors.usual, outermost.tail):
        assert larger[1] == pytest.approx(unit * larger[0], rel=1e-9)


def own_scale_of(matrix, given, values):
    """The likeliest scale of one task's values under a covariance that is known but for it."""
    inverse = np.linalg.inv(matrix)
    left = values - given.columns @ np.linalg.solve(
        given.columns.T @ inverse @ given.columns, given.columns.T @ inverse @ values
    )
    return [np.sqrt(left @ inverse @ left / (len(values) - given.columns.shape[1]))]


def predicted(refit, matrix, given, kept, out):
    """Residuals of the rows `out` predicted from those kept, and their covariance under the model."""
    cross = matrix[np.ix_(out, kept)]
    residual = given.values[out] - given.columns[out] @ refit.coefficients - cross @ refit.weights
    solved = np.linalg.solve(matrix[np.ix_(kept, kept)], np.column_stack([cross.T, given.columns[kept]]))
    k = len(out)
    unexplained = given.columns[out] - cross @ solved[:, k:]
    own = matrix[np.ix_(out, out)] - cross @ solved[:, :k]
    return residual, own + unexplained @ refit.covariance @ unexplained.T


def test_outermost_are_points_far_out_along_the_axes_that_count():
    x = np.random.default_rng(3).normal(size=(100, 2))
    side = Side(x, -x, np.zeros(100, int))
    given = Design.build(side, np.cos(x[:, 0]), np.ones(100), 1)
    kernel = SteinKernel(SquaredExponential(1.5), axes=[1.0, 1e-6])
    model = Model(kernel, 1e-6)
    system = solve(model, given)
    far = np.argsort(-np.abs(x[:, 0] - x[:, 0].mean()))[:10]
    ((residual, _),) = system.leave_rows_out([far])
    judged = Judgement.of(model, system, given, 0)
    np.testing.assert_allclose(judged.outermost.tail, [system.influence[0, far] @ residual], rtol=1e-6)


def test_points_and_their_mirror_images_are_told_apart_by_no_last_bit():
    half = np.random.default_rng(4).normal(size=(25, 2))  # seven of fifty are outermost: one image is, the other not
    model, found = Model(SteinKernel(SquaredExponential(1.0)), 1e-3), []
    for bit in (-(2.0**-52), 0.0, 2.0**-52):
        x = np.concatenate([half, -half * (1 + bit)])
        given = Design.build(Side(x, -x, np.zeros(50, int)), np.exp(x[:, 0]), np.ones(50), 1)
        found.append(Judgement.of(model, solve(model, given), given, 0).outermost.tail)
    np.testing.assert_allclose(found, np.broadcast_to(found[0], (3, 1)), rtol=1e-6)
