"""Models run into a store: nothing is lost, nothing repeated, failures are left out, other settings refused."""

import json
import warnings

import numpy as np
import pytest

import vvcv
from vvcv import inputs
from vvcv.simulators import run_models

GIVEN = inputs.independent(a=inputs.uniform(0, 1), b=inputs.exponential(2))
RUNS = {"cheap": 6, "dear": 3}


class Counted:
    """A model that counts its runs, and fails at those it is told to."""

    def __init__(self, fails=()):
        self.calls, self.fails = [], fails

    def __call__(self, a, b):
        self.calls.append((a, b))
        if len(self.calls) - 1 in self.fails:
            raise ArithmeticError("no convergence")
        return a + b


def run(models, path, runs=RUNS, **options):
    return run_models(models, options.pop("given", GIVEN), runs, store=path, **options)


def pair(**fails):
    return {name: Counted(fails.get(name, ())) for name in RUNS}


def test_a_finished_store_runs_nothing_again(tmp_path):
    first, second = pair(), pair()
    tasks = run(first, tmp_path / "runs.jsonl")
    again = run(second, tmp_path / "runs.jsonl")
    assert len(first["cheap"].calls) == 6 and not second["cheap"].calls and not second["dear"].calls
    assert np.array_equal(tasks.values, again.values) and np.array_equal(tasks.points, again.points)
    assert np.array_equal(tasks["cheap"].values, [a + b for a, b in first["cheap"].calls])


def test_every_model_has_points_of_its_own_that_do_not_change_with_the_others(tmp_path):
    tasks, alone = run(pair(), None), run({"dear": Counted()}, None, {"dear": 3})
    assert not np.isin(tasks["dear"].points, tasks["cheap"].points).any()
    assert np.array_equal(alone["dear"].points, tasks["dear"].points)


@pytest.mark.parametrize("design", ["random", "sobol"])
def test_more_runs_add_to_those_that_are_kept(tmp_path, design):
    run(pair(), tmp_path / "runs.jsonl", design=design)
    more = {"cheap": Counted(), "dear": Counted()}
    tasks = run(more, tmp_path / "runs.jsonl", {"cheap": 6, "dear": 5}, design=design)
    assert len(more["dear"].calls) == 2 and not more["cheap"].calls and tasks.sizes == (6, 5)


def test_an_interrupted_call_goes_on_where_it_stopped(tmp_path):
    def interrupted(a, b):
        if len(calls) == 4:
            raise KeyboardInterrupt
        calls.append((a, b))
        return a + b

    calls: list = []
    with pytest.raises(KeyboardInterrupt):
        run({"cheap": interrupted}, tmp_path / "runs.jsonl", {"cheap": 6})
    rest = Counted()
    with pytest.warns(RuntimeWarning, match="4 of 4 runs of 'cheap' in the store were made by other code"):
        run({"cheap": rest}, tmp_path / "runs.jsonl", {"cheap": 6})
    assert len(set(calls + rest.calls)) == 6 and len(rest.calls) == 2


