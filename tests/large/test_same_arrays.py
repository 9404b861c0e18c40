"""Arrays that are fetched twice from one place are the same, and their tasks share points."""

import numpy as np
import pytest
from stored import (
    dask_arrays,
    hdf5_arrays,
    memory_maps,
    named,
    xarray_over_dask,
    xarray_over_zarr,
    zarr_arrays_again,
)

import vvcv
from vvcv.data import lazy
from vvcv.data.axes import chains_first


@pytest.mark.parametrize(
    "source", [memory_maps, zarr_arrays_again, hdf5_arrays, dask_arrays, xarray_over_zarr, xarray_over_dask]
)
def test_points_that_are_fetched_twice_are_the_same(small_machine, chains, tmp_path, source):
    stored = named(chains)
    first, again = source(stored, tmp_path), source(stored, tmp_path)
    values = chains[2]
    alike = vvcv.Tasks([vvcv.Task(*x[:2], values[..., t], f"task {t}") for t, x in enumerate((first, again))])
    assert alike.share_points
    others = vvcv.Tasks(
        [vvcv.Task(*x[:2], values[..., t], f"task {t}") for t, x in enumerate((first, again[::-1][1:]))]
    )
    assert not others.share_points
    assert not lazy.LazyArray(first[2], (4, 600), (), 0).is_same(lazy.LazyArray(again[2], (4, 600), (), 1))


def test_parts_of_one_file_are_not_the_same(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((6, 2)))

    def part(rows, mode="r"):
        return lazy.LazyArray(np.load(tmp_path / "x.npy", mmap_mode=mode)[rows], (3,), (2,))

    assert part(slice(0, 3)).is_same(part(slice(0, 3))) and part(slice(3, 6)).is_same(part(slice(3, 6)))
    assert not part(slice(0, 3)).is_same(part(slice(3, 6)))
    assert not part(slice(0, 3), "c").is_same(part(slice(0, 3), "c"))  # changes to which are its own
    assert not part([0, 1, 2]).is_same(part([0, 1, 2]))  # copies
    assert not part(slice(0, 3)).is_same(np.zeros((3, 2)))


def test_a_dataset_in_order_is_not_transposed(chains):
    xr = pytest.importorskip("xarray")
    array = xr.DataArray(chains[0], dims=("chain", "draw", "k"))
    assert chains_first(array) is array
    assert chains_first(array.transpose("draw", "k", "chain")).dims == ("chain", "draw", "k")
    assert chains_first(array.isel(chain=0).transpose("k", "draw")).dims == ("draw", "k")
