"""Inputs of the user's own, failures that say much, and places that can be no store."""

import os
import sys

import numpy as np
import pytest
from scipy import stats

from vvcv import inputs
from vvcv.simulators import run_models

GIVEN = inputs.independent(a=inputs.uniform(0, 1), b=inputs.exponential(2))


class Counted:
    """A model that counts its runs."""

    def __init__(self):
        self.calls = 0

    def __call__(self, a, b):
        self.calls += 1
        return a + b


def run(model, store, n, given=GIVEN, name="cheap"):
    return run_models({name: model}, given, {name: n}, store=store)


class Halves:
    """A law of the user's own, with no name but the place in memory that Python gives it."""

    def __init__(self, scale):
        self.law = stats.laplace(scale=scale)

    def __getattr__(self, name):
        if name in ("logpdf", "logcdf", "logsf", "ppf", "isf", "support"):
            return getattr(self.law, name)
        raise AttributeError(name)


def test_inputs_of_the_users_own_are_known_again_by_another_process_and_others_are_refused(tmp_path):
    path, again = tmp_path / "runs.jsonl", Counted()
    one, same, other = (inputs.independent(a=Halves(scale), b=inputs.normal(0, 1)) for scale in (1, 1, 2))
    run(Counted(), path, 3, given=one)
    run(again, path, 5, given=same)
    assert again.calls == 2
    with pytest.raises(ValueError, match="these settings put it elsewhere"):
        run(Counted(), path, 5, given=other)


@pytest.mark.parametrize("unit", ["ns", "us", "D"])
def test_dates_and_spans_of_time_are_no_numbers_in_any_unit(unit):
    span = np.timedelta64(5, unit)
    for returned in (span, np.array([span]), np.array(span, dtype=object), np.datetime64("2020-01-01", unit)):
        with pytest.raises(ValueError, match="must return one number"):
            run(lambda a, b, returned=returned: returned, None, 3)
    assert set(run(lambda a, b: span / np.timedelta64(1, unit), None, 3)["cheap"].values) == {5.0}


def test_histograms_of_other_data_are_other_inputs(tmp_path):
    one, same, other = (
        inputs.independent(a=stats.rv_histogram((counts, [0, 1, 2])), b=inputs.normal(0, 1))
        for counts in ([1, 2], [1, 2], [2, 1])
    )
    run(Counted(), tmp_path / "runs.jsonl", 3, given=one)
    run(Counted(), tmp_path / "runs.jsonl", 3, given=same)
    with pytest.raises(ValueError, match="with other settings: inputs is"):
        run(Counted(), tmp_path / "runs.jsonl", 3, given=other)


def test_a_long_failure_is_kept_whole_and_shown_in_short(tmp_path):
    def verbose(a, b):
        if a < 0.5:
            raise RuntimeError("residual 1.0\n" * 1000)
        return a

    with pytest.warns(RuntimeWarning, match="runs of 'cheap' failed") as caught:
        run(verbose, tmp_path / "runs.jsonl", 12)
    assert len(str(caught[0].message)) < 700 and "\n" not in str(caught[0].message)
    assert (tmp_path / "runs.jsonl").read_text().count("residual") % 1000 == 0


def test_a_failure_that_cannot_be_shown_is_kept_as_one(tmp_path):
    class Mute(Exception):
        def __str__(self):
            raise OSError("no text")

    def fails(a, b):
        if a < 0.5:
            raise Mute
        return a

    with pytest.warns(
        RuntimeWarning, match=r"failed and are left out \(first: run \d+, Mute: which cannot be shown \(OSE"
    ):
        run(fails, tmp_path / "runs.jsonl", 12)


def test_a_model_that_leaves_by_sys_exit_has_failed_and_the_others_go_on(tmp_path):
    def program(a, b):
        if a < 0.5:
            sys.exit("no convergence")
        return a

    with pytest.warns(RuntimeWarning, match=r"runs of 'cheap' failed .*SystemExit: no convergence"):
        tasks = run(program, tmp_path / "runs.jsonl", 12)
    assert tasks["cheap"].values.min() >= 0.5


def test_runs_are_made_where_underflow_is_an_error_to_the_user():
    with np.errstate(all="raise"):
        given = inputs.independent(a=inputs.uniform(0, 1), b=inputs.lognormal(0, 1), c=inputs.gamma(0.1))
        assert run(lambda a, b, c: a + b + c, None, 12, given=given)["cheap"].size == 12


def test_a_store_or_a_model_that_can_be_none_is_refused_before_any_run(tmp_path):
    (tmp_path / "file").touch()
    os.mkfifo(pipe := tmp_path / "pipe")
    model = Counted()
    for store, words in (
        (tmp_path, "is a folder. Name a file in it"),
        ("", "'' is a folder"),
        (tmp_path / "file" / "runs.jsonl", "must be in a folder"),
        (3, "must be the path of a file"),
        (os.devnull, "is a device or a pipe. Name a file, or give None"),
        (pipe, "is a device or a pipe"),
    ):
        with pytest.raises(ValueError, match=words):
            run(model, store, 3)
    with pytest.raises(ValueError, match="none that can be written"):
        run(model, None, 3, name="\udc80")
    assert not model.calls
