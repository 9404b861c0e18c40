"""Inputs whose law has a heavy tail, which standard normal coordinates do not show and error bars miss."""

import numpy as np
import pytest
from scipy import stats

import vvcv
from vvcv import inputs

LAWS = {
    "student": inputs.student(3),
    "pareto": stats.pareto(4),
    "truncated": inputs.truncated(inputs.student(3), low=0),
}


def alarmed(law, f, n, seed) -> bool:
    given = inputs.independent(calm=inputs.normal(0, 1), wild=law)
    x = given.sample(n, seed=seed)
    found = vvcv.check(given.task(x, f(x["wild"]) + 0.01 * x["calm"], "f"))
    return any(finding.code == "heavy-tails" and "'wild'" in finding.message for finding in found)


@pytest.mark.parametrize(("n", "least"), [(20, 22), (40, 34), (100, 39)])  # of seeds 100 to 199 71, 94 and 100 at least
@pytest.mark.parametrize("law", LAWS)
def test_values_that_grow_into_a_heavy_tail_are_warned_of(law, n, least):
    assert sum(alarmed(LAWS[law], np.abs, n, seed) for seed in range(40)) >= least


def test_values_that_do_not_grow_there_and_light_tails_are_not():
    assert sum(alarmed(inputs.student(3), np.tanh, 100, seed) for seed in range(40)) <= 1
    for law in (inputs.student(8), inputs.lognormal(0, 1), inputs.gamma(0.3), inputs.uniform(0, 1)):
        assert not any(alarmed(law, np.abs, 100, seed) for seed in range(10))


@pytest.mark.parametrize("law", [inputs.student(2.5), stats.invgamma(2.5), stats.fisk(2.5), stats.burr12(5, 0.5)])
def test_the_power_of_a_tail_is_that_of_its_law(law):
    assert inputs.independent(a=law).marginals["a"].power == pytest.approx(2.5, rel=1e-6)


def test_what_a_task_knows_of_its_inputs_is_kept_by_other_values_and_by_runs_of_models():
    given = inputs.independent(a=inputs.student(3))
    x = given.sample(50, seed=1)
    task = given.task(x, np.abs(x["a"]), "f")
    assert task.tails == task.carrying(task.values**2, "square").tails and task.tails[0].name == "a"
    with pytest.warns(vvcv.AlarmWarning, match="the density of input 'a' falls no faster than its power -4"):
        vvcv.multifidelity({"f": lambda a: abs(a)}, given, {"f": 50}, store=None, seed=1, progress=False)
