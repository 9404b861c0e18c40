"""Runs of models at uncertain inputs: their scores are exact, so that what does not fit is where they ran."""

from __future__ import annotations

import numpy as np
import pytest

import vvcv
from vvcv import inputs
from vvcv.checks import check
from vvcv.checks.equal import likely_to_miss
from vvcv.data import Task, Tasks

GIVEN = inputs.independent(load=inputs.normal(20, 2), angle=inputs.uniform(0, 1))


def runs(given=GIVEN, n=60, seed=0, values=None):
    x = given.sample(n, seed=seed)
    return x, x["load"] * (1 + x["angle"]) if values is None else np.full(n, values)


@pytest.mark.parametrize("known", [GIVEN, inputs.correlated({("load", "angle"): 0.5}, **GIVEN.marginals)])
def test_runs_at_other_inputs_name_the_input_and_no_mistake_of_the_scores(known):
    x, values = runs(inputs.independent(load=inputs.normal(20, 8), angle=inputs.uniform(0, 1)))
    (alarm,) = (finding for finding in check(known.task(x, values)) if finding.severity != "ok" and finding.task)
    assert (alarm.severity, alarm.code) == ("warning", "points") and "of 'load' least of all" in alarm.message


def test_runs_that_fail_only_together_name_the_input_too():
    """Six models whose loads are each spread a little too widely, none of them surely."""
    wide = inputs.independent(load=inputs.normal(20, 3.4), angle=inputs.uniform(0, 1))
    tasks = Tasks([GIVEN.task(*runs(wide, 24, seed), name=str(seed)) for seed in range(6)])
    (alarm,) = (finding for finding in check(tasks) if finding.severity == "warning")
    assert alarm.task is None and "of 'load' least of all" in alarm.message


def test_where_a_log_density_is_given_it_has_the_last_word():
    x, values = runs()
    task = GIVEN.task(x, values)
    assert check(task, lambda z: -0.5 * np.sum(z**2)).ok
    assert check(task, lambda z: -np.sum(z**2)).worst == "error"


def test_a_model_whose_runs_all_gave_one_value_has_an_alarm_and_a_constant_element_has_none():
    x, values = runs(n=15, values=0.0)
    with pytest.warns(vvcv.AlarmWarning, match=r"task 'failure': all 15 values are 0.* probability 0\.18 is missed"):
        est = vvcv.estimate(GIVEN.task(x, values, "failure"))
    assert est.mean[0] == est.std_error[0] == 0
    z = np.random.default_rng(0).normal(size=(15, 2))
    assert "equal-values" not in check(Task(z, -z, values)).codes


def test_so_many_runs_miss_an_event_of_that_probability_one_time_in_twenty():
    events = np.random.default_rng(0).uniform(size=(20000, 15)) < likely_to_miss(15)
    assert abs((~events.any(axis=1)).mean() - 0.05) < 0.006


def test_large_samples_are_checked_as_runs_of_models_too(monkeypatch):
    monkeypatch.setattr("vvcv.estimation.diagnosis.MOST_PRODUCTS", 1)
    x, values = runs(inputs.independent(load=inputs.normal(20, 8), angle=inputs.uniform(0, 1)), n=2000)
    with pytest.warns(vvcv.AlarmWarning, match="of 'load' least of all"):
        vvcv.estimate(GIVEN.task(x, values), "zv")
