"""Which reader and which writer a file gets, by the end of its name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ..data import Tasks, require
from ..runtime.disk import replacing
from . import archives, tables, trees
from .arrays import arrays_of_tasks, tasks_of_arrays
from .columns import columns_of_tasks, tasks_of_columns

#: Numbers that are read from one file at most, in bytes, unless the caller allows more.
MOST_BYTES = 2 << 30


class Format(NamedTuple):
    """A kind of file: its reader of tasks under a limit in bytes, and its writer."""

    read: Callable[[Path, int], Tasks]
    write: Callable[[Path, Tasks], None]


def _of_columns(read: Callable[[Path, int], Any], write: Callable[[Path, Any], None]) -> Format:
    """A table: one row for each point."""
    return Format(
        lambda file, limit: tasks_of_columns(read(file, limit), file.name),
        lambda file, tasks: write(file, columns_of_tasks(tasks)),
    )


def _of_arrays(read: Callable[[Path, int], Any], write: Callable[[Path, Any], None]) -> Format:
    """Named arrays: points, scores and values of every task."""
    return Format(
        lambda file, limit: tasks_of_arrays(read(file, limit), file.name),
        lambda file, tasks: write(file, arrays_of_tasks(tasks)),
    )


CSV = _of_columns(tables.read_csv, tables.write_csv)
PARQUET = _of_columns(tables.read_parquet, tables.write_parquet)
NPZ = _of_arrays(archives.read_npz, archives.write_npz)
NETCDF = _of_arrays(trees.read_netcdf, trees.write_netcdf)
ZARR = _of_arrays(trees.read_zarr, trees.write_zarr)

FORMATS: dict[str, Format] = {
    ".csv": CSV,
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".npz": NPZ,
    ".nc": NETCDF,
    ".nc4": NETCDF,
    ".netcdf": NETCDF,
    ".h5": NETCDF,
    ".zarr": ZARR,
}

#: Endings of the files that estimates are stored in and shown on.
ENDINGS = {"netCDF": tuple(ending for ending, kind in FORMATS.items() if kind is NETCDF), "HTML": (".html", ".htm")}


def require_ending(file: str | os.PathLike, kind: str) -> None:
    """Refuse a name that promises another kind of file than will be written; one without an ending promises nothing.

    >>> require_ending("page.html", "HTML")
    """
    path = Path(file)
    require(
        path.suffix.lower() in ("", *ENDINGS[kind]),
        f"A {kind} file is written, so its name must end in {' or '.join(ENDINGS[kind])}, but is {path.name!r}. "
        "Rename it.",
    )


def read_tasks(file: str | os.PathLike, most_bytes: int = MOST_BYTES) -> Tasks:
    """Tasks from a file; what is wrong with it is a ValueError in one sentence."""
    path = Path(file)
    require(path.exists(), f"FILE must exist, but there is no {str(path)!r}. Check the path.")
    kind = _format(path)
    require(
        path.is_dir() == (kind is ZARR),
        f"{path.name!r} is a {'folder' if path.is_dir() else 'file'}, but {path.suffix} data are not. Check the path.",
    )
    require(path.is_dir() or path.stat().st_size > 0, f"{path.name!r} is empty. Write it again.")
    return kind.read(path, most_bytes)


def write_tasks(file: str | os.PathLike, tasks: Tasks) -> None:
    """Write tasks to a file of the format that its name ends in; what was there stays until all is written."""
    path = Path(file)
    kind = _format(path)
    odd = [name for name in tasks.names if "\0" in name or name.encode("utf-8", "replace").decode() != name]
    require(not odd, f"Names in files must be text that can be encoded, but {odd[:4]!a} cannot. Rename the tasks.")
    with replacing(path) as temporary:
        kind.write(temporary, tasks)


def _format(path: Path) -> Format:
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        raise ValueError(
            f"The format of {str(path)!r} is not known: its name must end in one of {', '.join(FORMATS)}. Rename it, "
            "or, if it is of another kind, unpack or convert it."
        )
    return found
