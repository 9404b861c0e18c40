"""Tables as people and other programs write them: every column under its own name, or a refusal; nothing is cut."""

from __future__ import annotations

import decimal

import numpy as np
import pytest

import vvcv
from vvcv.files import read_tasks, write_tasks

X = np.random.default_rng(0).normal(size=(6, 2))
ODD_NAMES = [
    "item #1",
    "=1+1",
    "01",
    "1",
    "1.0",
    "NA",
    "None",
    " a",
    "a ",
    "é中",
    "two\nlines",
    "r\rl",
    'q"uo,te',
    "a/b",
]


def read(tmp_path, text):
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    return read_tasks(tmp_path / "t.csv")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("own", [False, True])
def test_odd_names_come_back_from_a_table(tmp_path, suffix, own):
    pytest.importorskip("pyarrow" if suffix == ".parquet" else "pandas")
    shifts = range(len(ODD_NAMES))
    tasks = vvcv.Tasks([vvcv.Task(X + own * t, -X, X[:, 0] + t, n) for t, n in zip(shifts, ODD_NAMES, strict=True)])
    write_tasks(tmp_path / f"t{suffix}", tasks)
    back = read_tasks(tmp_path / f"t{suffix}")
    assert back.names == tasks.names
    assert [task.values[0] for task in back] == [task.values[0] for task in tasks]


def test_only_lines_that_start_with_the_sign_are_comments(tmp_path):
    tasks = read(tmp_path, "# units: m\nx,score,item #1,item #2\n# half way\n1,2,3,4\n5,6,7,8\n")
    assert tasks.names == ("item #1", "item #2") and tasks[1].values.tolist() == [4, 8]


@pytest.mark.filterwarnings("ignore")
def test_rows_longer_than_the_header_are_refused_not_cut(tmp_path):
    with pytest.raises(ValueError, match="as many comma-separated numbers"):
        read(tmp_path, "x,score,f\n1,2,3,9\n4,5,6,9\n")


def test_the_numbers_of_rows_that_pandas_and_r_write_are_no_task(tmp_path):
    assert read(tmp_path, ",x,score,f\n0,1,2,3\n1,4,5,6\n").names == ("f",)
    assert read(tmp_path, '"","x","score","f"\n"1",1,2,3\n"2",4,5,6\n').names == ("f",)


def test_spaces_after_commas_and_the_mark_that_spreadsheets_put_first_do_not_matter(tmp_path):
    task = read(tmp_path, "\ufeffx, score, f\n1, 2, 3\n")[0]
    assert task.name == "f" and task.scores.tolist() == [[2]]
    with pytest.raises(ValueError, match="several columns"):
        read(tmp_path, "\ufeffx,x,score,f\n1,2,3,4\n")


def test_other_separators_are_named(tmp_path):
    with pytest.raises(ValueError, match="Separate its columns by commas"):
        read(tmp_path, "x;score;f\n1;2;3\n")


def test_whole_numbers_of_any_length_and_decimals_are_numbers(tmp_path):
    assert read(tmp_path, f"x,score,f\n1,2,{10**30}\n1,2,3\n")[0].values.tolist() == [1e30, 3]
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"x": [1.0], "score": [2.0], "f": [decimal.Decimal("1.5")]})
    parquet.write_table(table, tmp_path / "t.parquet")
    assert read_tasks(tmp_path / "t.parquet")[0].values.tolist() == [1.5]
