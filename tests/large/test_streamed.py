"""Fits from sums over blocks are those of all rows at once, wherever blocks begin, and their error bars are honest."""

import numpy as np
import pytest

import vvcv
from vvcv.candidates.kernel import Options
from vvcv.data import Prepared
from vvcv.data.chains import effective_size
from vvcv.estimation import large_ladder
from vvcv.estimation.ladder import Ladder
from vvcv.estimation.streamed import Streamed
from vvcv.large import batches, features, inducing, look, normal_equations, passes, rows
from vvcv.large.fits import LargeFits
from vvcv.large.rows import Rows

#: E exp(a.x), E cos(2 a.x) and E x_1^2 x_2 + 1 under a standard normal, |a|^2 = 0.52.
EXACT = np.array([np.exp(0.26), np.exp(-1.04), 1.0])

KERNEL = {"kernel": "squared-exponential", "check": False}


def numbers(estimate):
    return np.concatenate([estimate.mean, estimate.std_error, estimate.cross_fitted_std_error, estimate.covariance[0]])


@pytest.mark.parametrize("kind", ["sample", "skewed", "chains", "repeating"])
def test_streamed_polynomials_are_least_squares_of_all_rows(small_machine, kind, request, monkeypatch):
    tasks = vvcv.Tasks.shared(*request.getfixturevalue(kind))
    new = np.random.default_rng(0).normal(size=(5, 2))
    of_sums, of_rows = Streamed(tasks, Options()), Ladder(Prepared.of(tasks), Options())
    for mine, theirs in zip(of_sums.candidates("zv"), of_rows.candidates("zv"), strict=True):
        assert [fit.description for fit in mine] == [fit.description for fit in theirs]
        assert len(mine) == 8  # four degrees, each with its witness
        for fit, other in zip(mine, theirs, strict=True):
            for name in ("mean", "std_error", "cross_fitted_error", "model_error"):
                assert getattr(fit, name) == pytest.approx(getattr(other, name), rel=1e-9, abs=1e-14)
            if fit.std_error > 1e-12:  # what a cubic leaves of one is rounding
                assert fit.freedom == pytest.approx(other.freedom, rel=1e-9)
            at_new = (each.variate(new, -new) for each in (fit, other))
            np.testing.assert_allclose(*at_new, atol=1e-12)
    streamed = vvcv.estimate(tasks, "zv", **KERNEL)
    monkeypatch.setattr(large_ladder, "largest_system", lambda: 10**6)
    exact = vvcv.estimate(tasks, "zv", **KERNEL)
    for name in ("mean", "std_error", "cross_fitted_std_error"):
        np.testing.assert_allclose(getattr(streamed, name), getattr(exact, name), rtol=1e-9, atol=1e-14)
    at_new = (each.control_variate(new, -new, 1) for each in (streamed, exact))
    np.testing.assert_allclose(*at_new, atol=1e-12)
    off_diagonal = np.abs(streamed.covariance - exact.covariance)[0, 1] / np.prod(exact.std_error[:2])
    assert off_diagonal < 0.2  # the one is of what rows move the mean by, the other of the residuals of some


def test_nothing_depends_on_where_blocks_begin(small_machine, chains, monkeypatch):
    tasks = vvcv.Tasks.shared(*chains)
    whole = vvcv.compare(tasks, ["zv", "inducing"], **KERNEL)
    monkeypatch.setattr(rows, "BLOCK", 77)
    monkeypatch.setattr(normal_equations, "STRIP", 50)
    in_pieces = vvcv.compare(tasks, ["zv", "inducing"], **KERNEL)
    np.testing.assert_allclose(numbers(in_pieces["zv"]), numbers(whole["zv"]), rtol=1e-8, atol=1e-14)
    # Residuals of a kernel fit are a millionth of the values here, and rounding takes some of their digits.
    apart = np.abs(in_pieces["inducing"].mean - whole["inducing"].mean)
    assert (apart < 0.01 * whole["inducing"].std_error + 1e-11).all()
    np.testing.assert_allclose(in_pieces["inducing"].std_error, whole["inducing"].std_error, rtol=0.01, atol=1e-11)