def test_failed_runs_are_left_out_and_made_again_only_when_asked(tmp_path):
    path = tmp_path / "runs.jsonl"
    failing = pair(cheap={1, 4})
    with pytest.warns(RuntimeWarning, match="2 of 6 runs of 'cheap' failed.*run 1, ArithmeticError: no convergence"):
        tasks = run(failing, path)
    whole = run(pair(), None)
    assert np.array_equal(tasks["cheap"].points, np.delete(whole["cheap"].points, [1, 4], axis=0))
    mended = pair()
    with pytest.warns(RuntimeWarning, match="2 of 6 runs"):
        run(mended, path)
    assert not mended["cheap"].calls
    tasks = run(mended, path, retry=True)
    assert len(mended["cheap"].calls) == 2 and np.array_equal(tasks.values, whole.values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(pair(), path)


def test_values_that_are_no_numbers_are_failures(tmp_path):
    odd = {"cheap": lambda a, b: [np.nan, np.inf, "x", None, [1.0, 2.0], np.array([3.0])][int(6 * a)]}
    with pytest.warns(RuntimeWarning, match="of 40 runs of 'cheap' failed"):
        tasks = run(odd, tmp_path / "runs.jsonl", {"cheap": 40})
    assert set(tasks["cheap"].values) == {3.0}
    errors = {json.loads(line)["error"] for line in (tmp_path / "runs.jsonl").read_text().splitlines()[1:]}
    assert {"value nan", "value inf", None} < errors and len(errors) == 6


def test_masked_and_overflowing_values_are_failures(tmp_path):
    odd = {"cheap": lambda a, b: np.ma.masked if a < 0.3 else np.ma.array([1e300]) if a > 0.7 else np.ma.array([2.0])}
    with pytest.warns(RuntimeWarning, match="of 40 runs of 'cheap' failed"):
        tasks = run(odd, tmp_path / "runs.jsonl", {"cheap": 40})
    assert set(tasks["cheap"].values) == {2.0}


@pytest.mark.parametrize("returned", [[1.0, 2.0], np.arange(3.0), None, "stable", 1j, {"mean": 1.0}])
def test_a_model_that_returns_no_number_is_found_out_by_its_first_run_and_no_run_is_lost(tmp_path, returned):
    path, models = tmp_path / "runs.jsonl", pair()
    models["dear"] = wrong = Counted()
    models["dear"] = lambda a, b: wrong(a, b) and returned
    with pytest.raises(ValueError, match="must return one number, but 'dear' returned .* Mend the model"):
        run(models, path)
    assert len(models["cheap"].calls) == 1 and len(wrong.calls) == 1
    mended = pair()
    tasks = run(mended, path, retry=True)
    assert len(mended["cheap"].calls) == 5 and len(mended["dear"].calls) == 3
    assert np.array_equal(tasks.values, run(pair(), None).values)


def test_what_is_no_number_once_in_a_while_is_a_failed_run(tmp_path):
    results = [1.0, 2.0, 3.0, None, None]
    models = {"cheap": lambda a, b: results.pop(0)}
    run(models, tmp_path / "runs.jsonl", {"cheap": 3})
    with pytest.warns(RuntimeWarning, match="2 of 5 runs of 'cheap' failed.*no number but None"):
        assert run(models, tmp_path / "runs.jsonl", {"cheap": 5}).sizes == (3,)


def test_a_model_that_always_fails_is_an_error(tmp_path):
    with (
        pytest.warns(RuntimeWarning, match="6 of 6"),
        pytest.raises(ValueError, match="At least two runs of 'cheap' must succeed, but 0 of 6.*no convergence"),
    ):
        run({"cheap": Counted(range(6))}, tmp_path / "runs.jsonl", {"cheap": 6})


def test_a_store_of_other_settings_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "runs.jsonl"
    run(pair(), path)
    before = path.read_bytes()
    other = inputs.independent(a=inputs.uniform(0, 2), b=inputs.exponential(2))
    for change, words in (
        ({"given": other}, "inputs is"),
        ({"seed": 1}, "seed is"),
        ({"design": "sobol"}, "design is"),
    ):
        with pytest.raises(ValueError, match=f"keeps runs with other settings: {words}"):
            run(pair(), path, **change)
    assert path.read_bytes() == before


def test_a_hypercube_with_another_number_of_runs_is_refused(tmp_path):
    run(pair(), tmp_path / "runs.jsonl", design="latin-hypercube")
    with pytest.raises(ValueError, match="number of runs of a Latin hypercube"):
        run(pair(), tmp_path / "runs.jsonl", {"cheap": 6, "dear": 4}, design="latin-hypercube")


@pytest.mark.parametrize("content", [b"my thesis", b"a,b\n1,2\n", b'{"x": 1}\n', b"\n"])
def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="must be a file that keeps runs"):
        run(pair(), path)
    assert path.read_bytes() == content


def test_a_store_cut_at_any_byte_keeps_its_whole_lines(tmp_path):
    path, whole = tmp_path / "runs.jsonl", tmp_path / "whole.jsonl"
    expected = run({"cheap": Counted()}, whole, {"cheap": 3}).values
    content = whole.read_bytes()
    for cut in range(0, len(content), 7):
        path.write_bytes(content[:cut])
        model = Counted()
        assert np.array_equal(run({"cheap": model}, path, {"cheap": 3}).values, expected)
        assert path.read_bytes() == content
        assert len(model.calls) == 3 - max(content[:cut].count(b"\n") - 1, 0)


