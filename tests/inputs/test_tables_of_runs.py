"""Tables of runs made elsewhere: every form gives the same tasks, failed runs are left out, broken files say so."""

import numpy as np
import pandas as pd
import pytest

from vvcv import inputs

GIVEN = inputs.independent(a=inputs.normal(0, 1), b=inputs.gamma(2))


def table(n=12):
    x = GIVEN.sample(n, seed=0)
    frame = pd.DataFrame({"model": ["cheap", "dear"] * (n // 2), **x, "flow": x["a"] + x["b"], "heat": x["a"] * 2})
    return frame[["heat", "b", "model", "flow", "a"]]


def test_csv_pandas_and_columns_give_the_same_tasks(tmp_path):
    table().to_csv(tmp_path / "runs.csv", index=False)
    columns = {name: table()[name].to_numpy() for name in table()}
    for form in (table(), columns, tmp_path / "runs.csv", str(tmp_path / "runs.csv")):
        tasks = GIVEN.tasks_from_table(form, value="flow", fidelity="model")
        assert tasks.names == ("cheap", "dear") and tasks.sizes == (6, 6)
        rows = table()[table()["model"] == "dear"]
        assert np.allclose(tasks["dear"].points, GIVEN.coordinates(rows)[0], rtol=1e-12)
        assert np.allclose(tasks["dear"].values, rows["flow"], rtol=1e-14)


def test_parquet_round_trips_exactly(tmp_path):
    pytest.importorskip("pyarrow")
    table().to_parquet(tmp_path / "runs.parquet")
    tasks = GIVEN.tasks_from_table(tmp_path / "runs.parquet", value="flow", fidelity="model")
    assert np.array_equal(tasks["cheap"].values, table()["flow"][::2])


def test_parquet_without_pyarrow_names_the_package(tmp_path, monkeypatch):
    def missing(*args, **kwargs):
        raise ImportError("no engine")

    monkeypatch.setattr(pd, "read_parquet", missing)
    (tmp_path / "runs.parquet").write_bytes(b"PAR1")
    with pytest.raises(ImportError, match=r"vvcv\[files\]"):
        GIVEN.tasks_from_table(tmp_path / "runs.parquet")


def test_several_values_become_several_tasks():
    assert GIVEN.tasks_from_table(table(), value=["flow", "heat"]).names == ("flow", "heat")
    both = GIVEN.tasks_from_table(table(), value=["flow", "heat"], fidelity="model")
    assert both.names == ("cheap flow", "cheap heat", "dear flow", "dear heat")


def test_failed_runs_are_left_out_with_a_warning():
    runs = table()
    runs.loc[2, "flow"], runs.loc[4, "flow"] = np.nan, np.inf
    with pytest.warns(RuntimeWarning, match="2 of 6 runs of 'cheap' failed"):
        tasks = GIVEN.tasks_from_table(runs, value="flow", fidelity="model")
    assert tasks.sizes == (4, 6) and np.array_equal(tasks["cheap"].values, table()["flow"][[0, 6, 8, 10]])


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        ("a,b\n1,2\n", "runs.csv", r"\['value'\] are missing; it has \['a', 'b'\]"),
        ("a,b,value\n", "runs.csv", "it is empty"),
        ("a,b,value\nx,1,2\n", "runs.csv", "Column 'a' must hold numbers"),
        (
            "a,b,value\n1,2,3\n1,2,diverged\n,2,\n",
            "runs.csv",
            "of 3 entries 1 are none; the first is 'diverged', in row 2 ",
        ),
        ("a,b,value\n.1,2,\n,,\n.3,,3\n", "runs.csv", "'b' of 1 runs is not there or not finite, the first in row 3 "),
        ("a;b;value\n1;2;3\n", "runs.csv", "has but one column, 'a;b;value'. Separate its columns by commas"),
        ("", "runs.csv", "has no header line"),
        ("a,b,value\n1,2,\n", "runs.csv", "At least one run of 'value' must have a value"),
        ("a,b,value\n1,-2,3\n", "runs.csv", "b must lie strictly between"),
        ("", "runs.xlsx", "must end in .csv or .parquet"),
    ],
)
def test_broken_tables_are_refused_in_words(tmp_path, content, name, words):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=words):
        GIVEN.tasks_from_table(tmp_path / name)
    with pytest.raises(ValueError, match="there is no"):
        GIVEN.tasks_from_table(tmp_path / "other.csv")