def test_inducing_points_come_close_to_the_exact_fit_and_know_it(small_machine, sample, monkeypatch):
    tasks = vvcv.Tasks.shared(*sample)
    estimate = vvcv.estimate(tasks, "inducing", **KERNEL)
    polynomial = vvcv.estimate(tasks, "zv", **KERNEL)
    error = np.abs(estimate.mean - EXACT)
    assert (estimate.std_error[:2] < 0.05 * polynomial.std_error[:2]).all()
    assert (error < 4 * estimate.std_error + 1e-14).all()  # one in 15,000 right error bars fails
    # With few points the rest is left to the error bar.
    monkeypatch.setattr(inducing, "MOST_POINTS", 5)
    monkeypatch.setattr(inducing, "MANY_POINTS", 5)
    coarse = vvcv.estimate(tasks, "inducing", **KERNEL)
    assert (coarse.std_error[:2] > 2 * estimate.std_error[:2]).all()
    assert (np.abs(coarse.mean - EXACT) < 4 * coarse.std_error + 1e-14).all()


def test_a_mean_that_few_rows_far_out_carry_is_no_surer_than_they_are(small_machine):
    """Of exp(2x) the outermost rows decide: what they have moved the mean by it may still have to go."""
    x = np.random.default_rng(5).normal(size=(1500, 2))
    values = np.column_stack([np.exp(2 * x[:, 0]), np.cos(x[:, 0])])
    fits = LargeFits(Rows.of(list(vvcv.Tasks.shared(x, -x, values)), ["grows", "wave"]), Options())
    grows, wave = (fits.of_task(task, ("inducing",))[-1] for task in range(2))
    moved = np.abs(fits._fitted(("inducing",)).sums.moves[0, -1]) * fits.look.scale
    assert grows.std_error > max(moved[0], grows.jackknife) > 0
    assert grows.freedom < 10 and grows.freedom < wave.freedom


def test_auto_goes_there_by_size_and_says_so(small_machine, sample):
    estimate = vvcv.estimate(vvcv.Tasks.shared(*sample), **KERNEL)
    assert estimate.methods[:2] == ("inducing", "inducing") and "points for 2400 rows" in estimate.kernel[0]
    with pytest.raises(ValueError, match="2400 rows.*room for 500 rows.*'inducing'"):
        vvcv.estimate(vvcv.Tasks.shared(*sample), "vv", **KERNEL)


def test_small_tasks_beside_large_ones_keep_all_rungs(small_machine, sample):
    points, scores, values = sample
    small = vvcv.Task(points[:60], scores[:60], values[:60, 0], "small")
    large = vvcv.Task(points, scores, values[:, 0], "large")
    together, alone = vvcv.estimate([large, small], **KERNEL), vvcv.estimate(small, **KERNEL)
    assert together.methods[0] == "inducing"
    assert together.mean[1] == alone.mean[0] and together.std_error[1] == alone.std_error[0]


def test_dimensions_without_room_for_one_degree_leave_the_other_rungs(small_machine):
    points = np.random.default_rng(3).normal(size=(600, 40))
    task = vvcv.Task(points, -points, points[:, 0] ** 2, name="square")
    with pytest.raises(ValueError, match="needs more points than task 'square'"):
        vvcv.estimate(task, "zv")
    found = vvcv.estimate(task, kernel="squared-exponential")
    assert abs(found.mean[0] - 1) < 4 * found.std_error[0] < 5 * found.monte_carlo.std_error[0]


def test_points_in_separate_groups_keep_the_plain_average(small_machine):
    rng = np.random.default_rng(0)
    centre = 8.0 * (rng.uniform(size=(600, 1)) < 0.5)
    noise = rng.normal(size=(600, 1))
    estimate = vvcv.estimate(vvcv.Task(centre + noise, -noise, centre[:, 0]), **KERNEL)
    assert estimate.methods == ("mc",) and "separate groups" in estimate.explain()


