"""Every format round-trips; the conventions of samplers are understood; broken files are refused in one line."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import xarray as xr

import vvcv
from vvcv.files import read_tasks, write_tasks
from vvcv.files.arrays import Labelled, tasks_of_arrays

NEEDS = {".parquet": "pyarrow", ".nc": "h5netcdf", ".zarr": "zarr"}
SUFFIXES = (".csv", ".parquet", ".npz", ".nc", ".zarr")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
Z = X.reshape(3, 4, 2)
CASES = {
    "shared": vvcv.Tasks.shared(X, -X, np.column_stack([X[:, 0] / 3, X[:, 1] ** 2]), names=["a", "b c/d"]),
    "chains": vvcv.Tasks.shared(Z, -Z, np.exp(Z), names=["a", "b"]),
    "one": vvcv.Tasks([vvcv.Task(X[:, 0], -X[:, 0], X[:, 1], "only")]),
    "chains with own points": vvcv.Tasks([vvcv.Task(Z, -Z, Z[..., 0], "low"), vvcv.Task(Z + 1, -Z, Z[..., 1], "high")]),
    "own points": vvcv.Tasks([vvcv.Task(X[:7], -X[:7], X[:7, 0], "low"), vvcv.Task(X[7:], -X[7:], X[7:, 1], "high")]),
}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("case", CASES)
def test_every_format_gives_back_what_was_written(tmp_path, suffix, case):
    pytest.importorskip(NEEDS.get(suffix, "numpy"))
    tasks = CASES[case]
    write_tasks(tmp_path / f"t{suffix}", tasks)
    back = read_tasks(tmp_path / f"t{suffix}")
    assert back.names == tasks.names
    for a, b in zip(tasks, back, strict=True):
        assert a.chains == b.chains
        for field in ("points", "scores", "values"):
            np.testing.assert_array_equal(getattr(a, field), getattr(b, field))


@pytest.mark.parametrize("suffix", [".npz", ".nc", ".zarr"])
def test_twelve_tasks_keep_their_names_whatever_the_order_of_groups_on_disk(tmp_path, suffix):
    """HDF5 lists group 10 before group 2, a folder lists its entries in no order at all."""
    pytest.importorskip(NEEDS.get(suffix, "numpy"))
    tasks = vvcv.Tasks([vvcv.Task(X + t, -X, X[:, 0] + t, f"task {t}") for t in range(12)])
    write_tasks(tmp_path / f"t{suffix}", tasks)
    back = read_tasks(tmp_path / f"t{suffix}")
    assert back.names == tasks.names
    assert [task.values[0] for task in back] == [task.values[0] for task in tasks]


def test_groups_come_in_any_order_and_names_belong_to_their_numbers():
    def labelled(array):
        return Labelled(np.asarray(array), [None] * np.ndim(array))

    def task(group, shift):
        return {f"{group}/points": X, f"{group}/scores": -X, f"{group}/values": X[:, 0] + shift}

    arrays = {path: labelled(a) for path, a in {**task("1", 1), **task("0", 0)}.items()}
    back = tasks_of_arrays({**arrays, "names": labelled(["low", "high"])}, "t.zarr")
    assert [(t.name, t.values[0] - X[0, 0]) for t in back] == [("low", 0), ("high", 1)]
    own = {path: labelled(a) for path, a in {**task("b", 1), **task("a", 0)}.items()}
    assert tasks_of_arrays(own, "t.zarr").names == ("a", "b")
    with pytest.raises(ValueError, match="Number the groups, or leave out the names"):
        tasks_of_arrays({**own, "names": labelled(["low", "high"])}, "t.zarr")


def test_a_table_without_values_is_about_its_coordinates(tmp_path):
    (tmp_path / "t.csv").write_text("x,score\n1,-1\n2,-2\n")
    tasks = read_tasks(tmp_path / "t.csv")
    assert tasks.names == ("mean of x",) and tasks[0].values.tolist() == [1, 2]


def test_rows_of_a_table_are_put_in_the_order_of_chains_and_draws(tmp_path):
    (tmp_path / "t.csv").write_text("chain,draw,x,score,f\n2,0,1,1,10\n1,1,2,2,20\n1,0,3,3,30\n2,1,4,4,40\n")
    task = read_tasks(tmp_path / "t.csv")[0]
    assert task.chains == (2, 2) and task.values.tolist() == [30, 20, 10, 40]


def test_the_diagnostic_file_of_cmdstan_has_minus_the_scores(tmp_path):
    (tmp_path / "t.csv").write_text(
        "# model = m\nlp__,accept_stat__,mu,tau.1,p_mu,p_tau.1,g_mu,g_tau.1\n# Adaptation terminated\n"
        "-1,1,0.5,2,9,9,0.25,-3\n-2,1,0.6,3,9,9,0.5,-4\n"
    )
    tasks = read_tasks(tmp_path / "t.csv")
    assert tasks.names == ("mu", "tau.1")
    np.testing.assert_array_equal(tasks[0].points, [[0.5, 2], [0.6, 3]])
    np.testing.assert_array_equal(tasks[0].scores, [[-0.25, 3], [-0.5, 4]])


def test_a_file_of_nutpie_gives_the_elements_of_its_variables(tmp_path):
    pytest.importorskip("h5netcdf")
    axes = ("chain", "draw", "unconstrained_parameter")
    stats = xr.Dataset({"unconstrained_draw": (axes, Z), "gradient": (axes, -Z)})
    theta = xr.DataArray(np.exp(Z), dims=("chain", "draw", "school"), coords={"school": ["A", "B"]})
    posterior = xr.Dataset({"theta": theta.transpose("school", "chain", "draw"), "mu": (axes[:2], Z[..., 0])})
    tree = xr.DataTree.from_dict({"sample_stats": stats, "posterior": posterior})
    tree.to_netcdf(tmp_path / "t.nc", engine="h5netcdf")
    tasks = read_tasks(tmp_path / "t.nc")
    assert set(tasks.names) == {"theta[A]", "theta[B]", "mu"}
    np.testing.assert_array_equal(tasks["theta[B]"].values, np.exp(Z[..., 1]).reshape(-1))


def test_what_an_estimate_gives_to_arviz_is_read_back(tmp_path):
    pytest.importorskip("arviz")
    pytest.importorskip("h5netcdf")
    data = vvcv.estimate(CASES["chains"], "mc", on_alarm="ignore").to_inference_data()  # twelve draws
    data.to_netcdf(str(tmp_path / "t.nc"))
    tasks = read_tasks(tmp_path / "t.nc")
    np.testing.assert_array_equal(tasks["b"].values, CASES["chains"]["b"].values)


def _archive(**arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _bomb() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("points.npy", bytes(20_000_000))
    return buffer.getvalue()


BROKEN = {
    "no file": ("t.csv", None, "Check the path"),
    "empty file": ("t.csv", b"", "empty"),
    "unknown ending": ("t.xlsx", b"PK", "Rename it"),
    "packed": ("t.csv.gz", b"PK", "unpack or convert it"),
    "header only": ("t.csv", b"x,score,f\n", "no rows"),
    "rows of different lengths": ("t.csv", b"x,score,f\n1,2,3\n1,2,3,4,5\n", "as many comma-separated numbers"),
    "text in a column": ("t.csv", b"x,score,f\n1,2,3\n1,two,3\n", "'score' .* holds 'two'"),
    "an empty cell": ("t.csv", b"x,score,f\n1,2,3\n1,2,\n", "row 2 below the header. Remove"),
    "no scores": ("t.csv", b"x,f\n1,2\n", "no columns score"),
    "fewer scores than points": ("t.csv", b"x[0],x[1],score\n1,2,3\n", "needs both"),
    "a column twice": ("t.csv", b"x,score,f,f\n1,2,3,4\n", "Rename them"),
    "chains of different lengths": ("t.csv", b"chain,x,score\n0,1,1\n0,2,2\n1,3,3\n", "Cut the longer"),
    "not text": ("t.csv", b"\xff\xfe\x00x,\xd8\n1", "cannot be read as a CSV"),
    "no archive": ("t.npz", b"nothing", "Write it with numpy.savez"),
    "pickled objects": ("t.npz", _archive(points=np.array([print], dtype=object)), "NumPy archive of numbers"),
    "an archive that unpacks to much more": ("t.npz", _bomb(), "Thin the draws"),
    "arrays of other names": ("t.npz", _archive(draws=X), "Rename its arrays"),
    "shapes that do not fit": ("t.npz", _archive(points=X, scores=X[:5]), "one gradient per point"),
    "not a number": ("t.npz", _archive(points=X, scores=np.full_like(X, np.nan)), "Remove those rows"),
    "a netCDF file cut short": ("t.nc", b"\x89HDF\r\n\x1a\n" + bytes(100), "cut short"),
    "a file of netCDF 3": ("t.nc", b"CDF\x01" + bytes(100), "engine='h5netcdf'"),
    "a folder": ("t.nc", "folder", "is a folder"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_is_refused_in_one_sentence_that_says_what_to_do(tmp_path, kind):
    name, content, message = BROKEN[kind]
    if name.endswith(".nc"):
        pytest.importorskip("h5netcdf")
    if content == "folder":
        (tmp_path / name).mkdir()
    elif content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_tasks(tmp_path / name, most_bytes=10_000_000)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("codec", ["pickle", "\\u0070ickle", "Pickle"])
@pytest.mark.parametrize("linked", [False, True])
def test_a_zarr_folder_that_asks_for_unpickling_is_refused_before_anything_is_decoded(tmp_path, codec, linked):
    pytest.importorskip("zarr")
    folder, left_behind = tmp_path / "t.zarr", tmp_path / "unpickled"
    names = (tmp_path if linked else folder) / "names"
    names.mkdir(parents=True)
    folder.mkdir(exist_ok=True)
    if linked:
        (folder / "names").symlink_to(names)
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    header = {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|O", "compressor": None, "fill_value": None}
    header |= {"order": "C", "filters": [{"id": "CODEC", "protocol": 5}]}
    (names / ".zarray").write_text(json.dumps(header).replace("CODEC", codec))
    (names / ".zattrs").write_text('{"_ARRAY_DIMENSIONS": ["names"]}')  # an index, which is read on opening
    (names / "0").write_text(f"cos\nmkdir\n(V{left_behind}\ntR.")  # a pickle that makes a folder
    with pytest.raises(ValueError, match="holds a link" if linked else "must not hold pickled objects"):
        read_tasks(folder)
    assert not left_behind.exists()


def test_parquet_and_zarr_name_the_extra_they_need(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    monkeypatch.setitem(sys.modules, "zarr", None)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    (tmp_path / "t.zarr").mkdir()
    for name in ("t.parquet", "t.zarr"):
        with pytest.raises(ImportError, match=r"vvcv\[files\]"):
            read_tasks(tmp_path / name)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_does_not_fit_on_the_disk_leaves_the_old_one_as_it_was(tmp_path, suffix):
    """A limit on the size of files stands for a full disk; in a process of its own, which HDF5 must not end."""
    pytest.importorskip(NEEDS.get(suffix, "numpy"))
    pytest.importorskip("resource")
    path = tmp_path / f"t{suffix}"
    write_tasks(path, CASES["shared"])
    program = f"""
