"""Estimates as netCDF files: a labelled dataset that any tool can read, with all fields exact and a checksum."""

from __future__ import annotations

import hashlib
import io
import json
import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..data import require
from ..files.formats import MOST_BYTES, require_ending
from ..runtime.disk import write_whole
from ..runtime.version import __version__
from .joint import error_correlation
from .labelled import to_xarray
from .numbers import Numbers
from .records import NUMERIC, pack

if TYPE_CHECKING:
    import xarray as xr

#: What the first lines of a stored estimate say, and who reads and writes it: files of a later version are refused, not
#: misread.
FORMAT = "vvcv estimate"
VERSION = 1
ENGINE = "h5netcdf"

#: Variables of the file that hold the fields of the estimate, beside those that people look at.
RECORD, ARRAY = "record", "field "


def save(estimate: Numbers, path: str | os.PathLike) -> None:
    """Write an estimate to a netCDF file; its control variate, a function, is not stored."""
    require_ending(path, "netCDF")
    need_engine()
    dataset = _to_dataset(estimate)
    dataset.attrs["checksum"] = checksum(dataset)
    write_whole(Path(path), _netcdf(dataset))


def read(path: Path) -> xr.Dataset:
    """What `save` has written, or a ValueError that says what is wrong with the file."""
    need_engine()
    dataset = _read(path)
    _verify(dataset, path.name)
    return dataset


def checksum(dataset: xr.Dataset) -> str:
    """SHA-256 of everything in the dataset but the checksum itself."""
    digest = hashlib.sha256()
    attributes = {name: _plain(value) for name, value in dataset.attrs.items() if name != "checksum"}
    digest.update(json.dumps(attributes, sort_keys=True).encode())
    for name in sorted(map(str, dataset.variables)):
        variable = dataset.variables[name]
        digest.update(json.dumps([name, list(variable.dims), list(variable.shape)]).encode())
        values = variable.values
        if values.dtype.kind in NUMERIC:
            digest.update(values.dtype.str.encode() + np.ascontiguousarray(values).tobytes())
        else:
            digest.update(json.dumps([str(item) for item in values.reshape(-1)]).encode())
    return digest.hexdigest()


def _to_dataset(estimate: Numbers) -> xr.Dataset:
    arrays: dict[str, np.ndarray] = {}
    if estimate.tasks is not None:  # the data stay with the user; what errors have in common is kept
        correlation = estimate.error_correlation
        if correlation is None and estimate.moves is not None:
            correlation = error_correlation(estimate.tasks, estimate.moves)
        estimate = replace(estimate, tasks=None, moves=None, error_correlation=correlation)
    record = json.dumps(pack(estimate, "estimate", arrays))
    dataset = to_xarray(estimate)
    dataset = dataset.assign({name: column.astype("i1") for name, column in dataset.items() if column.dtype == bool})
    labels = {name: [_label(text) for text in dataset[name].values.tolist()] for name in dataset.coords}
    dataset = dataset.assign_coords(labels).assign({RECORD: record})
    for name, array in arrays.items():
        dataset[ARRAY + name] = (tuple(f"{name} axis {axis}" for axis in range(array.ndim)), array)
    return dataset.assign_attrs(format=FORMAT, version=VERSION, written_by=__version__)


def _netcdf(dataset: xr.Dataset) -> bytes:
    """The bytes of a netCDF file, made in memory: where a disk is full, the HDF5 library ends the whole process."""
    import h5netcdf
    import h5py

    buffer = io.BytesIO()
    with h5netcdf.File(buffer, "w") as file:
        file.dimensions = {str(name): size for name, size in dataset.sizes.items()}
        for name, variable in dataset.variables.items():
            dtype = variable.dtype if variable.dtype.kind in NUMERIC else h5py.string_dtype()
            file.create_variable(str(name), tuple(map(str, variable.dims)), dtype, variable.values.astype(dtype))
        file.attrs.update(dataset.attrs)
    return buffer.getvalue()


def _read(path: Path) -> xr.Dataset:
    import h5py
    import xarray as xr

    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}. Check the path, or save an estimate there first.")
    try:
        h5py.File(path, "r").close()  # what is no HDF5 at all is refused here, with the clearer message
        with xr.open_dataset(path, engine=ENGINE) as file:
            size = file.nbytes
            if size <= MOST_BYTES:
                return file.load()
    except Exception as error:  # the HDF5 library raises many kinds for broken files
        raise ValueError(
            f"A stored estimate must be a netCDF file, but {path.name!r} cannot be read as one ({error}). It is of "
            "another kind, or was cut short when it was copied: copy it again, or save the estimate again."
        ) from error
    raise ValueError(
        f"A stored estimate has less than {MOST_BYTES / 1e9:.3g} GB of numbers, but {path.name!r} says that it holds "
        f"{size / 1e9:.3g} GB. It is of another kind, or damaged: save the estimate again."
    )


def _verify(dataset: xr.Dataset, name: str) -> None:
    require(
        dataset.attrs.get("format") == FORMAT and RECORD in dataset,
        f"A stored estimate must be a file written by save, but {name!r} is a netCDF file of another kind. "
        "Open it with xarray instead.",
    )
    version = int(dataset.attrs.get("version", 0))
    require(
        version <= VERSION,
        f"{name!r} has format version {version}, but this version of vvcv reads up to {VERSION}. Upgrade vvcv.",
    )
    require(
        dataset.attrs.get("checksum") == checksum(dataset),
        f"The content of {name!r} does not match its checksum: it was changed or damaged after it was saved. "
        "Restore it from a copy, or save the estimate again.",
    )


def _label(text: str) -> str:
    """A name that netCDF can hold, for people; the exact one is in the record."""
    return str(text).encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def need_engine() -> None:
    """Say what is missing for netCDF files, before there is anything to write."""
    missing = [name for name in (ENGINE, "h5py") if find_spec(name) is None]
    if missing:
        raise ImportError(f"Saving and loading estimates needs {' and '.join(missing)}: pip install 'vvcv[io]'.")
