"""Which way axes face, whatever the signs they were written down with."""

import numpy as np
import pytest

from vvcv.data.facing import facing
from vvcv.stein.ridge import along_axes

RNG = np.random.default_rng(0)
TURNS = np.where(RNG.random((6, 5)) < 0.5, -1.0, 1.0)

#: Points, scores and values of targets that are a product of five like densities: skewed, or alike on both sides.
SKEWED = np.log(RNG.gamma(4.0, size=(80, 5)))
EVEN = RNG.logistic(size=(80, 5))
SAMPLES = {
    "skewed, squares": (SKEWED, 4 - np.exp(SKEWED), np.sum((SKEWED - SKEWED.mean()) ** 2, axis=1)),
    "even, a total": (EVEN, -np.tanh(EVEN / 2), np.sum(np.exp(EVEN / 4), axis=1)),
    "even, minus a total": (EVEN, -np.tanh(EVEN / 2), -np.sum(np.exp(EVEN / 4), axis=1)),
    "Gaussian, a total": (EVEN, -EVEN, np.sum(EVEN, axis=1)),
}


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("turn", TURNS, ids=str)
def test_axes_that_are_alike_face_the_same_way_whatever_their_signs(sample, turn):
    points, scores, values = SAMPLES[sample]
    found = facing(points * turn, scores * turn, values[:, None]) * turn
    assert len(set(found)) == 1


def test_several_integrands_agree_on_one_way_and_constant_ones_have_no_say():
    points, scores, values = SAMPLES["even, a total"]
    several = np.column_stack([values, -values, np.sum(EVEN**2, axis=1), np.ones(80)])
    assert len(set(facing(points, scores, several))) == 1
    np.testing.assert_array_equal(facing(points, scores, np.ones((80, 1))), 1.0)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_features_along_a_turned_axis_are_the_same_to_the_last_bit_but_for_their_sign(k):
    """Powers of negative numbers need not be: errors of rounding would be other ones."""
    a, scores = RNG.normal(size=(2, 200, 3))
    np.testing.assert_array_equal(np.abs(along_axes(-a, -scores, k)), np.abs(along_axes(a, scores, k)))
