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


def test_names_of_several_lines_and_comments_do_not_disturb_each_other(tmp_path):
    tasks = read(tmp_path, '# "top\nx,score,"a\n# b"\n# comment\n1,2,3\n\n4,5,6\n# end\n')
    assert tasks.names == ("a\n# b",) and tasks[0].values.tolist() == [3, 6]
    rows = 'task,x,score,value\n"a\nb",1,2,3\n# half way\n"a\nb",4,5,6\n'
    assert read(tmp_path, rows)["a\nb"].values.tolist() == [3, 6]


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


@pytest.mark.parametrize("text", ["x;score;f\n1;2;3\n", "x;score;f\n1,5;2,5;3,5\n2,5;1,5;3,5\n", "x\tscore\n1\t2\n"])
def test_other_separators_are_named(tmp_path, text):
    with pytest.raises(ValueError, match="Separate its columns by commas"):
        read(tmp_path, text)


def test_text_of_another_encoding_and_a_file_of_comments_are_told_what_to_be(tmp_path):
    (tmp_path / "t.csv").write_bytes("x,score,é\n1,2,3\n".encode("latin-1"))
    with pytest.raises(ValueError, match="Write it in UTF-8"):
        read_tasks(tmp_path / "t.csv")
    with pytest.raises(ValueError, match="has no header line"):
        read(tmp_path, "# nothing else\n")


def test_whole_numbers_of_any_length_and_decimals_are_numbers(tmp_path):
    assert read(tmp_path, f"x,score,f\n1,2,{10**30}\n1,2,3\n")[0].values.tolist() == [1e30, 3]
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"x": [1.0], "score": [2.0], "f": [decimal.Decimal("1.5")]})
    parquet.write_table(table, tmp_path / "t.parquet")
    assert read_tasks(tmp_path / "t.parquet")[0].values.tolist() == [1.5]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_chains_of_tasks_with_points_of_their_own_come_back_from_a_table(tmp_path, suffix):
    pytest.importorskip("pyarrow" if suffix == ".parquet" else "pandas")
    low, high = X[:4].reshape(2, 2, 2), X.reshape(2, 3, 2)
    tasks = vvcv.Tasks([vvcv.Task(low, -low, low[..., 0], "low"), vvcv.Task(high, -high, high[..., 1], "high")])
    write_tasks(tmp_path / f"t{suffix}", tasks)
    back = read_tasks(tmp_path / f"t{suffix}")
    assert [task.chains for task in back] == [(2, 2), (2, 3)]
    for a, b in zip(tasks, back, strict=True):
        np.testing.assert_array_equal(a.points, b.points)
        np.testing.assert_array_equal(a.values, b.values)
    mixed = vvcv.Tasks([tasks[0], vvcv.Task(X, -X, X[:, 0], "high")])
    with pytest.raises(ValueError, match="Write .npz or netCDF"):
        write_tasks(tmp_path / f"m{suffix}", mixed)


def test_rows_of_chains_below_each_other_are_put_in_order(tmp_path):
    task = read(tmp_path, "task,chain,draw,x,score,value\na,0,1,1,1,10\na,0,0,2,2,20\n")[0]
    assert task.chains == (1, 2) and task.values.tolist() == [20, 10] and task.points.tolist() == [[2], [1]]


