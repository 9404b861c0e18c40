"""The problems of the trust suite say what their means are; their draws and scores agree."""

import sys
from pathlib import Path

import numpy as np
import pytest

import vvcv

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "trust"))
from replications import Store, complete, limits, summarise  # noqa: E402

from problems import problems  # noqa: E402

PROBLEMS = problems()
DRAWS = 300


def test_the_suite_has_at_least_sixteen_problems_and_several_smooth_ones():
    assert len(PROBLEMS) >= 16
    assert sum(problem.smooth for problem in PROBLEMS.values()) >= 4
    assert all(min(p.draw(0).sizes) >= 50 for p in PROBLEMS.values() if p.smooth)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_average_over_many_draws_is_the_exact_mean(name):
    """z below 4.5 for 26 problems: false alarms in about 3 of 10 000 choices of seeds."""
    problem = PROBLEMS[name]
    means = np.array([[task.values.mean() for task in problem.draw(seed)] for seed in range(DRAWS)])
    z = (means.mean(axis=0) - problem.exact) / (means.std(axis=0) / np.sqrt(DRAWS))
    assert np.all(np.abs(z) < 4.5)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_scores_are_those_of_the_target(name):
    """Stein identities over many draws together; the alarm rate of `check` is 2 in 1000 for each problem."""
    problem = PROBLEMS[name]
    draws = [problem.draw(seed) for seed in range(20)]
    for t in range(len(problem.exact)):
        x, s = (np.concatenate([getattr(tasks[t], what) for tasks in draws]) for what in ("points", "scores"))
        if problem.chains:  # one chain of each draw after the other: still chains, and draws of the target
            x, s = (a.reshape(-1, problem.draw(0)[0].chains[1], a.shape[1]) for a in (x, s))
        found = vvcv.check(vvcv.Task(x, s, x[..., 0]))
        assert not any(finding.severity == "error" for finding in found), found


def test_a_store_can_be_taken_up_again_and_forgets_on_request(tmp_path):
    line = {"problem": "p", "seed": 3, "method": "mc", "mean": [1.0]}
    Store(tmp_path / "s.jsonl").add([line, line | {"method": "cf"}])
    with (tmp_path / "s.jsonl").open("a") as file:
        file.write('{"problem": "p", "seed": 4, "meth')  # a run that was killed while it wrote
    store = Store(tmp_path / "s.jsonl")
    assert store.missing("p", 3, ["mc", "cf", "auto"]) == ["auto"]
    store.forget(["cf"], ["p"], range(10))
    assert store.missing("p", 3, ["mc", "cf", "auto"]) == ["cf", "auto"]
    store.add([line | {"seed": 4}])
    assert Store(tmp_path / "s.jsonl").missing("p", 4, ["mc"]) == []


def test_the_limits_see_an_estimate_that_hurts_and_intervals_that_do_not_cover(tmp_path):
    problem = PROBLEMS["n = 5"]
    rng = np.random.default_rng(0)
    store, exact = Store(tmp_path / "s.jsonl"), float(problem.exact[0])
    for seed in range(100):
        plain = exact + rng.normal()
        for method, mean in (("mc", plain), ("cf", exact + 0.1 * rng.normal()), ("auto", exact + 2 * rng.normal())):
            line = {"problem": problem.name, "seed": seed, "method": method, "seconds": 0.0, "methods": [method]}
            numbers = {"mean": [mean], "std_error": [0.5], "low": [mean - 1], "high": [mean + 1], "plain": [plain]}
            store.add([line | numbers | {"plain_std_error": [1.0]}])
    row = summarise(problem, complete(store, problem.name, range(100)))
    held = limits({problem.name: row}, PROBLEMS)["problems"][problem.name]
    assert [held[limit][1] for limit in ("against plain", "against best rung", "coverage")] == [False, False, False]
    assert row["methods"]["cf"]["rmse"] < 0.2