@pytest.mark.parametrize("most", [20_000, 400])
def test_batches_know_the_autocorrelation_of_chains(monkeypatch, most):
    rng = np.random.default_rng(3)
    draws = np.empty((4, 5000))
    draws[:, 0] = rng.normal(size=4)
    for i in range(1, 5000):
        draws[:, i] = 0.9 * draws[:, i - 1] + np.sqrt(1 - 0.81) * rng.normal(size=4)
    monkeypatch.setattr(batches, "MOST_SUMS", most)
    batching = batches.Batching.of(draws.shape, 1)
    chain, draw = (index.ravel() for index in np.indices(draws.shape))
    half = slice(0, 7777), slice(7777, None)
    found = [batching.sums(draws.ravel()[part, None], chain[part], draw[part]) for part in half]
    measured = batching.inefficiency(found[0] + found[1], np.array([np.var(draws)]))[0]
    assert (batching.length == 1) is (most == 20_000)
    if batching.length == 1:
        assert measured == pytest.approx(draws.size / effective_size(draws.ravel(), draws.shape), rel=1e-3)
    assert measured == pytest.approx(19, rel=0.35)  # (1 + 0.9) / (1 - 0.9); its own error is about a tenth


def test_chains_widen_the_error_bar(small_machine, chains):
    points, scores, values = chains
    noise = np.cumsum(np.random.default_rng(1).normal(size=(4, 1200)), axis=1)[:, ::2]
    values = values[..., :1] + 0.01 * noise[..., None]
    kept = vvcv.estimate(vvcv.Tasks.shared(points, scores, values), "zv", **KERNEL)
    flat = (array.reshape(2400, -1) for array in (points, scores, values))
    forgotten = vvcv.estimate(vvcv.Tasks.shared(*flat), "zv", **KERNEL)
    assert kept.monte_carlo.mean[0] == pytest.approx(forgotten.monte_carlo.mean[0], rel=1e-12)
    assert kept.std_error[0] > 4 * forgotten.std_error[0]


def test_the_outermost_rows_do_not_depend_on_blocks():
    rng = np.random.default_rng(0)
    points, scores = rng.normal(size=(2, 500, 3))
    every = look.Outer(4, np.arange(500), points, scores)
    parts = [look.Outer(4, np.arange(500)[i::7], points[i::7], scores[i::7]).reduced() for i in range(7)]
    found, order = passes.tree_sum(parts), np.argsort(points, axis=0)
    expected = np.unique(np.concatenate([order[:4], order[-4:]]))
    for outer in (every.reduced(), found):
        np.testing.assert_array_equal(outer.index, expected)
        np.testing.assert_array_equal(outer.scores, scores[expected])
    assert found.without(expected[:5]).index.tolist() == expected[5:].tolist()


def test_pivots_are_the_points_that_the_others_leave_most_open():
    x = np.concatenate([np.linspace(0, 0.1, 9), [3.0]])
    matrix = np.exp(-((x[:, None] - x) ** 2))
    factor, order = inducing.pivoted_cholesky(matrix, 10)
    assert 9 in order[:2].tolist()
    np.testing.assert_allclose(factor @ factor.T, matrix, atol=1e-12)
    first, pivots = inducing.pivoted_cholesky(matrix, 2)
    np.testing.assert_array_equal(first, factor[:, :2])
    assert pivots.tolist() == order[:2].tolist()


def test_control_variates_of_large_samples_have_mean_zero(small_machine, sample):
    points = np.random.default_rng(9).normal(size=(40_000, 2))
    estimate = vvcv.estimate(vvcv.Tasks.shared(*sample), "inducing", **KERNEL)
    variate = estimate.control_variate(points, -points, 0)
    assert abs(variate.mean()) < 4.5 * variate.std() / 200  # one right variate in 150,000 fails
    rest = np.exp(points @ [0.6, -0.4]) - variate
    assert rest.std() < 8e-4 * np.exp(points @ [0.6, -0.4]).std()