WRONG = {
    "scores of other coordinates": ("x[0],x[2],score[0],score[1],f\n1,2,3,4,5\n", "needs both"),
    "tasks below each other, values under another name": ("task,x,score,f\n1,2,3,4\n", "Rename its column of values"),
    "one number for two runs": ("chain,draw,x,score,f\n1,0,1,2,3\n1,0,4,5,6\n", "number of its own as chain"),
    "a row of no task": ("task,x,score,value\na,1,2,3\n,4,5,6\n", "of which task"),
    "draws named by text, which has d10 before d9": (
        "draw,x,score,f\nd9,1,2,3\nd10,4,5,6\n",
        "'d9'",
    ),
    "text among numbers": ("x,score,f\n1,2,3\n# restarted\n4,5,6\n7,diverged,8\n", "holds 'diverged' in row 3 below"),
    "chains twice": ("chain,.chain,x,score,f\n1,1,1,2,3\n", "Remove one of them"),
    "a row of no chain": ("chain,x,score,f\n,1,2,3\n1,4,5,6\n", "Number all rows"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_table_that_would_be_misread_is_refused(tmp_path, kind):
    text, message = WRONG[kind]
    with pytest.raises(ValueError, match=message):
        read(tmp_path, text)


def test_an_index_written_in_two_ways_does_not_swap_coordinates(tmp_path):
    task = read(tmp_path, "x[0],x[1],x[00],score[0],score[1]\n1,2,9,3,4\n")["x[00]"]
    assert task.points.tolist() == [[1, 2]] and task.values.tolist() == [9]


def test_our_own_columns_are_not_taken_for_those_of_stan(tmp_path):
    tasks = read(tmp_path, "x[0],score[0],a,p_a,g_a\n1,2,3,4,5\n")
    assert tasks.names == ("a", "p_a", "g_a") and tasks[0].scores.tolist() == [[2]]


@pytest.mark.parametrize(
    "names", [["f__", "g"], ["x[9]", "score[9]"], ["x[0]", "g"], ["draw", "g"], ["", "g"], [".chain", "g"]]
)
def test_names_that_a_table_would_not_give_back_are_refused_when_it_is_written(tmp_path, names):
    with pytest.raises(ValueError, match="Rename the task"):
        write_tasks(tmp_path / "t.csv", vvcv.Tasks.shared(X, -X, X, names=names))


def test_a_task_without_a_name_is_not_written_below_others(tmp_path):
    with pytest.raises(ValueError, match="without a name"):
        write_tasks(tmp_path / "t.csv", vvcv.Tasks([vvcv.Task(X, -X, X[:, 0], ""), vvcv.Task(X + 1, -X, X[:, 0], "b")]))


def test_a_row_of_parquet_that_has_no_task_is_refused_not_one_of_a_task_named_none(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    for labels in (["a", None], [1, None]):
        table = pyarrow.table({"task": labels, "x": [1.0, 2.0], "score": [1.0, 2.0], "value": [1.0, 2.0]})
        parquet.write_table(table, tmp_path / "t.parquet")
        with pytest.raises(ValueError, match="of which task"):
            read_tasks(tmp_path / "t.parquet")


R_ROWS = "1,1,1,{0}\n1,2,2,{1}\n2,2,4,{3}\n2,1,3,{2}\n"


@pytest.mark.parametrize("left_out", [None, ".iteration", ".draw"])
def test_the_columns_of_the_posterior_package_give_the_chains(tmp_path, left_out):
    pandas = pytest.importorskip("pandas")
    text = ".chain,.iteration,.draw,x,score,f\n" + R_ROWS.format("1,1,10", "2,2,20", "3,3,30", "4,4,40")
    (tmp_path / "r.csv").write_text(text)
    pandas.read_csv(tmp_path / "r.csv").drop(columns=left_out or []).to_csv(tmp_path / "t.csv", index=False)
    tasks = read_tasks(tmp_path / "t.csv")
    assert tasks.names == ("f",) and tasks[0].chains == (2, 2) and tasks[0].values.tolist() == [10, 20, 30, 40]


def test_several_chains_of_stan_in_one_table_are_not_one(tmp_path):
    text = ".chain,.iteration,.draw,mu,p_mu,g_mu\n" + R_ROWS.format("1,9,-1", "2,9,-2", "3,9,-3", "4,9,-4")
    task = read(tmp_path, text)["mu"]
    assert task.chains == (2, 2) and task.values.tolist() == task.scores[:, 0].tolist() == [1, 2, 3, 4]
    assert read(tmp_path, "chain,p_chain,g_chain\n1,9,1\n2,9,2\n")[0].chains == (1, 2)  # a parameter of that name


def test_a_parquet_file_without_rows_is_refused_in_one_sentence(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    empty = pyarrow.array([], pyarrow.float64())
    parquet.write_table(pyarrow.table({"x": empty, "score": empty}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="no rows"):
        read_tasks(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("saved", "kept"), [("1", [30.0, 40.0]), ("true", [30.0, 40.0]), ("0", [10.0, 20.0, 30.0, 40.0])]
)
def test_what_cmdstan_made_while_it_adapted_is_left_out(tmp_path, saved, kept):
    settings = f"# method = sample (Default)\n#     num_warmup = 3\n#     save_warmup = {saved}\n#     thin = 2\n"
    rows = "".join(f"-1,{x},9,{x / 10}\n" for x in (10, 20, 30, 40))
    tasks = read(tmp_path, f"{settings}lp__,mu,p_mu,g_mu\n{rows}# Elapsed Time: 0.1 seconds\n")
    assert tasks["mu"].values.tolist() == kept


def test_numbered_draws_and_the_file_of_cmdstan_are_one_chain_not_independent_points(tmp_path):
    numbered = read(tmp_path, "draw,x,score,f\n1,1,1,10\n0,2,2,20\n")[0]
    assert numbered.chains == (1, 2) and numbered.values.tolist() == [20, 10]
    assert read(tmp_path, "lp__,mu,p_mu,g_mu\n-1,1,9,1\n-2,2,9,2\n")[0].chains == (1, 2)
    assert read(tmp_path, "x,score,f\n1,2,3\n")[0].chains is None


@pytest.mark.parametrize("header", ["Chain,Draw", "CHAIN,iteration", "chain,Iteration", ".chain,.Iteration"])
def test_chains_and_draws_are_known_in_capitals_and_as_iterations(tmp_path, header):
    task = read(tmp_path, f"{header},x,score,f\n1,2,2,2,20\n1,1,1,1,10\n2,1,3,3,30\n2,2,4,4,40\n")
    assert task.names == ("f",) and task[0].chains == (2, 2) and task[0].values.tolist() == [10, 20, 30, 40]


def test_what_orders_the_rows_stands_there_once_and_a_task_in_capitals_is_asked_about(tmp_path):
    for header in ("chain,Chain", "draw,Iteration"):
        with pytest.raises(ValueError, match="has both"):
            read(tmp_path, f"{header},x,score,f\n1,2,2,2,20\n1,1,1,1,10\n")
    with pytest.raises(ValueError, match="Rename it 'task'"):
        read(tmp_path, "Task,x,score,value\n1,2,2,2\n2,1,1,1\n")
    with pytest.raises(ValueError, match="cannot be named"):
        x = np.linspace(-1, 1, 5)
        write_tasks(tmp_path / "t.csv", vvcv.Tasks([vvcv.Task(x, -x, x, name="Iteration")]))
    of_stan = read(tmp_path, "Iteration,p_Iteration,g_Iteration\n1,9,1\n2,9,2\n")  # a parameter of that name
    assert of_stan.names == ("Iteration",)
