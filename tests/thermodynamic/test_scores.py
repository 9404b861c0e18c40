"""Wrong scores of prior or likelihood raise the alarm; right ones do not, also along slow chains."""

import numpy as np
import pytest
from gaussian_model import NOISE, Y, gaussian_path

import vvcv
from vvcv.checks import AlarmWarning
from vvcv.thermodynamic.samples import PathSamples, fields_of
from vvcv.thermodynamic.scores import describe_scores


def found(path):
    return describe_scores(PathSamples.of(**fields_of(path)))


def swapped(path):
    path.scores_likelihood, path.scores_prior = path.scores_prior, path.scores_likelihood


def posterior_as_prior(path):
    path.scores_prior = path.scores_prior + path.scores_likelihood


def slow_path(seed, correlation):
    """Fifteen temperatures with one autoregressive chain of 60 draws each."""
    path, rng = gaussian_path(seed, 15, 60, d=2), np.random.default_rng(1000 + seed)
    precision = 1 + path.temperatures / NOISE**2
    walk = rng.normal(size=path.points.shape)
    for i in range(1, walk.shape[1]):
        walk[:, i] = correlation * walk[:, i - 1] + np.sqrt(1 - correlation**2) * walk[:, i]
    centre = path.temperatures[:, None] * Y / NOISE**2 / precision[:, None]
    path.points = centre[:, None] + walk / np.sqrt(precision)[:, None, None]
    path.scores_likelihood, path.scores_prior = (Y - path.points) / NOISE**2, -path.points
    return path


@pytest.mark.parametrize(
    ("mistake", "words"), [(swapped, "swapped"), (posterior_as_prior, "scores_prior are those of the posterior")]
)
def test_wrong_scores_raise_the_alarm_and_are_named(mistake, words):
    """Of 8 temperatures with 15 draws each one swap in 40 passes; where the mistake is named, the words say which."""
    named = 0
    for seed in range(20):
        path = gaussian_path(seed, temperatures=8, draws=20, d=1 + seed % 2)
        mistake(path)
        (finding,) = found(path)
        named += words in finding.message
    assert named >= 18


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_right_scores_raise_none(correlation):
    """In 2 of 1000 paths they do: in one of 40 with probability .08, in three with less than 1e-4."""
    assert sum(bool(found(slow_path(seed, correlation))) for seed in range(40)) <= 2


def test_evidence_does_what_on_alarm_says():
    path = gaussian_path(seed=0, temperatures=15, draws=30)
    swapped(path)
    with pytest.raises(ValueError, match="on_alarm must be one of"):
        vvcv.evidence(path, compare=False, on_alarm="loud")
    with pytest.raises(ValueError, match="swapped"):
        vvcv.evidence(path, compare=False, on_alarm="raise")
    with pytest.warns(AlarmWarning, match="likelihood and prior are swapped"):
        vvcv.evidence(path, compare=False)
    assert np.isfinite(vvcv.evidence(path, compare=False, on_alarm="ignore").log_evidence)
