"""`vvcv check FILE` on archives and netCDF files."""

from __future__ import annotations

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from vvcv.cli.check import check_command

app = typer.Typer()
app.command()(check_command)


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(4, 150, 2))


def run(path):
    return CliRunner().invoke(app, [str(path)])


def test_an_archive_with_right_scores_passes(tmp_path, x):
    np.savez(tmp_path / "a.npz", points=x, scores=-x, values=x[..., 0])
    result = run(tmp_path / "a.npz")
    assert result.exit_code == 0 and result.output.startswith("ok       scores")


def test_wrong_scores_give_exit_code_one(tmp_path, x):
    np.savez(tmp_path / "a.npz", points=x.reshape(-1, 2), scores=x.reshape(-1, 2))
    result = run(tmp_path / "a.npz")
    assert result.exit_code == 1 and result.output.startswith("error    sign")


def test_names_of_nutpie_in_a_netcdf_file_are_found(tmp_path, x):
    pytest.importorskip("h5py")
    xr = pytest.importorskip("xarray")
    axes = ("chain", "draw", "unconstrained_parameter")
    data = xr.Dataset({"unconstrained_draw": (axes, x), "gradient": (axes, -x)})
    data.to_netcdf(tmp_path / "a.nc", engine="h5netcdf", group="sample_stats")
    assert run(tmp_path / "a.nc").exit_code == 0


def test_missing_arrays_and_foreign_files_give_exit_code_two(tmp_path, x):
    np.savez(tmp_path / "a.npz", draws=x)
    result = run(tmp_path / "a.npz")
    assert result.exit_code == 2 and "points or unconstrained_draw" in result.output
    (tmp_path / "b.npz").write_bytes(b"nothing")
    assert run(tmp_path / "b.npz").exit_code == 2
    assert run(tmp_path / "none.npz").exit_code == 2