import resource
import numpy, vvcv
from vvcv.files import write_tasks
x = numpy.random.default_rng(0).normal(size=(20_000, 2))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
try:
    write_tasks({str(path)!r}, vvcv.Tasks.shared(x, -x, x))
except OSError:
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "refused\n"
    assert read_tasks(path).names == CASES["shared"].names
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_replaces_all_that_was_there(tmp_path, suffix):
    pytest.importorskip(NEEDS.get(suffix, "numpy"))
    path = tmp_path / f"t{suffix}"
    for case in ("own points", "one"):
        write_tasks(path, CASES[case])
        assert read_tasks(path).names == CASES[case].names
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", [s.upper() for s in SUFFIXES])
def test_the_ending_may_be_in_capitals(tmp_path, suffix):
    pytest.importorskip(NEEDS.get(suffix.lower(), "numpy"))
    write_tasks(tmp_path / f"t{suffix}", CASES["one"])
    assert [file.name for file in tmp_path.iterdir()] == [f"t{suffix}"]
    assert read_tasks(tmp_path / f"t{suffix}").names == ("only",)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", ["\ud800", "a\0b", "a\0"])
def test_a_name_that_no_file_can_hold_is_refused_when_it_is_written(tmp_path, suffix, name):
    with pytest.raises(ValueError, match="Rename the tasks"):
        write_tasks(tmp_path / f"t{suffix}", vvcv.Tasks.shared(X, -X, X, names=[name, "b"]))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".npz", ".nc"])
def test_what_is_known_as_chains_and_as_independent_points_stays_so(tmp_path, suffix):
    for tasks in ([vvcv.Task(X, -X, X[:, 0]), vvcv.Task(Z, -Z, Z[..., 1])], [vvcv.Task(Z, -Z, Z[..., 1])]):
        write_tasks(tmp_path / f"tasks{suffix}", vvcv.Tasks(tasks))
        assert [task.chains for task in read_tasks(tmp_path / f"tasks{suffix}")] == [task.chains for task in tasks]
