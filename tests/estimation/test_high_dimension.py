"""High dimension: what is additive stays easy, however many coordinates there are."""

import numpy as np
import pytest

import vvcv


@pytest.mark.parametrize(("d", "n"), [(60, 110), (40, 72)])
def test_a_variance_is_found_from_fewer_than_two_points_for_each_coordinate(d, n):
    x = 3.0 + np.random.default_rng(d).normal(size=(n, d))
    found = vvcv.estimate(vvcv.Tasks.shared(x, 3.0 - x, np.mean((x - 3.0) ** 2, axis=1)[:, None]), check=False)
    assert abs(found.mean[0] - 1.0) < 1e-5  # plain averages are off by about .02
    assert found.std_error[0] < 1e-2 * found.monte_carlo.std_error[0]
