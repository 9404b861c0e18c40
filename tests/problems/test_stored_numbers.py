"""Published numbers, and the long run behind the reference values."""

import numpy as np
import pytest

from vvcv.problems import borehole, lotka_volterra, lotka_volterra_reference, published, van_der_pol
from vvcv.problems.cross_fit import cross_fitted
from vvcv.problems.data import read_json


def test_published_numbers_are_those_of_the_paper():
    assert published.load("borehole")["m"] == [10, 20, 50, 100, 150]
    assert published.load("borehole")["vv_estimated_B"] == [3.72, 1.29, 1.04, 1.07, 0.85]
    assert published.load("lotka_volterra")["MCMC"] == [0.568, 0.987, 2.663]
    assert published.load("lotka_volterra_additional")["CF"] == [0.242, 1.246, 5.835]


def test_facts_stated_twice_agree():
    assert published.load("borehole")["truth_high"] == borehole.EXACT_HIGH
    assert published.load("borehole")["truth_low"] == borehole.EXACT_LOW
    assert published.load("van_der_pol")["log_evidence"] == van_der_pol.EXACT_LOG_EVIDENCE
    for name, times in (
        ("lotka_volterra", lotka_volterra.TASK_TIMES),
        ("lotka_volterra_additional", lotka_volterra.ADDITIONAL_TASK_TIMES),
    ):
        assert published.load(name)["T"] == [len(years) for years in times.values()]


def test_the_papers_evidence_counts_the_constant_twice():
    constant = -van_der_pol.TIMES.size * np.log(van_der_pol.SIGMA * np.sqrt(2 * np.pi))
    twice = van_der_pol.EXACT_LOG_EVIDENCE + constant
    assert twice == pytest.approx(published.load("van_der_pol")["paper_log_evidence"], abs=0.005)


def test_unknown_experiment_is_named():
    assert "step" in published.names()
    assert "source" not in published.names()
    with pytest.raises(ValueError, match="step_function"):
        published.load("step_function")


@pytest.mark.parametrize("times", [*lotka_volterra.TASK_TIMES.values(), *lotka_volterra.ADDITIONAL_TASK_TIMES.values()])
def test_every_task_has_a_reference_value(times):
    reference = lotka_volterra_reference.load(times)
    np.testing.assert_array_equal(reference.times, times)
    assert np.all((reference.standard_error > 0) & (reference.standard_error < 1e-3))


def test_times_without_reference_are_named():
    with pytest.raises(ValueError, match="1911.5"):
        lotka_volterra_reference.load([1912.0, 1911.5])


def test_halves_of_the_long_run_agree():
    stored = read_json("lotka_volterra_reference.json")
    # Twenty tests of independent chains at four standard errors: false alarms below 2 of 1000 runs.
    assert stored["largest_z_between_halves"] < 4
    assert stored["divergences"] == 0
    z = np.subtract(stored["mean"], stored["plain_mean"]) / stored["plain_standard_error"]
    assert np.abs(z).max() < 4


def test_thinned_points_sharpened_by_another_degree_give_the_reference_values():
    reference = lotka_volterra_reference.load()
    points = lotka_volterra_reference.load_points()[::8].reshape(4, 500, 8)
    values = lotka_volterra.abundance(points.reshape(-1, 8), reference.times).reshape(4, 500, -1)
    scores = lotka_volterra.score(points.reshape(-1, 8)).reshape(points.shape)
    sharpened = cross_fitted(points, scores, values, degree=3).reshape(2000, -1)
    error = sharpened.std(axis=0) / np.sqrt(len(sharpened))
    assert error.max() < 0.005  # forty times below that of plain averages
    # Twenty tests at five standard errors: false alarms below 1 of 10^4.
    assert np.all(np.abs(sharpened.mean(axis=0) - reference.mean) < 5 * error)


def test_batch_standard_error_sees_autocorrelation():
    rng = np.random.default_rng(0)
    chains, rho = np.zeros((4, 20_000, 2)), 0.9
    noise = rng.standard_normal(chains.shape)
    for k in range(1, chains.shape[1]):
        chains[:, k] = rho * chains[:, k - 1] + noise[:, k]
    exact = 1 / (1 - rho) / np.sqrt(chains.shape[0] * chains.shape[1])
    # 400 batch means: the standard error is known to 3.5 %; four of those, and 5 % for the finite batches.
    np.testing.assert_allclose(lotka_volterra_reference.batch_standard_error(chains), exact, rtol=0.19)
    assert np.all(lotka_volterra_reference.split_r_hat(chains) < 1.01)


def test_split_r_hat_sees_a_drift():
    drifting = np.linspace(0, 3, 1000)[None, :, None] + np.random.default_rng(1).standard_normal((2, 1000, 1))
    assert lotka_volterra_reference.split_r_hat(drifting) > 1.2