@pytest.mark.filterwarnings("ignore")
def test_rows_longer_than_the_header_are_refused_not_shifted(tmp_path):
    (tmp_path / "runs.csv").write_text("a,b,flow\n1,2,3,4\n5,6,7,8\n")
    with pytest.raises(ValueError, match="cannot be read"):
        GIVEN.tasks_from_table(tmp_path / "runs.csv", value="flow")


def test_runs_of_no_model_are_refused_not_dropped(tmp_path):
    frame = table()
    frame.loc[3, "model"] = None
    with pytest.raises(ValueError, match="1 have no 'model'"):
        GIVEN.tasks_from_table(frame, value="flow", fidelity="model")


def read(tmp_path, text, **options):
    (tmp_path / "runs.csv").write_text(text, encoding="utf-8")
    return GIVEN.tasks_from_table(tmp_path / "runs.csv", **options)


def test_models_named_by_numbers_are_told_apart_as_they_are_written(tmp_path):
    rows = "a,b,value,model\n.1,1,3,01\n.2,2,4,1\n.3,3,5,1.0\n"
    assert read(tmp_path, rows, fidelity="model").names == ("01", "1", "1.0")
    with pytest.raises(ValueError, match="1 have no 'model'"):
        read(tmp_path, "a,b,value,model\n.1,1,3,\n.2,2,4,1\n", fidelity="model")


def test_of_two_columns_with_one_name_none_is_taken(tmp_path):
    for header in ("a,b,value,value", "a,b,value,a"):
        with pytest.raises(ValueError, match="Rename them"):
            read(tmp_path, f"{header}\n.1,1,3,5\n.2,2,4,6\n")
    twice = pd.DataFrame([[0.1, 1.0, 3.0, 4.0]], columns=["a", "b", "value", "value"])
    with pytest.raises(ValueError, match="Rename them"):
        GIVEN.tasks_from_table(twice)
    assert read(tmp_path, "a,b,value,other,other\n.1,1,3,5,5\n.2,2,4,6,6\n").sizes == (2,)


def test_comments_and_spaces_before_commas_are_no_part_of_a_table(tmp_path):
    text = "# made in May, by us\na , b , value , model \n.1,1,3,x\n# restarted\n.2,2,4, x \n"
    (task,) = read(tmp_path, text, fidelity="model")
    assert task.values.tolist() == [3, 4] and task.name == "x"


def test_rows_are_named_as_the_table_has_them_whatever_the_index_and_the_models():
    frame = table().set_index("model", drop=False).astype({"flow": object})
    frame.iloc[5, list(frame.columns).index("flow")] = "diverged"
    with pytest.raises(ValueError, match="the first is 'diverged', in row 6 below"):
        GIVEN.tasks_from_table(frame.rename_axis(None), value="flow", fidelity="model")


def test_columns_of_other_lengths_are_named():
    with pytest.raises(ValueError, match=r"one entry for each run, but have \{'a': 2, 'b': 2, 'value': 1\}"):
        GIVEN.tasks_from_table({"a": [0.1, 0.2], "b": [1.0, 2.0], "value": [1.0]})


def test_spaces_after_commas_do_not_matter_and_complex_values_are_no_numbers(tmp_path):
    assert read(tmp_path, "a, b, value\n.1, 1, 3\n.2, 2, 4\n")[0].values.tolist() == [3, 4]
    with pytest.raises(ValueError, match="complex"):
        GIVEN.tasks_from_table({"a": [0.1, 0.2], "b": [1.0, 2.0], "value": [1j, 2.0]})
    with pytest.raises(ValueError, match="must name a column"):
        GIVEN.tasks_from_table({"a": [0.1], "b": [1.0], "value": [1.0]}, value=3)


@pytest.mark.parametrize(("odd", "words"), [("2026-01-01", "dates"), (None, "spans of time")])
def test_dates_and_spans_of_time_are_no_numbers(odd, words):
    column = [pd.Timestamp(odd)] * 3 if odd else [pd.Timedelta(seconds=i) for i in range(3)]
    given = inputs.independent(a=inputs.uniform(0, 1))
    with pytest.raises(ValueError, match=f"Column 'value' must hold numbers.*they are {words}"):
        given.tasks_from_table({"a": [0.1, 0.2, 0.3], "value": column})
