"""A stored estimate comes back as it was, or not at all."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("h5netcdf")
pytest.importorskip("h5py")

from vvcv.estimation.netcdf import checksum, save
from vvcv.estimation.numbers import MonteCarlo, Promise
from vvcv.estimation.result import Estimate
from vvcv.estimation.storage import load

NAMES = (
    "[bold]a[/bold]",
    "<script>&amp;",
    "\N{GREEK SMALL LETTER PI}\N{SNOWMAN}",
    "nul\0inside",
    "\ud800",
    "",
    "a/b\nc",
)


def example(count: int = len(NAMES), seed: int = 0) -> Estimate:
    rng = np.random.default_rng(seed)
    mean, error, plain, plain_error = rng.random((4, count))
    return Estimate(
        names=NAMES[:count],
        mean=mean,
        std_error=error,
        model_std_error=error / 2,
        cross_fitted_std_error=error / 3,
        method="auto",
        methods=("cf",) * count,
        monte_carlo=MonteCarlo(plain, plain_error),
        task_correlation=rng.random((count, count)),
        kernel=("matern-5/2, one lengthscale",) * count,
        sizes=tuple(range(10, 10 + count)),
        seconds=0.1 + 0.2,
        share_points=False,
        freedom=rng.random(count),
        promises=((Promise("cf", "matern-5/2", 0.1 + 0.2, 1e-300, 1e-301, 1e-302, 1.0),),) * count,
        control_variate=len,
    )


def same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True)
    if isinstance(a, MonteCarlo):
        return same(a.mean, b.mean) and same(a.std_error, b.std_error)
    return type(a) is type(b) and a == b


def test_every_field_comes_back_exactly(tmp_path):
    estimate = example()
    save(estimate, tmp_path / "e.nc")
    loaded = load(str(tmp_path / "e.nc"))
    for field in fields(Estimate):
        if field.name != "control_variate":
            assert same(getattr(estimate, field.name), getattr(loaded, field.name)), field.name


def test_the_loaded_estimate_prints_the_same_table(tmp_path):
    estimate = example(3)
    save(estimate, tmp_path / "e.nc")
    assert str(load(tmp_path / "e.nc")) == str(estimate)


def test_infinite_and_missing_numbers_survive(tmp_path):
    estimate = replace(example(2), mean=np.array([np.nan, -np.inf]), seconds=float("inf"))
    save(estimate, tmp_path / "e.nc")
    loaded = load(tmp_path / "e.nc")
    assert np.isnan(loaded.mean[0]) and loaded.mean[1] == -np.inf and loaded.seconds == np.inf


def test_the_control_variate_says_that_it_is_not_stored(tmp_path):
    save(example(), tmp_path / "e.nc")
    loaded = load(tmp_path / "e.nc")
    with pytest.raises(ValueError, match="not stored"):
        loaded.control_variate(np.zeros((1, 1)), np.zeros((1, 1)))


def test_a_loaded_estimate_can_be_saved_again(tmp_path):
    save(example(), tmp_path / "a.nc")
    save(load(tmp_path / "a.nc"), tmp_path / "b.nc")
    assert same(load(tmp_path / "b.nc").mean, example().mean)


def test_saving_replaces_the_old_file_and_leaves_nothing_else(tmp_path):
    save(example(), tmp_path / "e.nc")
    save(example(2, seed=1), tmp_path / "e.nc")
    assert [path.name for path in tmp_path.iterdir()] == ["e.nc"]
    assert len(load(tmp_path / "e.nc").names) == 2


def test_other_tools_read_the_table_from_the_file(tmp_path):
    xr = pytest.importorskip("xarray")
    save(example(2), tmp_path / "e.nc")
    with xr.open_dataset(tmp_path / "e.nc", engine="h5netcdf") as dataset:
        assert dataset["mean"].sel(task="<script>&amp;").item() == example(2).mean[1]


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.7, 0.99])
def test_a_truncated_file_is_refused(tmp_path, share):
    path = tmp_path / "e.nc"
    save(example(), path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match="cannot be read"):
        load(path)


def test_a_changed_number_is_refused(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "e.nc"
    for variable in ("mean", "field estimate.mean"):
        save(example(), path)
        with h5py.File(path, "r+") as file:
            file[variable][0] += 1e-9
        with pytest.raises(ValueError, match="checksum"):
            load(path)


def test_a_foreign_file_is_refused(tmp_path):
    xr = pytest.importorskip("xarray")
    (tmp_path / "text.nc").write_text("mean,error\n1,2\n")
    with pytest.raises(ValueError, match="cannot be read"):
        load(tmp_path / "text.nc")
    xr.Dataset({"mean": ("task", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(ValueError, match="another kind"):
        load(tmp_path / "other.nc")
    with pytest.raises(FileNotFoundError, match="no file"):
        load(tmp_path / "none.nc")


def test_a_newer_format_asks_for_an_upgrade(tmp_path):
    h5py = pytest.importorskip("h5py")
    save(example(), tmp_path / "e.nc")
    with h5py.File(tmp_path / "e.nc", "r+") as file:
        file.attrs["version"] = 99
    with pytest.raises(ValueError, match="Upgrade"):
        load(tmp_path / "e.nc")


def test_only_known_records_are_built(tmp_path):
    xr = pytest.importorskip("xarray")
    save(example(2), tmp_path / "e.nc")
    with xr.open_dataset(tmp_path / "e.nc", engine="h5netcdf") as file:
        dataset = file.load()
    record = json.loads(dataset["record"].item())
    dataset["record"] = json.dumps({**record, "record": "Path"})
    dataset.attrs["checksum"] = checksum(dataset)
    dataset.to_netcdf(tmp_path / "forged.nc", engine="h5netcdf")
    with pytest.raises(ValueError, match="lacks fields"):
        load(tmp_path / "forged.nc")


def test_a_missing_folder_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        save(example(), tmp_path / "none" / "e.nc")


def test_without_the_engine_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[save.__module__], "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"vvcv\[io\]"):
        save(example(), tmp_path / "e.nc")


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and file size limits")
def test_kills_full_disks_and_damage_leave_a_whole_file_or_an_error(tmp_path):
    script = Path(__file__).parents[2] / "benchmarks" / "trust" / "save_faults.py"
    out = tmp_path / "faults.json"
    subprocess.run(
        [sys.executable, str(script), "--kills", "5", "--step", "997", "--out", str(out)],
        check=True,
        capture_output=True,
    )
    results = json.loads(out.read_text())
    assert results["kill -9"]["whole"] == 5
    assert results["file size limit"]["error raised, old file whole"] > 0
    outcomes = {name for outcome in results.values() if isinstance(outcome, dict) for name in outcome}
    assert not outcomes & {"broken", "mixed", "unreadable", "silently wrong"}
