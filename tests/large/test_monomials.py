"""Images of monomials by recursion are those of the definition."""

import numpy as np
import pytest

from vvcv.large.monomials import monomial_images
from vvcv.stein import polynomial_features


@pytest.mark.parametrize(("d", "degree"), [(1, 1), (1, 4), (2, 3), (3, 4), (6, 2), (4, 5)])
def test_the_recursion_gives_the_images_of_the_definition(d, degree):
    rng = np.random.default_rng(d)
    points, scores = rng.normal(size=(2, 7, d))
    expected = polynomial_features(points, scores, degree)
    np.testing.assert_allclose(monomial_images(points, scores, degree).T, expected, rtol=1e-11, atol=1e-11)
