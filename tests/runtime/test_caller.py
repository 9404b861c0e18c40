"""Warnings point at the user's line, from however deep in the library they come."""

import inspect
import warnings

import numpy as np
import pytest

import vvcv
from vvcv import inputs


def table_of_runs():
    given = inputs.independent(a=inputs.uniform(0, 1))
    given.tasks_from_table({"a": [0.1, 0.2, 0.3], "value": [1.0, np.nan, 2.0]})


def states_of_blackjax():
    class State:
        position = np.zeros((9, 2, 1)) + np.arange(2.0)[:, None]
        logdensity_grad = position

    vvcv.from_blackjax(State)


def evidence_of_few_draws():
    t = np.arange(4) / 3
    x = np.random.default_rng(0).normal(0.5 * t / (1 + t), 1 / np.sqrt(1 + t), size=(2, 4)).T
    vvcv.evidence(-((x - 0.5) ** 2) / 2, t, x, scores_likelihood=0.5 - x, scores_prior=-x)


@pytest.mark.parametrize("call", [table_of_runs, states_of_blackjax, evidence_of_few_draws])
def test_a_warning_is_of_the_line_that_called_the_library(call):
    lines, first = inspect.getsourcelines(call)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        call()
    assert given
    assert {warning.filename for warning in given} == {__file__}
    assert {warning.lineno for warning in given} <= set(range(first, first + len(lines)))
