"""What an estimate says about itself: why this rung, and how sure."""

import numpy as np
import pytest

import vvcv


@pytest.fixture(scope="module")
def estimate():
    x = np.random.default_rng(0).normal(size=(30, 1))
    values = np.column_stack([np.exp(x[:, 0] / 2), np.ones(30)])
    return vvcv.estimate(vvcv.Tasks.shared(x, -x, values, names=["lognormal", "constant"]))


def test_an_explanation_names_every_method_and_its_error_in_words_of_the_reader(estimate):
    text = estimate.explain()
    assert "lognormal:" in text and "plain average" in text and "polynomial" in text and "its error" in text
    assert "rung" not in text and "promise" not in text
    first = text.split("\n\n")[0]
    assert "times less than the plain average" in first or "averaged" in first


def test_weights_of_the_rungs_sum_to_one(estimate):
    for offered in estimate.promises:
        assert sum(promise.weight for promise in offered) == pytest.approx(1.0)


def test_a_constant_is_explained_by_the_plain_average(estimate):
    assert "only method that these data allow" in estimate.explain().split("\n\n")[1]


def test_a_method_that_was_asked_for_is_said_to_have_been():
    x = np.linspace(-2, 2, 30)[:, None]
    text = vvcv.estimate(vvcv.Task(x, -x, x[:, 0] ** 2), "zv").explain()
    assert "as asked for" in text and "allow" not in text


def test_intervals_are_centred_widen_with_the_level_and_refuse_nonsense(estimate):
    low, high = estimate.interval(0.95)
    wide_low, wide_high = estimate.interval(0.99)
    np.testing.assert_allclose((low + high) / 2, estimate.mean)
    assert (wide_low <= low).all() and (wide_high >= high).all() and wide_high[0] > high[0]
    with pytest.raises(ValueError, match="level"):
        estimate.interval(95)


def test_intervals_of_few_values_are_wider_than_normal_ones():
    x = np.linspace(-1, 1, 3)[:, None]
    few = vvcv.estimate(vvcv.Task(x, -x, np.array([0.0, 1.0, 5.0])), "mc")
    low, high = few.interval(0.95)
    assert (high - low)[0] > 2 * 4.0 * few.std_error[0]  # t with two degrees of freedom: 4.30
