"""Evidence where it is known: accuracy, error bars, ways to hand over the draws."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest
from gaussian_model import gaussian_path

import vvcv
from vvcv.problems import van_der_pol
from vvcv.thermodynamic import baselines
from vvcv.thermodynamic.advice import EvidenceWarning, warn_of_disagreement, warn_of_few_draws
from vvcv.thermodynamic.baselines import compare_all, mbar, plain_average
from vvcv.thermodynamic.quadrature import quadrature_weights
from vvcv.thermodynamic.result import Comparison
from vvcv.thermodynamic.samples import PathSamples, fields_of

README = Path(__file__).parents[2] / "README.md"


def test_moments_of_a_gaussian_model_are_found_far_beyond_plain_averages(path, result):
    plain = np.abs(result.plain_means - path.exact_means).max()
    assert np.abs(result.means - path.exact_means).max() < 0.02 * plain
    plain = np.abs(result.plain_variances / path.exact_variances - 1).max()
    assert np.abs(result.variances / path.exact_variances - 1).max() < 0.5 * plain


def test_what_the_log_evidence_misses_is_the_discretisation_of_the_path(path, result):
    weights, of_variances = quadrature_weights(path.temperatures)
    by_exact_moments = weights @ path.exact_means + of_variances @ path.exact_variances
    assert abs(result.log_evidence - by_exact_moments) < 3 * result.sampling_error
    assert result.sampling_error < 0.05 * result.comparison[0].std_error
    low, high = result.interval()
    assert low < path.exact < high


def test_all_methods_are_compared_on_the_same_draws(path, result):
    names = [other.name for other in result.comparison]
    assert names[:2] == ["plain averages", "stepping stone"]
    for other in result.comparison:  # four standard errors: one false alarm in 5,000 for each method
        assert abs(other.log_evidence - path.exact) < 4 * other.std_error + 0.01


def test_mbar_leaves_the_users_jax_settings_and_standard_error_alone(path, capfd):
    pytest.importorskip("pymbar")
    before = jax.config.jax_enable_x64
    found = mbar(samples_of(path))
    assert jax.config.jax_enable_x64 == before
    assert capfd.readouterr().err == ""
    assert abs(found.log_evidence - path.exact) < 4 * found.std_error


def test_lists_long_columns_mappings_and_any_order_of_temperatures_give_the_same_number(path, result):
    def again(*args, **kwargs):
        return vvcv.evidence(*args, **kwargs, compare=False).log_evidence

    expected = pytest.approx(result.log_evidence, abs=1e-9)
    names = ("scores_likelihood", "scores_prior")
    lists = {name: list(getattr(path, name))[::-1] for name in names}
    values, points = list(path.log_likelihoods)[::-1], list(path.points)[::-1]
    assert again(values, path.temperatures[::-1], points, **lists) == expected
    long = {"temperatures": np.repeat(path.temperatures, path.points.shape[1])}
    long |= {"log_likelihoods": path.log_likelihoods.ravel(), "points": path.points.reshape(-1, 1)}
    long |= {name: getattr(path, name).reshape(-1, 1) for name in names}
    assert again(long) == expected


def test_a_table_has_a_row_for_each_temperature(path):
    given = {name: getattr(path, name) for name in ("log_likelihoods", "temperatures", "points")}
    given |= {name: getattr(path, name) for name in ("scores_likelihood", "scores_prior")}
    whole = PathSamples.of(**given)
    tables = {name: pd.DataFrame(a[:, :, 0] if a.ndim == 3 else a) for name, a in given.items() if a.ndim > 1}
    found = PathSamples.of(**(given | tables))
    for mine, theirs in zip(found.log_likelihoods, whole.log_likelihoods, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_samples_may_have_different_sizes_and_repeated_draws(path):
    sizes = [10, 6, 10, 7, 10, 8, 10, 9, 10]
    cut = {}
    for name in ("points", "log_likelihoods", "scores_likelihood", "scores_prior"):
        cut[name] = [np.array(sample[:k]) for sample, k in zip(getattr(path, name), sizes, strict=True)]
        cut[name][0][3] = cut[name][0][2]  # a rejected proposal
    found = vvcv.evidence(cut, path.temperatures, compare=False)
    assert found.sizes == tuple(sizes)
    assert abs(found.log_evidence - path.exact) < 2 * found.std_error


def test_a_constant_factor_of_the_likelihood_shifts_the_log_evidence_by_itself(result):
    shifted = vvcv.evidence(gaussian_path(seed=0, shift=-250.0), compare=False)
    assert shifted.log_evidence == pytest.approx(result.log_evidence - 250.0, abs=1e-6)


def test_two_dimensions_work_as_one_does():
    model = gaussian_path(seed=3, temperatures=7, draws=16, d=2)
    found = vvcv.evidence(model, compare=False)
    assert abs(found.log_evidence - model.exact) < 2 * found.std_error
    assert found.sampling_error < 0.3 * plain_average(samples_of(model)).std_error


def test_a_likelihood_that_does_not_vary_is_its_own_evidence(path):
    constant = {**vars(path), "log_likelihoods": np.full_like(path.log_likelihoods, -3.0)}
    constant["scores_likelihood"] = np.zeros_like(path.scores_likelihood)
    found = vvcv.evidence(constant, compare=False)
    assert (found.log_evidence, found.std_error) == (pytest.approx(-3.0), 0.0)


def test_van_der_pol_evidence_is_right_to_three_decimals_from_twenty_draws_per_temperature():
    draws = van_der_pol.sample_path(seed=0, n_samples=20)
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
    assert 0.5 < found.quadrature_error / 9.4e-5 < 2.0  # with exact moments the quadrature misses by 9.4e-5


def samples_of(model):
    return PathSamples.of(**fields_of(model))


@pytest.mark.parametrize("constant", [-1e6, -300.0, 1e3])
def test_a_constant_in_all_log_likelihoods_shifts_every_answer_by_itself(path, constant):
    samples = samples_of(path)
    moved = replace(samples, log_likelihoods=tuple(values + constant for values in samples.log_likelihoods))
    for before, after in zip(compare_all(samples), compare_all(moved), strict=True):
        assert after.log_evidence - constant == pytest.approx(before.log_evidence, abs=1e-5)
        assert after.std_error == pytest.approx(before.std_error, rel=1e-4)


def test_an_answer_does_not_hang_on_other_methods(path, monkeypatch):
    def fails(samples):
        raise RuntimeError("no column sums to one")

    monkeypatch.setattr(baselines, "mbar", fails)
    monkeypatch.setattr(baselines.importlib.util, "find_spec", lambda name: object())
    with pytest.warns(EvidenceWarning, match=r"MBAR is left out of the comparison: .* \(RuntimeError\)"):
        names = [found.name for found in compare_all(samples_of(path))]
    assert names == ["plain averages", "stepping stone"]


def test_answers_that_mbar_contradicts_and_pairs_of_draws_are_warned_of(path):
    samples = samples_of(path)
    with pytest.warns(EvidenceWarning, match=r"The log evidence is 3, but MBAR says 1 \+- 0\.1"):
        warn_of_disagreement(3.0, 0.1, [Comparison("MBAR", 1.0, 0.1)])
    two = {name: tuple(rows[:2] for rows in getattr(samples, name)) for name in vars(samples) if name != "temperatures"}
    with pytest.warns(EvidenceWarning, match="at least 3 draws"):
        warn_of_few_draws(replace(samples, **two))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_disagreement(1.3, 0.1, [Comparison("MBAR", 1.0, 0.1), Comparison("plain averages", 9.0, 0.1)])
        warn_of_few_draws(samples)


def test_informative_data_have_an_error_bar_of_the_size_of_the_error():
    """Without the word of draws left out bars of these five are 9 to 90 long; errors are .2 to 4, MBAR's bar .3."""
    t, noise, rng = (np.arange(31) / 30) ** 5, 0.02, np.random.default_rng(1)
    slope = rng.normal(size=5)
    y = slope * rng.normal() + noise * rng.normal(size=5)
    precision = 1 + t * np.sum(slope**2) / noise**2
    centre = t * np.sum(slope * y) / noise**2 / precision
    exact = -0.5 * y @ np.linalg.solve(np.outer(slope, slope) + noise**2 * np.eye(5), y)
    exact -= 0.5 * np.linalg.slogdet(2 * np.pi * (np.outer(slope, slope) + noise**2 * np.eye(5)))[1]
    bars = []
    for _ in range(5):
        x = centre[:, None] + rng.normal(size=(31, 20)) / np.sqrt(precision)[:, None]
        off = y - x[..., None] * slope
        likely = -0.5 * np.sum(off**2, axis=-1) / noise**2 - 2.5 * np.log(2 * np.pi * noise**2)
        found = vvcv.evidence(likely, t, x, scores_likelihood=off @ slope / noise**2, scores_prior=-x, compare=False)
        assert abs(found.log_evidence - exact) < 4 * found.std_error
        bars.append(found.sampling_error)
    assert np.median(bars) < 10