EDITS = ["oops", "[1]", "", '"x": ["a", 1.0]', '"x": [null, 1.0]', '"value": "much"', '"value": NaN', '"value": 1e200']
EDITS += ['"number": "2"', '"number": 0.5', '"model": [1]', '"error": 3', '"code": 4']


@pytest.mark.parametrize("edit", EDITS)
def test_a_line_that_was_edited_is_named(tmp_path, edit):
    path = tmp_path / "runs.jsonl"
    run(pair(), path)
    lines = path.read_text().splitlines(keepends=True)
    line = lines[2].rstrip()[:-1] + f", {edit}}}" if edit.startswith('"') else edit
    path.write_text("".join([*lines[:2], f"{line}\n", *lines[3:]]))
    with pytest.raises(ValueError, match="line 3 of"):
        run(pair(), path)


def test_a_run_that_was_edited_to_have_fewer_inputs_is_refused_in_words(tmp_path):
    path = tmp_path / "runs.jsonl"
    run(pair(), path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:2], lines[2].rstrip()[:-1] + ', "x": [0.5]}\n', *lines[3:]]))
    with pytest.raises(ValueError, match="these settings put it elsewhere"):
        run(pair(), path)


def test_a_second_process_is_kept_out(tmp_path):
    path = tmp_path / "runs.jsonl"

    def nested(a, b):
        with pytest.raises(ValueError, match="another is at work"):
            run(pair(), path)
        return a

    run({"cheap": nested}, path, {"cheap": 2})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"runs": {"cheap": 6}}, "must have the same names"),
        ({"runs": {"cheap": 6, "dear": 1}}, "at least 2"),
        ({"runs": 6}, "models and runs are dicts by name"),
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"given": {"a": 1}}, "inputs must come from vvcv.inputs"),
        ({"design": "grid"}, "design must be one of"),
        ({"given": inputs.independent(a=inputs.uniform(0, 1))}, "by name, but cannot be: missing a required argument"),
        ({"models": {0: Counted()}, "runs": {0: 6}}, "named by strings, but 0 is none"),
        ({"models": {"f": Counted(), 1: Counted()}, "runs": {"f": 6, 1: 6}}, "named by strings, but 1 is none"),
        ({"models": {"f": Counted(), 1: Counted()}, "runs": {"f": 6}}, r"\['f', 1\] and \['f'\]"),
    ],
)
def test_bad_calls_are_refused_before_anything_runs(tmp_path, change, words):
    models = change.pop("models", None) or pair()
    with pytest.raises(ValueError, match=words):
        run(models, tmp_path / "runs.jsonl", **change)
    assert not any(model.calls for model in models.values()) and not (tmp_path / "runs.jsonl").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "krigging"}, "method must be one of"),
        ({"kernel": "gauss"}, "kernel must name families"),
        ({"order": 3}, "order"),
        ({"on_alarm": "shout"}, "on_alarm must be one of"),
        ({"seconds": -1}, "seconds must be a positive time"),
        ({"device": "abacus"}, "device"),
        ({"retries": True}, "unexpected keyword argument 'retries'"),
    ],
)
def test_options_of_the_estimate_are_refused_before_anything_runs(options, words):
    models = pair()
    with pytest.raises((ValueError, TypeError), match=words):
        vvcv.multifidelity(models, GIVEN, RUNS, store=None, **options)
    assert not models["cheap"].calls


def test_the_estimate_uses_all_models(tmp_path):
    models = {"cheap": lambda a, b: a + np.sqrt(b), "dear": lambda a, b: a + np.sqrt(b) + a * b / 20}
    est = vvcv.multifidelity(models, GIVEN, {"cheap": 60, "dear": 15}, store=tmp_path / "runs.jsonl", method="vv")
    exact = np.array([0.5 + np.sqrt(np.pi / 2), 0.55 + np.sqrt(np.pi / 2)])  # E sqrt(b) = sqrt(2) Gamma(3/2)
    assert est.names == ("cheap", "dear") and est.method == "vv"
    assert np.abs(est.mean - exact).max() < 0.02
