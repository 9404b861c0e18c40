"""Objectives of chains keep double precision however they are called."""

import numpy as np

from vvcv.paper import MarkovChainVariance


def test_the_variance_along_chains_is_in_double_precision():
    residuals = np.random.default_rng(0).normal(size=60)
    whole = MarkovChainVariance().value(residuals, [(2, 30)])
    small = MarkovChainVariance().value(1e-25 * residuals, [(2, 30)])
    np.testing.assert_allclose(small, 1e-50 * whole, rtol=1e-12)
