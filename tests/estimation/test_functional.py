"""Functions of several expectations: values, standard errors from the joint covariance, and what they refuse."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import vvcv

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.functionals import ASKED, study

RNG = np.random.default_rng(3)
X = RNG.normal(size=(400, 2))
A, B = X[:, 0] + 2, 3 + 0.6 * X[:, 0] + 0.8 * X[:, 1]
TASKS = vvcv.Tasks.shared(X, -X, np.column_stack([A, B]), names=["a", "b"])


def test_errors_of_plain_averages_on_shared_points_are_those_of_the_sample_covariance():
    estimate = vvcv.estimate(TASKS, "mc")
    np.testing.assert_allclose(estimate.covariance, np.cov(A, B) / 400, rtol=1e-10)


def test_the_difference_of_averages_has_the_error_of_the_average_difference():
    found = vvcv.functional(vvcv.estimate(TASKS, "mc"), "difference", "a", "b")
    assert found.std_error == pytest.approx(np.std(A - B, ddof=1) / 20, rel=1e-10)
    assert found.gain == pytest.approx(1.0)


@pytest.mark.parametrize("given", ["estimate", "tasks"])
def test_what_plain_averages_know_better_is_estimated_as_an_integrand_of_its_own(given):
    x = np.random.default_rng(0).normal(size=(40, 2))
    values = np.column_stack([np.exp(x[:, 0]), np.exp(x[:, 0]) + 1e-9 * x[:, 1]])
    tasks = vvcv.Tasks.shared(x, -x, values, names=["a", "b"])
    source = vvcv.estimate(tasks) if given == "estimate" else tasks
    both = vvcv.functional(source, lambda m: jnp.stack([m["a"], m["b"] - m["a"]]))
    assert abs(both.value[1]) <= 4 * both.std_error[1] < 4 * both.plain_std_error[1]
    alone = vvcv.estimate(tasks)
    assert both.value[0] == alone.mean[0] and both.std_error[0] == pytest.approx(alone.std_error[0], rel=1e-12)
    single = vvcv.functional(source, "difference", "b", "a")
    assert single.std_error < single.plain_std_error and single.value.shape == ()
    assert single.std_error > np.spacing(alone.mean[0])  # no number of that size is known better


def test_a_function_of_several_means_is_what_is_surer_of_its_terms_and_its_linear_part():
    surer = 0
    for seed in range(6):
        x = np.random.default_rng(300 + seed).normal(size=(60, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])
        tasks = vvcv.Tasks.shared(x, -x @ np.linalg.inv([[1.0, 0.6], [0.6, 1.0]]), 2 + np.tanh(x), names=["a", "b"])
        estimate = vvcv.estimate(tasks, "cf", check=False)
        found = vvcv.functional(estimate, "ratio", "a", "b", check=False)
        (a, b), slopes = estimate.mean, np.array([1.0, -estimate.mean[0] / estimate.mean[1]]) / estimate.mean[1]
        linear = vvcv.estimate(tasks[0].carrying(slopes @ [t.values for t in tasks], "linear"), "cf", check=False)
        expected = a / b + linear.mean[0] - slopes @ estimate.mean
        apart, own = abs(expected - a / b), linear.std_error[0]
        if found.value == pytest.approx(expected, abs=1e-3 * own):
            surer += 1
            assert min(own, apart) * (1 - 1e-6) <= found.std_error <= max(own, apart) * (1 + 1e-6)
        else:  # the errors of the terms cancel, as far as is known
            assert found.value == pytest.approx(a / b, rel=1e-12) and found.std_error < max(own, apart)
    assert surer > 0


@pytest.mark.parametrize("method", ["zv", "cf", "auto"])
def test_the_errors_of_nearly_equal_integrands_cancel_in_their_difference(method):
    x = np.random.default_rng(5).normal(size=(60, 1))
    wave = np.cos(2 * x[:, 0])
    values = np.column_stack([wave, wave + 1e-3 * np.exp(x[:, 0] / 2)])
    estimate = vvcv.estimate(vvcv.Tasks.shared(x, -x, values, names=["a", "b"]), method, check=False)
    found = vvcv.functional(estimate, "difference", "b", "a")
    low, high = found.interval()
    assert low <= 1e-3 * np.exp(1 / 8) <= high
    assert found.std_error < 0.1 * estimate.std_error.max()
    assert found.gain > 1  # better than the plain average of the difference, whose values hardly vary


def test_the_covariance_is_positive_semi_definite_with_squared_errors_on_its_diagonal():
    wider = vvcv.Tasks.shared(X, -X, np.column_stack([A, B, A - B, np.exp(A), np.sin(B)]))
    estimate = vvcv.estimate(wider, "zv")
    covariance = estimate.covariance
    np.testing.assert_allclose(np.diag(covariance), estimate.std_error**2, rtol=1e-12)
    np.testing.assert_array_equal(covariance, covariance.T)
    scaled = covariance / np.outer(estimate.std_error, estimate.std_error)
    assert np.linalg.eigvalsh(scaled).min() > -1e-12


def test_tasks_on_points_of_their_own_have_no_covariance():
    tasks = vvcv.Tasks([vvcv.Task(X[:200], -X[:200], A[:200], "a"), vvcv.Task(X[200:], -X[200:], B[200:], "b")])
    assert vvcv.estimate(tasks, "zv").covariance[0, 1] == 0


@pytest.mark.parametrize(
    ("kind", "names", "exact"),
    [
        ("variance", ["a"], 1.0),
        ("sd", ["a"], 1.0),
        ("cv", ["a"], 0.5),
        ("covariance", ["a", "b"], 0.6),
        ("correlation", ["a", "b"], 0.6),
        ("ratio", ["a", "b"], 2 / 3),
        ("difference", ["b", "a"], 1.0),
    ],
)
def test_common_functions_of_a_gaussian_are_exact_by_polynomials(kind, names, exact):
    found = vvcv.functional(TASKS, kind, *names, method="zv")
    assert found.value == pytest.approx(exact, abs=1e-9) and found.std_error < 1e-9
    assert abs(found.plain_value - exact) < 5 * found.plain_std_error


@pytest.mark.parametrize("kind", ["variance", "sd", "cv", "covariance", "correlation"])
def test_spreads_about_a_large_mean_are_those_about_a_small_one(kind):
    names = ["a", "b"] if kind in ("covariance", "correlation") else ["a"]
    growth = np.exp(X[:, 0] / 2)
    near = vvcv.Tasks.shared(X, -X, np.column_stack([growth, B]), names=["a", "b"])
    far = vvcv.Tasks.shared(X, -X, np.column_stack([growth + 1e8, B]), names=["a", "b"])
    expected, found = (vvcv.functional(tasks, kind, *names, method="zv") for tasks in (near, far))
    scale = (1e8 + np.exp(1 / 8)) / vvcv.estimate(near, "zv").mean[0] if kind == "cv" else 1.0
    for number in ("value", "plain_value"):
        assert scale * getattr(found, number) == pytest.approx(getattr(expected, number), rel=0.02)
    assert scale * found.std_error == pytest.approx(expected.std_error, rel=2 if kind == "cv" else 1e-3)


def test_a_product_that_is_also_a_factor_is_no_matter():
    x = X[:, 0]
    tasks = vvcv.Tasks.shared(X, -X, np.column_stack([x, x**2]), names=["x", "x^2"])
    found = vvcv.functional(tasks, "covariance", "x", "x^2", method="zv")
    assert abs(found.value) < 4 * found.std_error + 1e-9  # E[x^3] = 0
    assert vvcv.functional(tasks, "correlation", "x", "x^2", method="mc").value == pytest.approx(
        np.corrcoef(x, x**2)[0, 1], rel=1e-12
    )


def test_a_function_of_ones_own_takes_means_by_name_or_as_an_array():
    estimate = vvcv.estimate(TASKS, "mc")
    by_name = vvcv.functional(estimate, lambda m: m["a"] * m["b"])
    by_place = vvcv.functional(estimate, lambda m: jnp.stack([m[0] * m[1], jnp.sum(m[:])]))
    assert by_name.value == pytest.approx(estimate.mean.prod(), rel=1e-14)
    assert by_place.value[1] == pytest.approx(estimate.mean.sum(), rel=1e-14)
    assert by_place.std_error[0] == pytest.approx(by_name.std_error, rel=1e-12)
    assert by_place.std_error[1] == pytest.approx(np.std(A + B, ddof=1) / 20, rel=1e-10)
    assert str(by_place).count("+-") == 4 and "plain averages" in str(by_name)


def test_means_can_be_gone_through_and_end_where_they_end():
    estimate = vvcv.estimate(TASKS, "mc")
    with pytest.raises(IndexError, match="none at place 2"):
        vvcv.functional(estimate, lambda m: m[2])
    with pytest.raises(IndexError, match="none at place -3"):
        vvcv.functional(estimate, lambda m: m[np.int64(-3)])
    assert vvcv.functional(estimate, lambda m: m[-1]).value == estimate.mean[1]
    assert vvcv.functional(estimate, sum).value == pytest.approx(estimate.mean.sum(), rel=1e-14)


@pytest.mark.parametrize("method", ["mc", "zv", "cf"])
def test_what_is_known_of_one_mean_is_known_as_surely_of_its_multiples(method):
    x = np.random.default_rng(8).normal(size=(60, 1))
    estimate = vvcv.estimate(vvcv.Tasks.shared(x, -x, np.exp(x), names=["a"]), method, check=False)
    whole, half = (vvcv.functional(estimate, lambda m, c=c: c * m["a"]) for c in (1.0, 0.5))
    assert whole.freedom == pytest.approx(estimate.freedom[0], rel=1e-9)
    assert half.freedom == pytest.approx(whole.freedom, rel=1e-12)


def test_few_rows_that_tell_how_much_cancels_leave_few_degrees_of_freedom():
    x = np.random.default_rng(9).normal(size=(60, 1))
    apart = np.zeros(60)
    apart[:3] = 1.0  # where alone two integrands differ
    both = np.column_stack([x[:, 0], x[:, 0] + apart])
    estimate = vvcv.estimate(vvcv.Tasks.shared(x, -x, both, names=["a", "b"]), "mc", check=False)
    assert vvcv.functional(estimate, "difference", "a", "b").freedom < 10
    assert vvcv.functional(estimate, lambda m: m["a"] + m["b"]).freedom > 30


def test_intervals_are_those_of_student_and_refuse_nonsense():
    found = vvcv.functional(vvcv.estimate(TASKS, "mc"), "ratio", "a", "b")
    low, high = found.interval()
    assert (high - low) / found.std_error == pytest.approx(2 * stats.t.ppf(0.975, found.freedom), rel=1e-12)
    assert 100 < found.freedom < 400
    with pytest.raises(ValueError, match="probability"):
        found.interval(95)


def test_refusals_say_what_to_do():
    estimate = vvcv.estimate(TASKS, "mc")
    with pytest.raises(ValueError, match=r"needs the expectations \['a\^2'\].*Pass the tasks"):
        vvcv.functional(estimate, "variance", "a")
    with pytest.raises(ValueError, match="one of"):
        vvcv.functional(estimate, "kurtosis", "a")
    with pytest.raises(ValueError, match="2 task"):
        vvcv.functional(estimate, "ratio", "a")
    with pytest.raises(ValueError, match="no estimate named 'c'"):
        vvcv.functional(estimate, lambda m: m["c"])
    for mine in (lambda m: np.exp(m["a"]), lambda m: math.exp(m["a"]), lambda m: float(m["a"])):
        with pytest.raises(ValueError, match=r"jax\.numpy"):
            vvcv.functional(estimate, mine)
    own = vvcv.Tasks([vvcv.Task(X[:200], -X[:200], A[:200], "a"), vvcv.Task(X[200:], -X[200:], B[200:], "b")])
    with pytest.raises(ValueError, match="points of their own"):
        vvcv.functional(own, "covariance", "a", "b", method="zv")


def test_the_covariance_is_stored_with_the_estimate_though_the_data_are_not(tmp_path):
    pytest.importorskip("h5netcdf")
    estimate = vvcv.estimate(TASKS, "zv")
    estimate.save(tmp_path / "e.nc")
    loaded = vvcv.load(tmp_path / "e.nc")
    assert loaded.tasks is None
    np.testing.assert_allclose(loaded.covariance, estimate.covariance, rtol=1e-12)


@pytest.mark.parametrize("problem", ["growths", "gammas"])
def test_intervals_hold_the_exact_answer_as_often_as_they_say(problem):
    # 30 replications: with a coverage of 95 %, fewer than 24 are held once in a thousand.
    results = study(problem, "zv", range(20_000, 20_030))
    for kind, numbers in results.items():
        assert numbers["coverage"] >= 24 / 30, kind
    if problem == "growths":
        assert all(results[kind]["rmse"] < results[kind]["plain_rmse"] / 3 for kind in ASKED)


@pytest.mark.parametrize("g", [lambda m: m["a"] > 1, lambda m: {"a": m["a"]}, lambda m: None, lambda m: "a"])
def test_what_has_no_slope_is_refused(g):
    with pytest.raises(ValueError, match="must give a number"):
        vvcv.functional(an_estimate(), g)


def test_a_level_that_is_no_probability_is_refused_in_words():
    with pytest.raises(ValueError, match="level"):
        vvcv.functional(an_estimate(), lambda m: m["a"]).interval("a")


def test_means_are_not_asked_for_in_pairs():
    with pytest.raises(ValueError, match="one by one"):
        vvcv.functional(an_estimate(), lambda m: m["a", "b"])


def test_a_function_that_is_not_defined_at_the_estimates_has_no_error_bar():
    found = vvcv.functional(an_estimate(), lambda m: jnp.log(m[:] - 5.0))
    assert np.isnan(found.value).all() and np.isnan(found.std_error).all()
    assert "nan" in str(found)


def test_a_function_that_is_not_defined_at_the_plain_averages_has_no_plain_error_bar():
    found = vvcv.functional(an_estimate(), lambda m: jnp.log(m[:] - 5.0))
    assert np.isnan(found.plain_value).all() and np.isnan(found.plain_std_error).all()
    of_two = vvcv.functional(an_estimate(), lambda m: jnp.sqrt(-m["a"] - m["b"]))
    assert np.isnan(of_two.value) and np.isnan(of_two.std_error)


@pytest.mark.parametrize(("kind", "exact"), [("correlation", 1.0), ("ratio", 1.0), ("difference", 0.0)])
def test_a_task_has_known_relations_with_itself(kind, exact):
    found = vvcv.functional(TASKS, kind, "a", "a", method="zv")
    assert found.value == exact and found.std_error < 1e-15


@pytest.mark.parametrize("g", [None, 3])
def test_what_is_no_function_is_refused_in_words(g):
    with pytest.raises(ValueError, match="g must be a function of the means or one of"):
        vvcv.functional(TASKS, g)


def test_a_variable_of_several_elements_is_told_what_they_are_called():
    z = RNG.normal(size=(2, 60, 3))
    posterior = vvcv.Posterior(z, -z, {"mu": z[..., 0], "theta": z[..., 1:]})
    for kind, names in {"difference": ["theta", "mu"], "sd": ["theta"]}.items():
        with pytest.raises(ValueError, match=r"'theta', but there are its elements \['theta\[0\]', 'theta\[1\]'\]"):
            vvcv.functional(posterior, kind, *names)


def test_what_a_sampler_returned_goes_through_its_adapter(monkeypatch):
    sampler = type("MCMC", (), {"__module__": "numpyro.infer.mcmc"})()
    monkeypatch.setattr(vvcv, "from_numpyro", lambda mcmc, var_names: TASKS, raising=False)
    assert vvcv.functional(sampler, "sd", "a", method="zv").value == pytest.approx(1.0)
    with pytest.raises(ValueError, match="this is a builtins.int"):
        vvcv.functional(3, "sd", "a")


def an_estimate():
    x = np.random.default_rng(0).normal(size=(60, 2))
    return vvcv.estimate(vvcv.Tasks.shared(x, -x, x**2, names=["a", "b"]), "zv")


@pytest.mark.parametrize("kind", ["sd", "cv"])
@pytest.mark.filterwarnings("error")
def test_the_spread_of_equal_values_is_none_without_an_error(kind):
    of_ones = vvcv.Tasks.shared(X, -X, np.column_stack([A, np.ones_like(A)]), names=["a", "one"])  # L[0,0] of a factor
    found = vvcv.functional(of_ones, kind, "one", method="zv")
    assert (found.value, found.std_error, found.plain_value, found.plain_std_error) == (0.0, 0.0, 0.0, 0.0)


@pytest.mark.filterwarnings("error")
def test_a_correlation_with_equal_values_is_not_defined():
    of_ones = vvcv.Tasks.shared(X, -X, np.column_stack([A, np.ones_like(A)]), names=["a", "one"])
    found = vvcv.functional(of_ones, "correlation", "a", "one", method="zv")
    assert np.isnan(found.value) and np.isnan(found.std_error)
