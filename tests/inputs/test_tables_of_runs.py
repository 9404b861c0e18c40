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


def test_runs_of_no_named_model_are_not_lost_in_silence():
    runs = pd.DataFrame(table())
    runs.loc[3, "model"] = None
    with pytest.raises(ValueError, match="'model' must name the model of every run, but 1 rows"):
        GIVEN.tasks_from_table(runs, value="flow", fidelity="model")


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        ("a,b\n1,2\n", "runs.csv", r"\['value'\] are missing; it has \['a', 'b'\]"),
        ("a,b,value\n", "runs.csv", "it is empty"),
        ("a,b,value\nx,1,2\n", "runs.csv", "Column 'a' must hold numbers"),
        ("", "runs.csv", "cannot be read"),
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
