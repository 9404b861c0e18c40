"""Labelled arrays as other programs write them: axes in any order, labels, names as text, bytes or coordinates."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import xarray as xr

from vvcv.files import read_tasks

X = np.random.default_rng(0).normal(size=(6, 2))
Z = X.reshape(2, 3, 2)
ROWS = ("draw", "parameter")


@pytest.fixture(params=[".nc", ".zarr"])
def read(request, tmp_path):
    pytest.importorskip("h5netcdf" if request.param == ".nc" else "zarr")
    path = tmp_path / f"t{request.param}"

    def write_and_read(groups):
        tree = xr.DataTree.from_dict(groups)
        if request.param == ".nc":
            tree.to_netcdf(path, engine="h5netcdf")
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # zarr has no settled way yet to write text
                tree.to_zarr(path, consolidated=False)
        return read_tasks(path)

    return write_and_read


def test_draws_may_be_the_last_axis(read):
    across = ROWS[::-1]
    arrays = {"points": (across, X.T), "scores": (across, -X.T), "values": (("task", "draw"), X.T)}
    tasks = read({"/": xr.Dataset(arrays)})
    np.testing.assert_array_equal(tasks[0].points, X)
    np.testing.assert_array_equal(tasks[1].values, X[:, 1])


def test_chains_in_one_dimension_need_no_axis_for_it(read):
    axes, x = ("chain", "draw"), Z[..., 0]
    task = read({"/": xr.Dataset({"points": (axes, x), "scores": (axes, -x), "values": (axes, x**2)})})[0]
    assert task.chains == (2, 3) and task.dimension == 1
    np.testing.assert_array_equal(task.values, x.reshape(-1) ** 2)


def test_scores_are_put_in_the_order_of_the_labels_of_the_points(read):
    arrays = {"points": (("draw", "p"), X), "scores": (("draw", "q"), -X[:, ::-1])}
    tasks = read({"/": xr.Dataset(arrays, coords={"p": ["mu", "tau"], "q": ["tau", "mu"]})})
    assert tasks.names == ("mu", "tau")
    np.testing.assert_array_equal(tasks[0].scores, -X)


def test_names_may_be_a_coordinate(read):
    arrays = {"points": (ROWS, X), "scores": (ROWS, -X), "values": (("draw", "task"), X)}
    assert read({"/": xr.Dataset(arrays, coords={"names": ("task", ["a", "b"])})}).names == ("a", "b")


def test_elements_with_equal_labels_are_all_kept(read):
    axes = ("chain", "draw", "u")
    stats = xr.Dataset({"unconstrained_draw": (axes, Z), "gradient": (axes, -Z)})
    theta = xr.DataArray(Z, dims=("chain", "draw", "school"), coords={"school": ["A", "A"]})
    tasks = read({"sample_stats": stats, "posterior": xr.Dataset({"theta": theta})})
    assert tasks.names == ("theta[0]", "theta[1]")


def test_chains_are_put_in_the_order_of_those_of_the_points(read):
    axes = ("chain", "draw", "u")
    stats = xr.Dataset({"unconstrained_draw": (axes, Z), "gradient": (axes, -Z)}, coords={"chain": [0, 1]})
    turned = xr.Dataset({"mu": (axes[:2], Z[::-1, :, 0])}, coords={"chain": [1, 0]})
    np.testing.assert_array_equal(read({"sample_stats": stats, "posterior": turned})["mu"].values, X[:, 0])


def test_a_variable_named_like_an_element_of_another_is_refused(read):
    axes = ("chain", "draw", "u")
    stats = xr.Dataset({"unconstrained_draw": (axes, Z), "gradient": (axes, -Z)})
    posterior = xr.Dataset({"mu[0]": (axes[:2], Z[..., 0]), "mu": (axes, Z)})
    with pytest.raises(ValueError, match="Rename them"):
        read({"sample_stats": stats, "posterior": posterior})


def test_values_in_days_are_numbers(read):
    arrays = {"points": (ROWS, X), "scores": (ROWS, -X)}
    days = ("draw", np.arange(6.0), {"units": "days since 2000-01-01"})
    assert read({"/": xr.Dataset({**arrays, "values": days})})[0].values.tolist() == list(range(6))


def test_variables_of_a_zarr_folder_come_in_one_order_whatever_the_disk_says(tmp_path):
    pytest.importorskip("zarr")
    axes = ("chain", "draw", "u")
    stats = xr.Dataset({"unconstrained_draw": (axes, Z), "gradient": (axes, -Z)})
    posterior = xr.Dataset(dict.fromkeys("hgfedcba", (axes[:2], Z[..., 0])))
    tree = xr.DataTree.from_dict({"sample_stats": stats, "posterior": posterior})
    tree.to_zarr(tmp_path / "t.zarr", consolidated=False)
    assert read_tasks(tmp_path / "t.zarr").names == tuple("abcdefgh")


def test_a_plain_hdf5_file_is_read_without_a_warning(tmp_path):
    h5py = pytest.importorskip("h5py")
    pytest.importorskip("h5netcdf")
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["points"], file["scores"], file["values"], file["names"] = Z, -Z, Z, ["a", "b"]
    tasks = read_tasks(tmp_path / "t.h5")
    assert tasks.names == ("a", "b") and tasks[0].chains == (2, 3)


ARCHIVES = {
    "bytes": ({"points": X, "scores": -X, "values": X, "names": np.array([b"a", b"b"])}, ("a", "b")),
    "of coordinates": ({"points": X, "scores": -X, "names": ["mu", "tau"]}, ("mu", "tau")),
    "of the only group": ({"low/points": X, "low/scores": -X, "low/values": X[:, 0]}, ("low",)),
    "within a group": ({"g/points": X, "g/scores": -X, "g/values": X, "g/names": ["p", "q"]}, ("p", "q")),
    "none, in one dimension": ({"points": X[:, 0], "scores": -X[:, 0], "values": X}, ("task 1", "task 2")),
}


@pytest.mark.parametrize("kind", ARCHIVES)
def test_names_in_an_archive(tmp_path, kind):
    arrays, names = ARCHIVES[kind]
    np.savez(tmp_path / "t.npz", **arrays)
    tasks = read_tasks(tmp_path / "t.npz")
    assert tasks.names == names
    np.testing.assert_array_equal(tasks[0].values, X[:, 0])


def test_what_a_sampler_kept_of_its_warmup_and_of_the_prior_is_no_part_of_the_posterior(read):
    axes = ("chain", "draw", "u")
    stats = xr.Dataset({"unconstrained_draw": (axes, Z), "gradient": (axes, -Z)})
    posterior, warmup = xr.Dataset({"mu": (axes[:2], Z[..., 0])}), stats.isel(draw=[0]) + 9
    groups = {"sample_stats": stats, "posterior": posterior, "sample_stats_prior": stats + 9}
    tasks = read({"warmup_sample_stats": warmup, "warmup_posterior": posterior.isel(draw=[0]), **groups})
    assert tasks.names == ("mu",) and tasks[0].chains == (2, 3)
    np.testing.assert_array_equal(tasks[0].points, X)


def test_a_variable_that_is_not_finite_is_named(read):
    axes = ("chain", "draw", "u")
    stats = xr.Dataset({"unconstrained_draw": (axes, Z), "gradient": (axes, -Z)})
    posterior = xr.Dataset({"mu": (axes[:2], Z[..., 0]), "ratio": (axes[:2], np.full((2, 3), np.nan))})
    with pytest.raises(ValueError, match="'posterior/ratio' .* 6 of 6 entries .*Remove that variable"):
        read({"sample_stats": stats, "posterior": posterior})


@pytest.mark.parametrize("version", [2, 3])
def test_a_zarr_folder_whose_axes_have_no_names_is_told_to_name_them(tmp_path, version):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(tmp_path / "t.zarr", mode="w", zarr_format=version)
    group.create_array("points", data=X)
    with pytest.raises(ValueError, match="name the axes of its arrays"):
        read_tasks(tmp_path / "t.zarr")


@pytest.mark.parametrize("version", [2, 3])
def test_a_zarr_folder_that_is_still_being_written_is_refused(tmp_path, version):
    zarr = pytest.importorskip("zarr")
    x = xr.DataArray(np.random.default_rng(0).normal(size=(8, 2)), dims=("draw", "parameter"))
    data = xr.Dataset({"points": x, "scores": -x, "values": x[:, 0]})
    encoding = {name: {"chunks": (2, 2)} for name in ("points", "scores")}
    data.to_zarr(tmp_path / "t.zarr", encoding=encoding, zarr_format=version, consolidated=False)
    assert read_tasks(tmp_path / "t.zarr")[0].size == 8
    points = zarr.open_group(tmp_path / "t.zarr", mode="r+")["points"]
    points[4:] = points.fill_value  # what is empty is dropped
    with pytest.raises(ValueError, match="points of 't.zarr' must be written as a whole, but 2 of 4"):
        read_tasks(tmp_path / "t.zarr")