def test_a_row_far_out_leaves_the_fits_that_can_be_solved_and_raises_the_alarm(small_machine):
    x = np.random.default_rng(0).normal(size=(2400, 2))
    x[777] = 1e7
    tasks = vvcv.Tasks.shared(x, -x, np.column_stack([np.cos(x[:, 0]), np.tanh(x[:, 1])]))
    with pytest.warns(vvcv.AlarmWarning, match="times as far out as any of 120 drawn"):
        found = vvcv.estimate(tasks)
    assert "far-rows" in found.check.codes
    assert (np.abs(found.mean - [np.exp(-0.5), 0.0]) < 4 * found.std_error).all()
    lines = vvcv.estimate(tasks, "zv", **KERNEL)
    assert all("polynomial of degree 1" in words for words in lines.kernel)
    with pytest.raises(ValueError, match="matrix of theirs that can be factorised"):
        vvcv.estimate(tasks, "inducing", **KERNEL)


@pytest.mark.parametrize("draw", ["standard_normal", "standard_cauchy"])
def test_tails_that_are_those_of_a_law_raise_no_alarm_of_far_rows(small_machine, draw):
    x = getattr(np.random.default_rng(1), draw)(size=(2400, 2))
    tasks = vvcv.Tasks.shared(x, -2 * x / (1 + x**2), np.cos(x))
    found = vvcv.estimate(tasks, "mc", on_alarm="ignore")
    assert "far-rows" not in (found.check.codes if found.check else ())


def test_the_fits_with_the_first_columns_are_those_of_all(small_machine, sample):
    """What is left of a model whose last columns cannot be told apart is the same model without them."""
    large = LargeFits(Rows.of(list(vvcv.Tasks.shared(*sample)), ["a", "b", "c"]), Options())
    (every,) = large._features(("zv",))
    first = every.first(every.stages[1].columns + 1)
    assert first.stages == every.stages[:2] and every.first(len(every.inverse)) is every
    solutions = [
        normal_equations.solve_normal_equations(large.rows, [features], large.look.shift, large.look.scale)[0]
        for features in (every, first)
    ]
    for stage in first.stages:
        means = (solution.mean(stage.columns) for solution in solutions)
        np.testing.assert_allclose(*means, rtol=1e-9, atol=1e-12)


def test_a_polynomial_takes_no_noise_from_its_neighbour(small_machine):
    """Its residual is none, and the kernel that both were tuned with had none either."""
    x = np.random.default_rng(1).normal(size=(2400, 3))
    values = np.column_stack([np.abs(x[:, 2]), x[:, 1] ** 2, 3 * x[:, 0] - x[:, 1]])
    together, alone = (
        vvcv.estimate(vvcv.Tasks.shared(x, -x, v), "inducing", **KERNEL) for v in (values, values[:, :1])
    )
    assert together.std_error[0] < 3 * alone.std_error[0] and together.kernel[0] == alone.kernel[0]
    assert (together.std_error[1:] < 1e-8).all()


def test_polynomials_by_themselves_have_inducing_points_too(small_machine):
    x = np.random.default_rng(1).normal(size=(2400, 2))
    found = vvcv.estimate(vvcv.Tasks.shared(x, -x, x**2), "inducing", **KERNEL)
    assert found.methods == ("inducing", "inducing")
    np.testing.assert_allclose(found.mean, 1.0, atol=1e-8)


def test_control_variates_are_formed_a_strip_at_a_time(small_machine, sample, monkeypatch):
    estimate, points = vvcv.estimate(vvcv.Tasks.shared(*sample), "zv", **KERNEL), sample[0]
    whole, raw, sizes = estimate.control_variate(points, -points, 0), features.Features.raw, []
    monkeypatch.setattr(normal_equations, "STRIP", 512)
    monkeypatch.setattr(features.Features, "raw", lambda self, x, s: sizes.append(len(x)) or raw(self, x, s))
    np.testing.assert_allclose(estimate.control_variate(points, -points, 0), whole, rtol=1e-12, atol=1e-12)
    assert max(sizes) == 512 and sum(sizes) % len(points) == 0
    assert estimate.control_variate(points[:0], points[:0], 0).shape == (0,)


def test_samples_in_memory_may_end_at_zero(small_machine, sample):
    points, scores, values = (array.copy() for array in sample)
    points[-2:] = scores[-2:] = 0.0
    assert np.isfinite(vvcv.estimate(vvcv.Tasks.shared(points, scores, values), "zv", **KERNEL).mean).all()
