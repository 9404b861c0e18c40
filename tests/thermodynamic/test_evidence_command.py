"""`vvcv evidence FILE` on archives and netCDF files."""

from __future__ import annotations

import re

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from vvcv.cli.main import app

NAMES = ("log_likelihoods", "temperatures", "points", "scores_likelihood", "scores_prior")


def run(*args):
    return CliRunner().invoke(app, ["evidence", *map(str, args), "--no-compare"])


def test_an_archive_gives_a_table_and_a_picture(tmp_path, path):
    pytest.importorskip("matplotlib")
    np.savez(tmp_path / "a.npz", **{name: getattr(path, name) for name in NAMES})
    result = run(tmp_path / "a.npz", "--plot", tmp_path / "a.png")
    assert result.exit_code == 0 and "vector-valued" in result.output
    assert (tmp_path / "a.png").stat().st_size > 10_000


def test_a_picture_of_an_unknown_kind_is_refused_in_one_line_before_the_work(tmp_path, path):
    pytest.importorskip("matplotlib")
    np.savez(tmp_path / "a.npz", **{name: getattr(path, name) for name in NAMES})
    result = run(tmp_path / "a.npz", "--plot", tmp_path / "a.picture")
    assert result.exit_code == 2 and result.stdout == ""
    assert result.output.strip().splitlines()[-1].startswith("error: ")


def test_a_netcdf_file_gives_the_same_table(tmp_path, path):
    pytest.importorskip("h5py")
    xr = pytest.importorskip("xarray")
    axes = ("temperature", "draw", "parameter")
    arrays = {name: (axes[: np.ndim(getattr(path, name))], getattr(path, name)) for name in NAMES}
    xr.Dataset(arrays).to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    result = run(tmp_path / "a.nc")
    assert result.exit_code == 0 and "finitely many temperatures" in result.output


def test_missing_arrays_are_named_with_exit_code_two(tmp_path, path):
    np.savez(tmp_path / "a.npz", points=path.points)
    result = run(tmp_path / "a.npz")
    assert result.exit_code == 2 and "scores_prior" in result.output
    assert run(tmp_path / "none.npz").exit_code == 2


def test_files_with_more_numbers_than_allowed_are_refused_in_one_line(tmp_path, path):
    np.savez(tmp_path / "a.npz", **{name: getattr(path, name) for name in NAMES})
    result = run(tmp_path / "a.npz", "--max-gb", "0.000001")
    assert result.exit_code == 2 and "raise the limit" in result.output and result.output.count("\n") == 1


def test_the_example_in_the_help_runs(tmp_path, path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("powers.npz", **{name: getattr(path, name) for name in NAMES})
    example = re.search(r"Example: vvcv (.*)", get_command(app).commands["evidence"].help)
    assert CliRunner().invoke(app, example[1].split()).exit_code == 0
