"""Estimates in netCDF files: a labelled dataset that any tool can read, and in it all fields exactly, with a checksum.

A file is written beside its destination, forced to disk and renamed over it, so that a crash or a full disk leaves
the old file whole.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..data import require
from ..files import MOST_BYTES
from ..runtime.version import __version__
from . import result
from .joint import error_correlation
from .records import NUMERIC, pack, unpack
from .result import Estimate

if TYPE_CHECKING:
    import xarray as xr

FORMAT = "vvcv estimate"
VERSION = 1
ENGINE = "h5netcdf"

#: Variables of the file that hold the fields of the estimate, beside those that people look at.
RECORD, ARRAY = "record", "field "


def save(estimate: Estimate, path: str | os.PathLike) -> None:
    """Write an estimate to a netCDF file; its control variate, a function, is not stored."""
    _need_engine()
    dataset = _to_dataset(estimate)
    dataset.attrs["checksum"] = checksum(dataset)
    content = _netcdf(dataset)
    with replacing(Path(path)) as temporary:
        temporary.write_bytes(content)


def load(path: str | os.PathLike) -> Estimate:
    """Read an estimate written by `save`, or raise a ValueError that says what is wrong with the file."""
    _need_engine()
    dataset = _read(Path(path))
    _verify(dataset, Path(path).name)
    arrays = {str(name).removeprefix(ARRAY): variable.values for name, variable in dataset.variables.items()}
    records = {name: kind for name, kind in vars(result).items() if isinstance(kind, type) and is_dataclass(kind)}
    try:
        return unpack(json.loads(dataset[RECORD].item()), arrays, records)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"{Path(path).name!r} lacks fields that this version of vvcv needs ({error}). Load it with the version "
            f"that wrote it, {dataset.attrs.get('written_by', 'unknown')}."
        ) from error


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


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file in the folder of `path` that takes its place when the block ends well, and else vanishes."""
    path = path.resolve()  # a link keeps pointing where it did
    temporary = path.with_name(f".vvcv-{secrets.token_hex(8)}.tmp")
    try:
        yield temporary
        _force_to_disk(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    if os.name == "posix":  # the new name must survive a crash, too
        _force_to_disk(path.parent)


def _force_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _to_dataset(estimate: Estimate) -> xr.Dataset:
    arrays: dict[str, np.ndarray] = {}
    if estimate.tasks is not None:  # the data stay with the user; what errors have in common is kept
        correlation = error_correlation(estimate.tasks, estimate.control_variate)
        estimate = replace(estimate, tasks=None, error_correlation=correlation)
    record = json.dumps(pack(estimate, "estimate", arrays))
    dataset = estimate.to_xarray()
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


def _need_engine() -> None:
    missing = [name for name in (ENGINE, "h5py") if find_spec(name) is None]
    if missing:
        raise ImportError(f"Saving and loading estimates needs {' and '.join(missing)}: pip install 'vvcv[io]'.")
