"""The changes by which the tests are tested are there to be made."""

import ast
from pathlib import Path

import pytest
from benchmarks.mutation.by_hand import MISTAKES
from benchmarks.mutation.changes import changed, described, places_of

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.what)
def test_a_mistake_made_by_hand_is_in_the_function_it_names(mistake):
    source = (ROOT / mistake.path).read_text()
    found = ast.parse(source)
    for name in mistake.where.split("."):
        found = next(node for node in found.body if getattr(node, "name", None) == name)
    assert mistake.before in ast.get_source_segment(source, found) and mistake.before != mistake.after


def test_changes_are_one_number_or_operator_at_a_time_and_leave_texts_alone():
    source = 'def f(x: int = 1):\n    """Text 2."""\n    require(x > 0, f"3")\n    return -x + 4\n'
    places = range(len(places_of(source)))
    shown = ["def f(x: int=2):", "require(x >= 0, f'3')", "require(x > 1, f'3')", "return -x - 4", "return x + 4"]
    assert sorted(described("a.py", source, i).after for i in places) == sorted([*shown, "return -x + 5"])
    measured = "def f(x, seed=0):\n    return x < limit\n"
    assert [described("a.py", measured, i).after for i in range(len(places_of(measured)))] == ["return x >= limit"]
    assert all(ast.unparse(changed(source, i)) != ast.unparse(ast.parse(source)) for i in places)
