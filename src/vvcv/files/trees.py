"""Trees of labelled arrays: netCDF and zarr, written by us, by xarray or by ArviZ."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..data import require
from ..data.axes import LEADING, chains_first
from ..data.validation import whole
from .arrays import NAMES, POINTS, POSTERIOR, SCORES, Labelled, wanted
from .limits import readable, within

#: Files of a zarr folder that say how its arrays are decoded.
METADATA = (".zarray", ".zmetadata", "zarr.json")
#: What files of netCDF 3 begin with, which some versions of xarray write where they find SciPy.
CLASSIC = b"CDF"
REMEDY = "It is of another kind, or was cut short when it was copied: copy or write it again."
ZARR_REMEDY = f"{REMEDY[:-1]}, and name the axes of its arrays (dimension_names), as xarray does."


def read_netcdf(file: Path, limit: int) -> dict[str, Labelled]:
    """The arrays of a netCDF file that may be needed."""
    need_netcdf()
    with file.open("rb") as opened:
        classic = opened.read(len(CLASSIC)) == CLASSIC
    require(
        not classic,
        f"{file.name!r} is of netCDF 3, but netCDF 4 is read. Write it by dataset.to_netcdf(FILE, engine='h5netcdf').",
    )
    return _read(file, limit, "h5netcdf", "netCDF", REMEDY)


def read_zarr(file: Path, limit: int) -> dict[str, Labelled]:
    """The arrays of a zarr folder that may be needed, where none of its codecs can run code."""
    _need_zarr()
    _refuse_pickle(file)
    _refuse_parts(file)
    return _read(file, limit, "zarr", "zarr", ZARR_REMEDY)


def write_netcdf(file: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """A netCDF file with a group for each task that has points of its own.

    It is made in memory: where a disk is full, the HDF5 library ends the whole process.
    """
    need_netcdf()
    import h5netcdf
    import h5py

    buffer = io.BytesIO()
    with h5netcdf.File(buffer, "w") as opened:
        for path, array in arrays.items():
            group, _, name = path.rpartition("/")
            place = (opened.groups.get(group) or opened.create_group(group)) if group else opened
            dims, text = _dims(path, arrays), array.dtype.kind == "U"
            place.dimensions.update({d: n for d, n in zip(dims, array.shape, strict=True) if d not in place.dimensions})
            dtype = h5py.string_dtype() if text else array.dtype
            place.create_variable(name, dims, dtype, array.astype(object) if text else array)
    file.write_bytes(buffer.getvalue())


def write_zarr(file: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """A zarr folder with a group for each task that has points of its own."""
    _need_zarr()
    _tree(arrays).to_zarr(file, mode="w", consolidated=False)


def _read(file: Path, limit: int, engine: Any, kind: str, remedy: str) -> dict[str, Labelled]:
    import xarray as xr

    # A plain HDF5 file has no names for its axes.
    options: dict[str, Any] = {"consolidated": False} if engine == "zarr" else {"phony_dims": "access"}
    options["decode_times"] = False  # days are numbers, too
    with readable(file, kind, remedy), xr.open_datatree(file, engine=engine, **options) as tree:
        needed = {
            path: variable
            for node in tree.subtree
            for name, variable in _variables(node)
            if wanted(path := f"{node.path}/{name}".lstrip("/"))
        }
        within(sum(variable.nbytes for variable in needed.values()), limit, file.name)
        paths = sorted(needed) if engine == "zarr" else needed  # folders list their entries in an order of their own
        return {path: _labelled(needed[path], path) for path in paths}


def _variables(node: Any) -> Iterator[tuple[Any, Any]]:
    """The variables of a group, and its coordinate of names, but not of a posterior, where all are variables."""
    dataset = node.to_dataset(inherit=False)
    yield from dataset.data_vars.items()
    if NAMES in dataset.coords and node.name != POSTERIOR:
        yield NAMES, dataset[NAMES]


def _labelled(variable: Any, path: str) -> Labelled:
    """An array with chains and draws first, then coordinates if it is of points, and the labels of axes that have any.

    Points in one dimension may come without an axis for it.
    """
    variable = chains_first(variable, points=path.rpartition("/")[2] in {*POINTS, *SCORES})
    labels = [
        [str(label) for label in variable[dim].values.tolist()] if dim in variable.coords else None
        for dim in variable.dims
    ]
    return Labelled(variable.values, labels)


def _tree(arrays: Mapping[str, np.ndarray]) -> Any:
    import xarray as xr

    groups: dict[str, dict[str, Any]] = {}
    for path, array in arrays.items():
        group, _, name = path.rpartition("/")
        values = array.astype(object) if array.dtype.kind == "U" else array
        groups.setdefault(f"/{group}", {})[name] = (_dims(path, arrays), values)
    return xr.DataTree.from_dict({group: xr.Dataset(variables) for group, variables in groups.items()})


def _dims(path: str, arrays: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """Names of the axes of an array; whether there are chains is seen from the points beside it."""
    group, slash, name = path.rpartition("/")
    if name == NAMES:
        return ("task",)
    leading = LEADING if arrays[f"{group}{slash}points"].ndim == 3 else LEADING[1:]
    return (*leading, "task" if name == "values" else "parameter")[: arrays[path].ndim]


def _refuse_pickle(folder: Path) -> None:
    """Zarr's metadata may name a codec that unpickles, which runs what the file's writer wanted; some versions do."""
    for file in folder.rglob("*"):
        require(not file.is_symlink(), f"{folder.name!r} holds a link, {file.name!r}. Copy what it points to.")
        if file.name.lower() not in METADATA:
            continue
        with readable(folder, "zarr", REMEDY):
            named = [text for text in _texts(json.loads(file.read_bytes())) if "pickle" in text.lower()]
        require(
            not named,
            f"{folder.name!r} names the codec {next(iter(named), '')[:40]!r}, but files must not hold pickled objects, "
            "which can run any code. Write numbers and plain text.",
        )


def _refuse_parts(folder: Path) -> None:
    """Points of which chunks were never written would be zeros."""
    import zarr

    with readable(folder, "zarr", ZARR_REMEDY):
        group = zarr.open_group(folder, mode="r")
        points = [array for path, array in group.members(max_depth=None) if path.rpartition("/")[2] in POINTS]
    for array in points:
        whole(array, f"points of {folder.name!r}")


def _texts(value: Any) -> Iterator[str]:
    """All strings within JSON, the keys of its objects too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in (*value, *value.values()) if isinstance(value, dict) else value:
            yield from _texts(item)


def need_netcdf() -> None:
    try:
        import h5netcdf  # noqa: F401
        import h5py  # noqa: F401
    except ImportError:
        raise ImportError("netCDF files need h5netcdf and h5py: pip install 'vvcv[io]'.") from None


def _need_zarr() -> None:
    try:
        import zarr  # noqa: F401
    except ImportError:
        raise ImportError("zarr folders need zarr: pip install 'vvcv[files]'.") from None
