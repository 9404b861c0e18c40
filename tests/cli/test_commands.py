"""The commands on files: tables, JSON, pages, exit codes, one line for what is wrong, and examples that run."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import vvcv
from vvcv.cli.main import app
from vvcv.estimation import netcdf
from vvcv.files import write_tasks

X = np.random.default_rng(0).normal(size=(4, 100, 2))
TASKS = vvcv.Tasks.shared(X, -X, np.stack([1 + X[..., 0], X[..., 1] ** 2], axis=-1), names=["mu", "square"])
COMMANDS = get_command(app).commands


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.fixture
def draws(tmp_path):
    write_tasks(tmp_path / "draws.csv", TASKS)
    return tmp_path / "draws.csv"


def test_estimate_prints_a_table_and_writes_page_and_store(draws):
    page, store = draws.with_suffix(".html"), draws.with_suffix(".nc")
    result = run("estimate", draws, "--method", "zv", "--report", page, "--save", store)
    assert result.exit_code == 0 and result.output.startswith("task")
    assert "mu" in result.output and "method zv" in result.output
    assert "</html>" in page.read_text(encoding="utf-8")
    assert vvcv.load(store).mean[0] == pytest.approx(1.0, abs=1e-9)


def test_json_holds_the_numbers_and_no_nan(draws):
    result = run("estimate", draws, "--method", "zv", "--json")
    found = json.loads(result.output)
    assert [task["name"] for task in found["tasks"]] == ["mu", "square"]
    assert found["tasks"][0]["mean"] == pytest.approx(1.0, abs=1e-9) and found["alarms"] == []
    assert found["tasks"][1]["interval_low"] <= 1 <= found["tasks"][1]["interval_high"] + 1e-12


def test_summary_of_chosen_variables_as_table_and_as_json(draws):
    table = run("summary", draws, "--method", "zv", "--var", "mu")
    assert table.exit_code == 0 and "r_hat" in table.output and "square" not in table.output
    found = json.loads(run("summary", draws, "--method", "zv", "--json", "--kind", "eti", "--prob", "0.89").output)
    assert found["variables"]["mu"]["sd"] == pytest.approx(1.0, abs=1e-6)
    assert found["variables"]["mu"]["eti_5.5%"] == pytest.approx(np.quantile(TASKS[0].values, 0.055))


def test_a_variable_stands_for_its_elements(draws):
    write_tasks(draws, vvcv.Tasks.shared(X, -X, np.exp(X[..., [0, 1, 0]]), names=["theta[0]", "theta[1]", "tau"]))
    for chosen in (["theta"], ["theta[1]", "theta"]):
        options = [part for name in chosen for part in ("--var", name)]
        result = run("summary", draws, "--method", "zv", "--json", *options)
        assert set(json.loads(result.output)["variables"]) == {"theta[0]", "theta[1]"}
    assert run("summary", draws, "--method", "zv", "--var", "thet").exit_code == 2


def test_convert_writes_the_same_tasks_and_does_not_overwrite(draws):
    target = draws.with_suffix(".npz")
    assert run("convert", draws, target).exit_code == 0
    np.testing.assert_array_equal(np.load(target)["values"][..., 1], X[..., 1] ** 2)
    again = run("convert", draws, target)
    assert again.exit_code == 2 and "--overwrite" in again.output
    assert run("convert", draws, target, "--overwrite").exit_code == 0


def test_wrong_scores_give_exit_code_one_with_the_numbers_all_the_same(draws):
    write_tasks(draws, vvcv.Tasks.shared(X, X, X[..., 0]))
    result = run("estimate", draws, "--method", "zv")
    assert result.exit_code == 1 and "task 1" in result.output and "wrong sign" in result.output
    assert run("summary", draws, "--method", "zv").exit_code == 1


def test_evidence_of_wrong_scores_gives_exit_code_one_and_no_line_of_a_bar_that_nobody_sees(tmp_path):
    t = np.linspace(0, 1, 6)[:, None, None] ** 3  # y = 1 of N(x, 1), x of N(0, 1)
    x = t / (1 + t) + np.random.default_rng(0).normal(size=(6, 30, 1)) / np.sqrt(1 + t)
    arrays = {"points": x, "temperatures": t.ravel(), "log_likelihoods": -((1 - x[..., 0]) ** 2) / 2}
    np.savez(tmp_path / "right.npz", **arrays, scores_likelihood=1 - x, scores_prior=-x)
    np.savez(tmp_path / "swapped.npz", **arrays, scores_likelihood=-x, scores_prior=1 - x)
    right, swapped = (run("evidence", tmp_path / f"{name}.npz", "--no-compare") for name in ("right", "swapped"))
    assert (right.exit_code, right.stderr) == (0, "")
    assert swapped.exit_code == 1 and "swapped" in swapped.stderr and "log evidence" in swapped.stdout


@pytest.mark.parametrize("command", ["estimate", "summary", "check"])
def test_what_cannot_be_read_gives_one_line_and_exit_code_two(tmp_path, command):
    (tmp_path / "bad.csv").write_text("x,score\n1,two\n")
    for file in (tmp_path / "bad.csv", tmp_path / "none.csv"):
        result = run(command, file)
        assert result.exit_code == 2 and result.output.startswith("error: ")
        assert len(result.output.strip().splitlines()) == 1


def test_a_file_above_the_limit_is_refused(draws):
    result = run("estimate", draws, "--max-gb", "0.000001")
    assert result.exit_code == 2 and "raise the limit (--max-gb)" in result.output


def test_an_unknown_method_is_refused_in_one_line(draws):
    result = run("estimate", draws, "--method", "magic")
    assert result.exit_code == 2 and "one of" in result.output and len(result.output.strip().splitlines()) == 1


@pytest.mark.parametrize("option", ["--report", "--save"])
def test_a_place_where_nothing_can_be_written_is_refused_before_the_work(draws, option, monkeypatch):
    monkeypatch.setattr("vvcv.estimate", lambda *args, **options: pytest.fail("work was done"))
    for place, remedy in ((draws.parent / "none" / "out", "Make it first"), (draws.parent, "Name the file")):
        result = run("estimate", draws, option, place)
        assert result.exit_code == 2 and remedy in result.output and len(result.output.strip().splitlines()) == 1


@pytest.mark.parametrize(("option", "name"), [("--save", "est.csv"), ("--save", "est.html"), ("--report", "page.nc")])
def test_a_name_that_promises_another_kind_of_file_is_refused_before_the_work(draws, option, name, monkeypatch):
    monkeypatch.setattr("vvcv.estimate", lambda *args, **options: pytest.fail("work was done"))
    result = run("estimate", draws, option, draws.with_name(name))
    assert result.exit_code == 2 and "must end in" in result.output and not draws.with_name(name).exists()


def test_estimates_in_python_keep_to_the_endings_too(tmp_path):
    found = vvcv.estimate(TASKS, "mc")
    for write, name in ((found.save, "est.csv"), (found.report, "page.pdf")):
        with pytest.raises(ValueError, match="must end in"):
            write(tmp_path / name)
    found.save(tmp_path / "est")
    assert vvcv.load(tmp_path / "est").names == found.names


def test_a_file_that_is_read_is_never_written_over(draws):
    before = draws.read_bytes()
    for option in ("--report", "--save"):
        result = run("estimate", draws, "--method", "zv", option, draws)
        assert result.exit_code == 2 and "Choose another" in result.output
    assert draws.read_bytes() == before
    both = draws.with_name("out")
    assert run("estimate", draws, "--method", "zv", "--report", both, "--save", both).exit_code == 2


def test_an_answer_is_printed_though_its_page_cannot_be_written(draws, monkeypatch):
    def full(path, content):
        raise OSError("No space left on device")

    monkeypatch.setattr("vvcv.estimation.result.write_whole", full)
    result = run("estimate", draws, "--method", "zv", "--report", draws.with_suffix(".html"))
    assert result.exit_code == 2 and "square" in result.output and "error: No space left" in result.output


def test_there_may_be_no_limit_on_what_is_read(draws):
    assert run("estimate", draws, "--method", "zv", "--max-gb", "inf").exit_code == 0


def test_the_smallest_demonstration_runs_and_a_bad_place_or_seed_gives_one_line(tmp_path):
    assert run("demo", "--runs", 10).exit_code == 2  # refused by the option: no polynomial in 8 dimensions fits these
    assert run("demo", "--runs", 11, "--out", tmp_path / "demo.png").exit_code == 0
    result = run("demo", "--seed", -1)
    assert result.exit_code == 2 and result.output.splitlines()[-1].startswith("error: --seed must be")


def test_a_picture_of_an_unknown_format_or_in_the_place_of_a_folder_is_refused_before_any_work(tmp_path):
    for out, words in ((tmp_path / "flow.qqq", "must end in one of"), (tmp_path, "is a folder")):
        for command in (("demo", "--out", out), ("evidence", tmp_path / "missing.npz", "--plot", out)):
            result = run(*command)
            assert result.exit_code == 2 and words in result.stderr and result.stdout == ""


def test_results_that_cannot_be_written_give_one_line(tmp_path):
    (tmp_path / "file").touch()
    result = run("reproduce", "stein-kernels", "--quick", "--replications", 1, "--out", tmp_path / "file")
    assert result.exit_code == 2 and result.output.splitlines()[-1].startswith("error: ")


def test_the_version_is_printed_in_both_ways():
    assert run("--version").output == run("version").output == f"{vvcv.__version__}\n"


def test_completion_is_offered():
    assert "--install-completion" in run("--help").output


def test_the_example_in_the_help_of_the_program_begins_that_of_a_command():
    example = re.search(r"Example: vvcv (.*)", get_command(app).help)
    assert f"Example: vvcv {example[1]}" in COMMANDS["estimate"].help


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"version", "evidence"}))
def test_the_example_in_the_help_of_every_command_runs(name, draws, monkeypatch):
    monkeypatch.chdir(draws.parent)
    few = vvcv.Tasks.shared(X[0], -X[0], 1 + X[0], names=["mu", "nu"])
    for file in ("draws.csv", "posterior.nc"):
        write_tasks(file, few)
    example = re.search(r"Example: vvcv (.*)", COMMANDS[name].help)
    result = run(*shlex.split(example[1]))
    assert result.exit_code == 0, result.output


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
@pytest.mark.parametrize("command", ["estimate", "summary", "check", "demo"])
def test_an_answer_that_cannot_be_written_gives_one_line_and_exit_code_two(draws, command):
    args = [sys.executable, "-m", "vvcv.cli.main", command, *([] if command == "demo" else [str(draws)])]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(args, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 2 and len(ended.stderr.strip().splitlines()) == 1
    assert ended.stderr.startswith("error: ") and "No space left" in ended.stderr


def test_a_reader_that_has_read_enough_gives_no_line_at_all(draws):
    many = vvcv.Tasks.shared(X, -X, X[..., :1] + np.arange(2000), names=[f"task {i}" for i in range(2000)])
    write_tasks(draws, many)  # more than a pipe holds
    script = f"{shlex.quote(sys.executable)} -m vvcv.cli.main estimate {draws} --method mc --json | head -1"
    ended = subprocess.run(script, shell=True, capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("{\n", "")


def test_names_that_a_terminal_cannot_show_lose_no_answer(tmp_path):
    write_tasks(tmp_path / "draws.csv", vvcv.Tasks.shared(X, -X, X[..., :1], names=["\u03bc\u2192\u6570"]))
    words = [
        sys.executable,
        "-c",
        "from vvcv.cli.main import main; main()",
        "estimate",
        tmp_path / "draws.csv",
        "--method",
        "zv",
    ]
    done = subprocess.run(words, env={**os.environ, "PYTHONIOENCODING": "latin-1"}, capture_output=True)
    assert done.returncode == 0 and rb"\u2192" in done.stdout


@pytest.mark.parametrize("words", [("demo", "--out", "a.png"), ("evidence", "powers.npz", "--plot", "a.png")])
def test_pictures_without_matplotlib_name_the_extra_before_any_work(words, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    result = run(*words)
    assert result.exit_code == 2 and "pip install 'vvcv[plot]'" in result.output


def test_a_store_without_its_package_is_refused_before_any_work(draws, monkeypatch):
    monkeypatch.setattr(netcdf, "find_spec", lambda name: None)
    result = run("estimate", draws, "--save", draws.with_suffix(".nc"))
    assert result.exit_code == 2 and "pip install 'vvcv[io]'" in result.output and "task" not in result.output
