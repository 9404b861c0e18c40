"""Every constant that steers a choice stands on one page, with its value and its reason."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOOK = runpy.run_path(str(ROOT / "docs" / "hooks" / "constants.py"))
PAGE = (ROOT / "docs" / "judgement.md").read_text()
ROOMS = [room for found in HOOK["MARK"].findall(PAGE) for room in found.split()]

#: Rooms whose constants only cost time or memory: they must say what they are, the others also why.
SPEED = ("runtime", "linear_system", "stein")

#: Rooms that choose nothing: what they hold belongs to a user's call, to the paper or to a problem.
CHOOSE_NOTHING = {
    "interop",
    "simulators",
    "paper",
    "inputs",
    "kernels",
    "report",
    "files",
    "cli",
    "experiments",
    "problems",
}


def test_the_page_shows_all_rooms_that_choose_anything():
    rooms = {path.name for path in (ROOT / "src" / "vvcv").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert set(ROOMS) == rooms - CHOOSE_NOTHING and len(ROOMS) == len(set(ROOMS))


@pytest.mark.parametrize("room", ROOMS)
def test_every_constant_says_what_it_decides_and_why(room):
    found = list(HOOK["constants_of"](room))
    silent = [constants.names for constants in found if not constants.comment]
    unreasoned = [c.names for c in found if len(c.reason) < 15 and room not in SPEED]
    assert found and silent == [] and unreasoned == []


def test_the_table_has_the_values_of_the_code():
    from vvcv.estimation.weights import NEGLIGIBLE, SHARPNESS
    from vvcv.tuning.search import COARSE_ROWS, LOOK_ROWS, MORE_ROWS

    shown = HOOK["on_page_markdown"](PAGE)
    for name, value in {"SHARPNESS": SHARPNESS, "NEGLIGIBLE": NEGLIGIBLE}.items():
        assert float(re.search(rf"`{name}` = ([\d.e-]+)<br>`estimation/weights.py`", shown)[1]) == value
    rows = f"{LOOK_ROWS}, {COARSE_ROWS}, {MORE_ROWS}"
    assert f"`LOOK_ROWS`, `COARSE_ROWS`, `MORE_ROWS` = {rows}<br>`tuning/search.py`" in shown


def test_a_constant_without_a_reason_is_found(tmp_path, monkeypatch):
    (tmp_path / "room").mkdir()
    text = "A = 1\n\n#: Rows.\nB, C = 2, 3.0\nD = 4\n\n#: Rows that are read (all would not fit).\nE = {'a': -1}\n"
    (tmp_path / "room" / "a.py").write_text(text + "F = 'text'\nG = {1: len}\n_H = 2\n")
    monkeypatch.setitem(HOOK["constants_of"].__globals__, "SOURCE", tmp_path)
    found = {"".join(c.names): (c.comment, c.reason) for c in HOOK["constants_of"]("room")}
    assert found == {
        "A": ("", ""),
        "BC": ("Rows.", ""),
        "D": ("Rows.", ""),
        "E": ("Rows that are read (all would not fit).", "(all would not fit)."),
    }
