"""Trees of labelled arrays: netCDF and zarr, written by us, by xarray or by ArviZ."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import Labelled, wanted
from .limits import readable, within

LEADING = ("chain", "draw")
REMEDY = "It is of another kind, or was cut short when it was copied: copy or write it again."


def read_netcdf(file: Path, limit: int) -> dict[str, Labelled]:
    """The arrays of a netCDF file that may be needed."""
    try:
        import h5netcdf  # noqa: F401
    except ImportError:
        raise ImportError("netCDF files need h5netcdf and h5py: pip install 'vvcv[io]'.") from None
    return _read(file, limit, "h5netcdf", "netCDF")


def read_zarr(file: Path, limit: int) -> dict[str, Labelled]:
    """The arrays of a zarr folder that may be needed."""
    _need_zarr()
    return _read(file, limit, "zarr", "zarr")


def write_netcdf(file: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """A netCDF file with a group for each task that has points of its own."""
    _tree(arrays).to_netcdf(file, engine="h5netcdf")


def write_zarr(file: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """A zarr folder with a group for each task that has points of its own."""
    _need_zarr()
    _tree(arrays).to_zarr(file, mode="w", consolidated=False)


def _read(file: Path, limit: int, engine: Any, kind: str) -> dict[str, Labelled]:
    import xarray as xr

    options: dict[str, Any] = {"consolidated": False} if engine == "zarr" else {}
    with readable(file, kind, REMEDY), xr.open_datatree(file, engine=engine, **options) as tree:
        needed = {
            path: variable
            for node in tree.subtree
            for name, variable in node.to_dataset(inherit=False).data_vars.items()
            if wanted(path := f"{node.path}/{name}".lstrip("/"))
        }
        within(sum(variable.nbytes for variable in needed.values()), limit, file.name)
        return {path: _labelled(variable) for path, variable in needed.items()}


def _labelled(variable: Any) -> Labelled:
    """An array with chains and draws first, and the labels of the axes that have any."""
    if set(LEADING) <= set(variable.dims):
        variable = variable.transpose(*LEADING, ...)
    labels = [
        [str(label) for label in variable[dim].values.tolist()] if dim in variable.coords else None
        for dim in variable.dims
    ]
    return Labelled(variable.values, labels)


def _tree(arrays: Mapping[str, np.ndarray]):
    import xarray as xr

    groups: dict[str, dict[str, Any]] = {}
    for path, array in arrays.items():
        group, _, name = path.rpartition("/")
        values = array.astype(object) if array.dtype.kind == "U" else array
        groups.setdefault(f"/{group}", {})[name] = (_dims(name, array.ndim), values)
    return xr.DataTree.from_dict({group: xr.Dataset(variables) for group, variables in groups.items()})


def _dims(name: str, ndim: int) -> tuple[str, ...]:
    last = {"points": "parameter", "scores": "parameter", "values": "task", "names": "task"}[name]
    if name == "names":
        return (last,)
    leading = LEADING if ndim == 3 else ("draw",)
    return (*leading, last)[:ndim]


def _need_zarr() -> None:
    try:
        import zarr  # noqa: F401
    except ImportError:
        raise ImportError("zarr folders need zarr: pip install 'vvcv[files]'.") from None
