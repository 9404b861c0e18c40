"""A store knows a model by its name; that its code has changed since is told, and what is not its code is not."""

import subprocess
import sys
import warnings
from functools import partial, wraps

import numpy as np
import pytest

from vvcv import inputs
from vvcv.simulators import run_models
from vvcv.simulators.written import is_otherwise, written

GIVEN = inputs.independent(a=inputs.uniform(0, 1))


def module(source, **given):
    """The model of a file, as written there."""
    place = {"__name__": "models", "partial": partial, "wraps": wraps, **given}
    exec(source, place)
    return place["model"]


WHOLE = """
CELLS = 10
def solve(a, cells):
    return sum(a / (1 + cell) for cell in range(cells))
def model(a, scale=2.0):
    'About it.'
    return scale * solve(a, CELLS)
"""

CHANGES = [("/ (1 +", "/ (2 +"), ("CELLS = 10", "CELLS = 11"), ("scale=2.0", "scale=2.5"), ("* solve", "+ solve")]


@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_what_a_model_computes_with_is_its_code(old, new):
    assert is_otherwise(written(module(WHOLE)), written(module(WHOLE.replace(old, new))))


MADE = "def make(n):\n    def inner(a):\n        return n * a\n    return inner\nmodel = "


@pytest.mark.parametrize(
    "source",
    [
        MADE + "make(5)",
        MADE + "partial(make(3), b=5)",
        "class M:\n    def __call__(self, a):\n        return 5 * a\nmodel = M()",
        "class M:\n    def run(self, a):\n        return 5 * a\nmodel = M().run",
        "def same(f):\n    return wraps(f)(lambda **x: f(**x))\n@same\ndef model(a):\n    return 5 * a",
        "def model(a):\n    return a in {5, 7, 9}",
    ],
)  # fmt: skip
def test_code_is_found_however_a_model_is_made(source):
    assert written(module(source)) == written(module(source)) is not None
    assert is_otherwise(written(module(source)), written(module(source.replace("5", "6"))))


@pytest.mark.parametrize(
    "other",
    [
        WHOLE.replace("def model", "# comment\n\n\ndef model").replace("About it", "About the model"),
        WHOLE.replace("CELLS = 10", "CELLS = 10; OTHER = 3"),
    ],
)
def test_comments_and_what_a_model_does_not_use_are_not_its_code(other):
    assert written(module(WHOLE)) == written(module(other))


def test_what_a_model_counts_itself_and_folders_of_the_day_are_not_its_code():
    source = "calls, folder = 0, 'today'\ndef model(a):\n    global calls\n    calls += 1\n    return a, folder"
    model = module(source)
    before = written(model)
    model(1.0)
    assert before == written(model) == written(module(source.replace("today", "tomorrow")))


def test_a_model_without_code_or_with_an_odd_one_is_not_known():
    class Odd:
        def __getattr__(self, name):
            return self

        def __call__(self, a):
            return a

    assert [written(odd) for odd in (np.sin, max, float, Odd())] == [None] * 4


def test_another_process_finds_the_same_code(tmp_path):
    (tmp_path / "models.py").write_text(WHOLE.replace("range(cells)", "range(cells) if cell not in {'x', 'y', 'z'}"))
    command = "import models; from vvcv.simulators.written import written; print(written(models.model))"
    found = {
        subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {command}"],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(found) == 1 and "None" not in found.pop()


def test_values_of_other_code_are_used_with_a_warning_and_their_number(tmp_path):
    path, runs = tmp_path / "runs.jsonl", {"dear": 3}
    old = run_models({"dear": lambda a: a}, GIVEN, runs, store=path)
    with pytest.warns(RuntimeWarning, match="3 of 3 runs of 'dear' in the store were made by other code.*another name"):
        new = run_models({"dear": lambda a: 2 * a}, GIVEN, {"dear": 5}, store=path)
    assert np.array_equal(new.values[:3], old.values) and (new.values[3:] > old.values.max() / 100).all()
    with pytest.warns(RuntimeWarning, match="3 of 5 runs of 'dear' in the store"):
        run_models({"dear": lambda a: 2 * a}, GIVEN, {"dear": 5}, store=path)


def test_stores_that_know_no_code_are_read_as_before(tmp_path):
    path = tmp_path / "runs.jsonl"
    run_models({"dear": lambda a: a}, GIVEN, {"dear": 3}, store=path)
    kept = path.read_text().splitlines()
    path.write_text("".join(line.partition(', "code"')[0].rstrip("}") + "}\n" for line in kept))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_models({"dear": lambda a: 2 * a}, GIVEN, {"dear": 3}, store=path)
