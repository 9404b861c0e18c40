"""What follows from the numbers of an estimate, and what weights make of several answers, number by number."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from scipy.stats import t as student

import vvcv
from vvcv import Task, Tasks
from vvcv.estimation.netcdf import FORMAT, RECORD, VERSION, _verify, checksum
from vvcv.estimation.summary import _moments
from vvcv.estimation.weights import (
    NEGLIGIBLE,
    PRICE,
    SHARPNESS,
    UNREMARKABLE,
    Answer,
    combine,
    contradiction,
    weigh,
)

X = np.random.default_rng(0).normal(size=(20, 1))
FOUND = vvcv.estimate(Tasks.shared(X, -X, np.column_stack([np.exp(X[:, 0]), np.sin(X[:, 0])])), "mc")


@pytest.fixture
def found():
    return replace(FOUND)


def test_notebooks_show_the_table(found):
    assert repr(found) == str(found) and repr(found).startswith("task ")


def test_the_gain_is_the_ratio_of_variances_and_one_for_the_plain_average(found):
    np.testing.assert_array_equal(found.gain, [1.0, 1.0])
    better = replace(found, std_error=found.monte_carlo.std_error / np.array([3.0, 1.0]))
    np.testing.assert_allclose(better.gain, [9.0, 1.0])
    exact = replace(found, std_error=np.zeros(2))
    assert np.isinf(exact.gain).all()
    constant = replace(exact, monte_carlo=replace(exact.monte_carlo, std_error=np.zeros(2)))
    np.testing.assert_array_equal(constant.gain, [1.0, 1.0])


def test_intervals_are_students(found):
    few = replace(found, freedom=np.array([3.0, 50.0]))
    low, high = few.interval(0.9)
    half = student.ppf(0.95, [3.0, 50.0]) * found.std_error
    np.testing.assert_allclose(low, found.mean - half)
    np.testing.assert_allclose(high, found.mean + half)
    for level in (0.0, 1.0):
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            found.interval(level)


def test_the_covariance_of_plain_averages_is_that_of_the_sample(found):
    values = np.column_stack([task.values for task in found.tasks])
    np.testing.assert_allclose(found.covariance, np.cov(values.T) / 20, rtol=1e-9)
    with pytest.raises(ValueError, match="was not stored"):
        _ = replace(found, tasks=None).covariance


def test_remarks_say_how_tasks_relate(found):
    assert found.remarks()[0].startswith("method mc, ") and "share their points" in found.remarks()[1]
    apart = replace(found, share_points=False)
    assert "points of their own" in apart.remarks()[1]
    x = np.random.default_rng(1).normal(size=(9, 1))
    assert len(vvcv.estimate(Task(x, -x, x[:, 0]), "mc").remarks()) == 1


def test_an_event_that_no_draw_has_seen_is_remarked_on_and_values_that_vary_are_not():
    x = np.random.default_rng(1).normal(size=(59, 1))
    values = np.column_stack([x[:, 0] > 9, np.sin(x[:, 0]), np.ones(59)])
    remark = vvcv.estimate(Tasks.shared(x, -x, values, names=["rare", "wave", "one"]), "mc").remarks()[-1]
    assert "all values of 'rare' (and 1 more) are the same" in remark and "as likely as 0.05 may" in remark
    assert not any("same" in line for line in vvcv.estimate(Task(x, -x, values[:, 1]), "mc").remarks())


def test_weights_are_exponential_in_the_merit_and_small_ones_are_left_out():
    np.testing.assert_allclose(weigh([1.0, 1 + 1 / SHARPNESS]), np.array([1.0, np.exp(-1.0)]) / (1 + np.exp(-1.0)))
    edge = -np.log(NEGLIGIBLE) / SHARPNESS
    assert weigh([0.0, 0.99 * edge])[1] > 0 and weigh([0.0, 1.01 * edge])[1] == 0


def test_a_contradiction_is_students_distance_with_halls_correction():
    freedom, skewness, t = 24.0, 1.5, 3.0
    g = skewness
    corrected = t + g * t**2 / (3 * 5) + g**2 * t**3 / (27 * 25) + g / (6 * 5)
    expected = PRICE * (25 * np.log1p(corrected**2 / freedom) - UNREMARKABLE)
    assert contradiction(1.0, 2.5, 0.5, freedom, skewness) == pytest.approx(expected, rel=1e-12)


def test_answers_are_averaged_with_their_weights():
    first = Answer("cf", 1.0, 0.1, 0.0, 10.0, lambda x, s: x[:, 0], "smooth", 0.01, 0.02)
    second = Answer("zv", 2.0, 0.3, 1 / SHARPNESS, 40.0, lambda x, s: s[:, 0], "square", 0.03, 0.04)
    w = np.array([1.0, np.exp(-1.0)]) / (1 + np.exp(-1.0))
    for answers in ([first, second], [second, first]):
        both = combine(answers)
        assert both.mean == pytest.approx(w @ [1.0, 2.0], rel=1e-12)
        spread = w @ [0.1**2 + (1 - both.mean) ** 2, 0.3**2 + (2 - both.mean) ** 2]
        assert both.std_error == pytest.approx(np.sqrt(spread), rel=1e-12)
        assert both.freedom == pytest.approx(w @ [10.0, 40.0], rel=1e-12)
        assert (both.method, both.description, both.merit) == ("cf", "smooth", 0.0)
        assert (both.model_error, both.cross_fitted_error) == (0.01, 0.02)
        x = np.array([[1.0], [2.0]])
        np.testing.assert_allclose(both.variate(x, -3 * x), w[0] * x[:, 0] - 3 * w[1] * x[:, 0])


def test_the_variate_of_an_answer_without_weight_is_never_asked():
    def dear(points, scores):
        raise AssertionError

    good = Answer("cf", 1.0, 0.1, 0.0, 10.0, lambda x, s: x[:, 0], "smooth")
    hopeless = Answer("zv", 2.0, 0.3, 1e3, 40.0, dear, "square")
    np.testing.assert_array_equal(combine([good, hopeless]).variate(X, -X), X[:, 0])


def test_errors_of_standard_deviations_follow_from_those_of_the_two_moments(found):
    moments = replace(
        found, mean=np.array([1.5, 0.2, 4.25, 0.04]), std_error=np.array([0.1, 0.2, 0.3, 0.09]), freedom=np.ones(4),
        monte_carlo=replace(found.monte_carlo, mean=np.zeros(4), std_error=np.array([0.2, 0.2, 0.3, 0.09])),
    )  # fmt: skip
    table = _moments(moments, np.array([1.0, 0.0]))
    np.testing.assert_allclose(table["sd"], [2.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(table["sd_error"], [(0.3 + 2 * 0.5 * 0.1 + 0.1**2) / (2 * 2.0), np.sqrt(0.09)])
    np.testing.assert_allclose(table["ess_worth"], [(2.0 / 0.1) ** 2, 0.0])
    np.testing.assert_allclose(table["gain"], [4.0, 1.0])


def test_a_file_that_only_claims_to_be_an_estimate_is_refused():
    for attributes, variables in (({"format": FORMAT}, {}), ({}, {RECORD: "{}"})):
        with pytest.raises(ValueError, match="another kind"):
            _verify(xr.Dataset(variables, attrs=attributes), "other.nc")
    newer = xr.Dataset({RECORD: "{}"}, attrs={"format": FORMAT, "version": VERSION + 1})
    with pytest.raises(ValueError, match="Upgrade"):
        _verify(newer, "newer.nc")
    now = xr.Dataset({RECORD: "{}"}, attrs={"format": FORMAT, "version": VERSION})
    with pytest.raises(ValueError, match="checksum"):
        _verify(now, "damaged.nc")
    _verify(now.assign_attrs(checksum=checksum(now)), "whole.nc")
