"""Evidence where it is known: accuracy, error bars, ways to hand over the draws."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pytest
from gaussian_model import gaussian_ladder

import vvcv
from vvcv.problems import van_der_pol
from vvcv.thermodynamic.baselines import mbar, plain_average
from vvcv.thermodynamic.quadrature import quadrature_weights
from vvcv.thermodynamic.samples import LadderSamples, fields_of

README = Path(__file__).parents[2] / "README.md"


def test_moments_of_a_gaussian_model_are_found_far_beyond_plain_averages(ladder, result):
    plain = np.abs(result.plain_means - ladder.exact_means).max()
    assert np.abs(result.means - ladder.exact_means).max() < 0.02 * plain
    plain = np.abs(result.plain_variances / ladder.exact_variances - 1).max()
    assert np.abs(result.variances / ladder.exact_variances - 1).max() < 0.5 * plain


def test_what_the_log_evidence_misses_is_the_discretisation_of_the_ladder(ladder, result):
    weights, of_variances = quadrature_weights(ladder.temperatures)
    by_exact_moments = weights @ ladder.exact_means + of_variances @ ladder.exact_variances
    assert abs(result.log_evidence - by_exact_moments) < 3 * result.sampling_error
    assert result.sampling_error < 0.05 * result.comparison[0].std_error
    low, high = result.interval()
    assert low < ladder.exact < high


def test_all_methods_are_compared_on_the_same_draws(ladder, result):
    names = [other.name for other in result.comparison]
    assert names[:2] == ["plain averages", "stepping stone"]
    for other in result.comparison:  # four standard errors: one false alarm in 5,000 for each method
        assert abs(other.log_evidence - ladder.exact) < 4 * other.std_error + 0.01


def test_mbar_leaves_the_users_jax_settings_and_standard_error_alone(ladder, capfd):
    pytest.importorskip("pymbar")
    before = jax.config.jax_enable_x64
    found = mbar(samples_of(ladder))
    assert jax.config.jax_enable_x64 == before
    assert capfd.readouterr().err == ""
    assert abs(found.log_evidence - ladder.exact) < 4 * found.std_error


def test_lists_long_columns_mappings_and_any_order_of_rungs_give_the_same_number(ladder, result):
    def again(*args, **kwargs):
        return vvcv.evidence(*args, **kwargs, compare=False).log_evidence

    expected = pytest.approx(result.log_evidence, abs=1e-9)
    names = ("scores_likelihood", "scores_prior")
    lists = {name: list(getattr(ladder, name))[::-1] for name in names}
    values, points = list(ladder.log_likelihoods)[::-1], list(ladder.points)[::-1]
    assert again(values, ladder.temperatures[::-1], points, **lists) == expected
    long = {"temperatures": np.repeat(ladder.temperatures, ladder.points.shape[1])}
    long |= {"log_likelihoods": ladder.log_likelihoods.ravel(), "points": ladder.points.reshape(-1, 1)}
    long |= {name: getattr(ladder, name).reshape(-1, 1) for name in names}
    assert again(long) == expected


def test_rungs_may_have_different_sizes_and_repeated_draws(ladder):
    sizes = [10, 6, 10, 7, 10, 8, 10, 9, 10]
    cut = {}
    for name in ("points", "log_likelihoods", "scores_likelihood", "scores_prior"):
        cut[name] = [np.array(rung[:k]) for rung, k in zip(getattr(ladder, name), sizes, strict=True)]
        cut[name][0][3] = cut[name][0][2]  # a rejected proposal
    found = vvcv.evidence(cut, ladder.temperatures, compare=False)
    assert found.sizes == tuple(sizes)
    assert abs(found.log_evidence - ladder.exact) < 2 * found.std_error


def test_a_constant_factor_of_the_likelihood_shifts_the_log_evidence_by_itself(result):
    shifted = vvcv.evidence(gaussian_ladder(seed=0, shift=-250.0), compare=False)
    assert shifted.log_evidence == pytest.approx(result.log_evidence - 250.0, abs=1e-6)


def test_two_dimensions_work_as_one_does():
    model = gaussian_ladder(seed=3, rungs=7, draws=16, d=2)
    found = vvcv.evidence(model, compare=False)
    assert abs(found.log_evidence - model.exact) < 2 * found.std_error
    assert found.sampling_error < 0.3 * plain_average(samples_of(model)).std_error


def test_a_likelihood_that_does_not_vary_is_its_own_evidence(ladder):
    constant = {**vars(ladder), "log_likelihoods": np.full_like(ladder.log_likelihoods, -3.0)}
    constant["scores_likelihood"] = np.zeros_like(ladder.scores_likelihood)
    found = vvcv.evidence(constant, compare=False)
    assert (found.log_evidence, found.std_error) == (pytest.approx(-3.0), 0.0)


def test_van_der_pol_evidence_is_right_to_three_decimals_from_twenty_draws_per_temperature():
    draws = van_der_pol.sample_ladder(seed=0, n_samples=20)
    found = vvcv.evidence(
        draws.log_likelihood,
        draws.temperatures,
        draws.points,
        scores_likelihood=draws.scores_likelihood,
        scores_prior=draws.scores_prior,
        compare=False,
    )
    assert abs(found.log_evidence - van_der_pol.EXACT_LOG_EVIDENCE) < 2e-3
    assert found.std_error < 3e-3
    assert 0.5 < found.ladder_error / 9.4e-5 < 2.0  # with exact moments the quadrature misses by 9.4e-5


def samples_of(model):
    return LadderSamples.of(**fields_of(model))
