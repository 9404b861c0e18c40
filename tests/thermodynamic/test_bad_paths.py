"""Bad paths raise errors that say what to do, doubtful ones warn."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from gaussian_model import NOISE, Y, gaussian_path

import vvcv
from vvcv import report
from vvcv.problems import van_der_pol
from vvcv.thermodynamic.advice import EvidenceWarning, warn_of_coarse_path, warn_of_improper_prior
from vvcv.thermodynamic.baselines import mbar, plain_average, stepping_stone
from vvcv.thermodynamic.quadrature import quadrature_errors
from vvcv.thermodynamic.samples import PathSamples, fields_of


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("temperatures", lambda a: a[:-1], "one entry per temperature"),
        ("temperatures", lambda a: 0.9 * a, "from 0 .* to 1"),
        ("temperatures", lambda a: 0.1 + 0.9 * a, "from 0 .* to 1"),
        ("temperatures", lambda a: np.where(a == a[2], a[1], a), "different numbers"),
        ("temperatures", lambda a: a[:, None], "vector"),
        ("points", lambda a: a[:, :-1], "one number per point|shape of the points"),
        ("points", lambda a: np.where(a == a[0, 0], np.nan, a), "finite"),
        ("scores_prior", lambda a: a[:, :, [0, 0]], "shape of the points"),
        ("scores_likelihood", lambda a: None, "missing"),
        ("log_likelihoods", lambda a: 3.0, "first axis is the temperatures"),
        ("log_likelihoods", lambda a: dict(enumerate(a)), "is a mapping"),
        ("log_likelihoods", lambda a: np.where(a == a[0, 0], -np.inf, a), "1 of the sample at t = 0 .* Do not remove"),
    ],
)
def test_a_bad_path_is_refused_with_a_remedy(path, name, change, message):
    given = {**vars(path), name: change(getattr(path, name))}
    with pytest.raises(ValueError, match=message):
        vvcv.evidence(given)


def test_one_draw_at_a_temperature_is_refused(path):
    given = {n: list(getattr(path, n)) for n in ("points", "log_likelihoods", "scores_likelihood", "scores_prior")}
    given = {n: [a[:1] if i == 4 else a for i, a in enumerate(samples)] for n, samples in given.items()}
    with pytest.raises(ValueError, match="at least two draws"):
        vvcv.evidence({**given, "temperatures": path.temperatures})


def test_a_flat_prior_is_called_improper_and_a_proper_one_is_not(path):
    flat = {**vars(path), "scores_prior": np.zeros_like(path.scores_prior)}
    with pytest.warns(EvidenceWarning, match="improper"):
        warn_of_improper_prior(PathSamples.of(**fields_of(flat)))
    for seed in range(200):  # no warning among proper priors (warnings are errors here)
        warn_of_improper_prior(PathSamples.of(**fields_of(gaussian_path(seed, temperatures=3))))


def test_a_prior_that_pushes_points_apart_is_called_improper():
    path = gaussian_path(seed=0, temperatures=3, draws=100)
    outward = {**vars(path), "scores_prior": 0.1 * path.points}
    with pytest.warns(EvidenceWarning, match="improper"):
        warn_of_improper_prior(PathSamples.of(**fields_of(outward)))


def along_a_chain(seed, correlation, draws, t=3):
    """A path of autoregressive chains, in the order of their draws."""
    path, rng = gaussian_path(seed, t, draws), np.random.default_rng(seed)
    walk = rng.normal(size=path.points.shape)
    for i in range(1, draws):
        walk[:, i] = correlation * walk[:, i - 1] + np.sqrt(1 - correlation**2) * walk[:, i]
    precision = 1 + path.temperatures / NOISE**2
    path.points = (path.temperatures * Y[0] / NOISE**2 / precision)[:, None, None] + walk / np.sqrt(
        precision[:, None, None]
    )
    path.scores_likelihood, path.scores_prior = (Y[0] - path.points) / NOISE**2, -path.points
    path.log_likelihoods = -0.5 * ((path.points[..., 0] - Y[0]) / NOISE) ** 2 - np.log(NOISE * np.sqrt(2 * np.pi))
    return path


@pytest.mark.parametrize(("correlation", "draws"), [(0.98, 300), (0.995, 300), (0.97, 60)])
def test_a_slow_chain_of_a_proper_prior_is_not_called_improper(correlation, draws):
    """Taken for independent, draws of the three say so in 49, 90 and 1 of 100; a prior without slope is always seen."""
    for seed in range(60):  # warnings are errors here
        path = along_a_chain(seed, correlation, draws)
        warn_of_improper_prior(PathSamples.of(**fields_of(path)))
        path.scores_prior = 1e-3 * path.scores_prior
        with pytest.warns(EvidenceWarning, match="improper"):
            warn_of_improper_prior(PathSamples.of(**fields_of(path)))


def test_temperatures_that_no_draw_can_tell_apart_are_refused(path):
    close = {**vars(path), "temperatures": path.temperatures.copy()}
    close["temperatures"][4] = close["temperatures"][3] * (1 + 1e-13)
    with pytest.raises(ValueError, match="Merge the draws of equal ones"):
        vvcv.evidence(close)


def test_errors_of_other_methods_know_of_autocorrelation():
    """Taken for independent, draws of such chains give errors four times too small."""
    away = []
    for seed in range(30):
        path = along_a_chain(seed, 0.9, 150, t=12)
        samples = PathSamples.of(**fields_of(path))
        away += [(m.log_evidence - path.exact) / m.std_error for m in (plain_average(samples), stepping_stone(samples))]
    assert np.sqrt(np.mean(np.square(away))) < 1.5


def test_mbars_error_knows_of_autocorrelation():
    pytest.importorskip("pymbar")
    slow, fast = (PathSamples.of(**fields_of(along_a_chain(0, rho, 150, t=5))) for rho in (0.9, 0.0))
    assert mbar(slow).std_error > 2.5 * mbar(fast).std_error


@pytest.mark.parametrize(("every", "coarse"), [(1, False), (2, False), (3, True), (5, True)])
def test_a_path_is_called_too_coarse_when_its_error_shows_and_leads(every, coarse):
    t, mu, v = (a[::every] for a in (van_der_pol.TEMPERATURES, van_der_pol.EXACT_MEAN, van_der_pol.EXACT_VARIANCE))
    errors = quadrature_errors(t, mu, v)
    with pytest.warns(EvidenceWarning, match="Add temperatures, first between") if coarse else nullcontext():
        warn_of_coarse_path(t, errors, sampling_error=1e-3)
    warn_of_coarse_path(t, errors, sampling_error=1.0)  # more draws come first


def test_a_result_prints_both_parts_of_its_error_and_draws_itself(path, result):
    pytest.importorskip("matplotlib")
    text = str(result)
    assert "finitely many draws" in text and "finitely many temperatures" in text
    assert len(text.splitlines()) > len(path.temperatures)
    with pytest.raises(ValueError, match="pass two axes"):
        result.plot(report.pyplot().subplots()[1])
    axes = result.plot()
    assert axes[0].get_ylabel() == "mean log likelihood"
    assert result.to_xarray().attrs["log_evidence"] == result.log_evidence
