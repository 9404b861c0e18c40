"""What `vvcv reproduce` promises: resumable, byte-equal, guarded, every replication on its own."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from vvcv.cli.main import app
from vvcv.data import Tasks
from vvcv.experiments import EXPERIMENTS, load_experiment
from vvcv.experiments.experiment import Cell, answer, replication_seed
from vvcv.experiments.journal import Journal, mend, sole_writer
from vvcv.experiments.lotka_volterra import SharedCentres
from vvcv.experiments.paper_methods import PaperVariate
from vvcv.experiments.runner import reproduce
from vvcv.experiments.tables import deviation
from vvcv.kernels import SquaredExponential
from vvcv.paper import fit
from vvcv.paper.stochastic import BlockCoordinateDescent

FAST = ["mc", "cf_paper"]


def run_step(out: Path, **settings):
    settings = {"quick": True, "replications": 3, "seed": 1, "methods": FAST, "progress": False} | settings
    return reproduce(load_experiment("step"), out, **settings)


def lines(folder: Path) -> list[dict]:
    return list(csv.DictReader((folder / "step" / "replications.csv").read_text().splitlines()))


def test_a_run_writes_every_replication_with_table_and_figures(tmp_path):
    results = run_step(tmp_path)
    rows = lines(tmp_path)
    assert [(row["method"], row["replication"]) for row in rows] == [(m, str(r)) for m in FAST for r in range(3)]
    assert all(float(row["error"]) == abs(float(row["high"]) - 0.5) for row in rows)
    table = (results.folder / "table.md").read_text()
    assert "0.0645" in table and "--seed 1" in table  # a published number, and how to repeat the run
    assert (results.folder / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (results.folder / "figure.svg").read_bytes()


def test_a_torn_line_costs_one_replication_and_no_byte_of_the_csv(tmp_path):
    run_step(tmp_path / "whole")
    run_step(tmp_path / "torn")
    journal = tmp_path / "torn" / "step" / "journal" / "cf_paper.jsonl"
    content = journal.read_bytes()
    last = content.rstrip(b"\n").rfind(b"\n") + 1
    journal.write_bytes(content[: last + 25])
    run_step(tmp_path / "torn")
    whole, torn = (tmp_path / name / "step" / "replications.csv" for name in ("whole", "torn"))
    assert torn.read_bytes() == whole.read_bytes()
    assert journal.read_bytes()[:last] == content[:last]  # what was finished was not computed again


def test_finished_replications_are_not_computed_again(tmp_path, monkeypatch):
    run_step(tmp_path)
    monkeypatch.setattr("vvcv.experiments.runner.answer", lambda *a: pytest.fail("computed again"))
    run_step(tmp_path)


def test_other_settings_in_the_same_folder_are_refused(tmp_path):
    run_step(tmp_path, methods=["mc"])
    with pytest.raises(ValueError, match=r"seed = 2 \(stored: 1\).*another --out"):
        run_step(tmp_path, methods=["mc"], seed=2)


def test_a_second_writer_is_kept_out(tmp_path):
    with sole_writer(tmp_path / "step"), pytest.raises(ValueError, match="another is at work"):
        run_step(tmp_path)


def test_methods_run_later_join_those_stored(tmp_path):
    run_step(tmp_path, methods=["mc"])
    run_step(tmp_path, methods=["cf_paper"])
    assert {row["method"] for row in lines(tmp_path)} == {"mc", "cf_paper"}
    with pytest.raises(ValueError, match="--methods must name rows"):
        run_step(tmp_path, methods=["nonsense"])


def test_fresh_discards_the_named_methods_only(tmp_path):
    run_step(tmp_path)
    journals = {m: tmp_path / "step" / "journal" / f"{m}.jsonl" for m in FAST}
    marked = {m: path.read_text().replace('"seconds": ', '"seconds": 9') for m, path in journals.items()}
    for method, path in journals.items():
        path.write_text(marked[method])
    run_step(tmp_path, methods=["mc"], fresh=True)
    assert journals["mc"].read_text() != marked["mc"]
    assert journals["cf_paper"].read_text() == marked["cf_paper"]


def test_any_replication_can_be_rerun_alone(tmp_path):
    run_step(tmp_path)
    alone = answer(load_experiment("step"), "cf_paper", Cell.of(m=40), seed=1, replications=[2])[0]
    row = next(row for row in lines(tmp_path) if row["method"] == "cf_paper" and row["replication"] == "2")
    assert [float(row["low"]), float(row["high"])] == alone.tolist()


def test_seeds_differ_by_experiment_cell_seed_replication_and_purpose():
    base = ("step", Cell.of(m=40), 0, 0, "data")
    others = [("borehole", *base[1:]), ("step", Cell.of(m=41), *base[2:])]
    others += [("step", Cell.of(m=40), *rest) for rest in ((1, 0, "data"), (0, 1, "data"), (0, 0, "mc"))]
    assert len({replication_seed(*args) for args in (base, *others)}) == 6


def test_a_killed_run_resumes_to_the_same_bytes(tmp_path):
    """Two kills at moments fixed in advance; `benchmarks/kill_and_resume.py` does ten at random ones."""
    command = [sys.executable, "-m", "vvcv.cli.main", "reproduce", "step", "--quick", "--replications", "12"]
    command += ["--methods", "mc,cf_paper", "--out", str(tmp_path / "killed")]
    journal = tmp_path / "killed" / "step" / "journal" / "cf_paper.jsonl"
    for finished in (2, 7):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while (journal.read_bytes().count(b"\n") if journal.is_file() else 0) < finished:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert not (tmp_path / "killed" / "step" / "replications.csv").exists()
    run = {"quick": True, "replications": 12, "methods": FAST, "progress": False}
    for name in ("killed", "whole"):
        reproduce(load_experiment("step"), tmp_path / name, **run)
    killed, whole = (tmp_path / name / "step" / "replications.csv" for name in ("killed", "whole"))
    assert killed.read_bytes() == whole.read_bytes()


def test_a_journal_without_a_file_is_empty_and_needs_no_mending(tmp_path):
    mend(tmp_path / "none.jsonl")
    assert Journal(tmp_path / "none.jsonl").records == {}


def test_one_copy_of_shared_centres_descends_as_all_copies_do():
    x = np.random.default_rng(0).normal(size=(20, 2))
    tasks = Tasks.shared(x, -x, np.column_stack([x[:, 0] ** 2, x.sum(axis=1)]))
    selection = BlockCoordinateDescent(epochs=30, learning_rate=1e-2, regularization=0.0)
    means = [fit(tasks, kind(SquaredExponential(1.0)), selection).mean for kind in (SharedCentres, PaperVariate)]
    np.testing.assert_allclose(*means, rtol=1e-6)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_cells_methods_and_published_numbers_for_them(name):
    experiment = load_experiment(name)
    for quick in (True, False):
        methods = experiment.methods(quick)
        for cell in experiment.cells(quick):
            found = [experiment.published(cell, method) for method in methods]
            assert all(p is None or p.value > 0 for p in found)
            assert len(set(experiment.columns(cell))) == len(experiment.columns(cell))


def test_the_stein_kernels_have_mean_zero(tmp_path):
    results = reproduce(load_experiment("stein-kernels"), tmp_path, progress=False)
    assert max(results.errors("K0", cell)[0] for cell in results.cells) < 1e-12


def test_the_table_says_how_far_a_row_is_from_the_published_number(tmp_path):
    results = run_step(tmp_path, replications=20, methods=["mc"])
    z = deviation(results, "mc", Cell.of(m=40))
    errors = results.errors("mc", Cell.of(m=40))
    spread = errors.std(ddof=1) / np.sqrt(20)
    assert z == pytest.approx((errors.mean() - 0.0645) / (np.sqrt(2) * spread))
    assert f"{z:+.1f}" in (results.folder / "table.md").read_text()


def test_the_command_lists_runs_and_refuses(tmp_path):
    runner = CliRunner()
    assert runner.invoke(app, ["reproduce", "list"]).output.split() == list(EXPERIMENTS)
    run = ["reproduce", "step", "--quick", "--replications", "2", "--methods", "mc", "--out", str(tmp_path)]
    assert runner.invoke(app, run).exit_code == 0
    assert json.loads((tmp_path / "step" / "settings.json").read_text())["replications"] == 2
    refused = runner.invoke(app, [*run, "--seed", "3"])
    assert refused.exit_code == 2 and "other settings" in refused.output
    assert "NAME must be" in runner.invoke(app, ["reproduce", "nothing"]).output


def test_one_replication_from_the_command_line_is_the_one_of_a_whole_run(tmp_path):
    results = run_step(tmp_path, replications=3, methods=["mc", "cf_paper"])
    runner = CliRunner()
    command = ["reproduce", "step", "--quick", "--replication", "2", "--seed", "1", "--methods", "mc,cf_paper"]
    lines = runner.invoke(app, command).output.strip().splitlines()
    for line, method in zip(lines, ("mc", "cf_paper"), strict=True):
        high = results.answers(method, Cell.of(m=40))[2, 1]
        assert f"m=40, {method}: error" in line and f"{high:.10g}" in line.split()


def test_a_replication_of_a_method_that_runs_in_blocks_is_that_of_its_block():
    from vvcv.experiments.experiment import answer
    from vvcv.experiments.runner import replicate

    step = load_experiment("step")
    ((cell, method, vector, error),) = replicate(step, 1, quick=True, methods=["vv_polynomial_fixed_B"])
    expected = answer(step, method, cell, 0, range(10), True)[1]
    np.testing.assert_array_equal(vector, expected)
    assert error == step.error(cell, expected)


def test_the_figures_of_the_appendix_show_predators_and_scores_of_all_temperatures():
    from vvcv.experiments.evidence import COUNT, draw_scores
    from vvcv.experiments.lotka_volterra import draw_posterior
    from vvcv.problems import lotka_volterra, van_der_pol
    from vvcv.report import pyplot

    figure, (left, right) = pyplot().subplots(1, 2)
    draw_posterior(left, (1912.0, 1913.8), "lynx")
    observed = next(line for line in left.lines if line.get_label() == "observed")
    np.testing.assert_array_equal(observed.get_ydata(), lotka_volterra.OBSERVATIONS[:, 1])
    mean = next(line for line in left.lines if line.get_label() == "posterior mean")
    assert np.corrcoef(mean.get_ydata()[::10], lotka_volterra.OBSERVATIONS[:, 1])[0, 1] > 0.8
    draw_scores(right)
    assert len(right.lines) == COUNT
    x = right.lines[0].get_xdata()
    prior = (van_der_pol.score_prior(np.log(x)[:, None])[:, 0] - 1) / x
    np.testing.assert_allclose(right.lines[0].get_ydata(), prior, rtol=1e-6)  # at temperature 0 the prior's alone
    pyplot().close(figure)


def test_the_lynx_starts_where_its_parameter_says():
    from vvcv.problems import lotka_volterra

    point = np.log([[0.55, 0.028, 0.024, 0.8, 34.0, 5.9, 0.25, 0.25]])
    assert lotka_volterra.abundance(point, [1900.0], "lynx")[0, 0] == pytest.approx(5.9)
    assert lotka_volterra.abundance(point, [1900.0])[0, 0] == pytest.approx(34.0)
