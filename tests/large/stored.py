"""Arrays that are not in memory, of every kind that is read."""

import numpy as np
import pytest

da = pytest.importorskip("dask.array")
zarr = pytest.importorskip("zarr")


def memory_maps(arrays, folder):
    maps = []
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
        maps.append(np.load(folder / f"{name}.npy", mmap_mode="r"))
    return maps


def zarr_arrays(arrays, folder):
    root = zarr.open_group(folder / "draws.zarr", mode="w")
    for name, array in arrays.items():
        root.create_array(name, data=array, chunks=(*([1] if array.ndim == 3 else []), 70, array.shape[-1]))
    return [root[name] for name in arrays]


def dask_arrays(arrays, folder):
    return [da.from_array(array, chunks=(*([3] if array.ndim == 3 else []), 190, 1)) for array in arrays.values()]


def xarray_over_zarr(arrays, folder, chunks=None):
    xr = pytest.importorskip("xarray")
    labelled = xr.Dataset({k: ([*["chain", "draw"][3 - a.ndim :], f"{k}_column"], a) for k, a in arrays.items()})
    stored = {k: {"chunks": (*a.shape[: a.ndim - 2], 111, a.shape[-1])} for k, a in arrays.items()}
    if not (folder / "labelled.zarr").exists():
        labelled.to_zarr(folder / "labelled.zarr", consolidated=False, encoding=stored)
    opened = xr.open_zarr(folder / "labelled.zarr", chunks=chunks, consolidated=False)
    return [opened[name] for name in arrays]


def xarray_over_dask(arrays, folder):
    return xarray_over_zarr(arrays, folder, chunks={})


def hdf5_arrays(arrays, folder):
    h5py = pytest.importorskip("h5py")
    if not (folder / "draws.h5").exists():
        with h5py.File(folder / "draws.h5", "w") as file:
            for name, array in arrays.items():
                file[name] = array
    file = h5py.File(folder / "draws.h5")
    return [file[name] for name in arrays]


def zarr_arrays_again(arrays, folder):
    if not (folder / "draws.zarr").exists():
        zarr_arrays(arrays, folder)
    root = zarr.open_group(folder / "draws.zarr", mode="r")
    return [root[name] for name in arrays]


SOURCES = [memory_maps, zarr_arrays, dask_arrays, xarray_over_zarr, xarray_over_dask]


def named(sample):
    return dict(zip(("points", "scores", "values"), sample, strict=True))
