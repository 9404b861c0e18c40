"""Which reader and which writer a file gets, by the end of its name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ..data import Tasks, require
from . import archives, tables, trees
from .arrays import arrays_of_tasks, tasks_of_arrays
from .columns import columns_of_tasks, tasks_of_columns

#: Numbers that are read from one file at most, in bytes, unless the caller allows more.
MOST_BYTES = 2 << 30


class Format(NamedTuple):
    """A kind of file: its reader of tasks under a limit in bytes, and its writer."""

    read: Callable[[Path, int], Tasks]
    write: Callable[[Path, Tasks], None]


CSV = Format(
    lambda file, limit: tasks_of_columns(tables.read_csv(file, limit), file.name),
    lambda file, tasks: tables.write_csv(file, columns_of_tasks(tasks)),
)
PARQUET = Format(
    lambda file, limit: tasks_of_columns(tables.read_parquet(file, limit), file.name),
    lambda file, tasks: tables.write_parquet(file, columns_of_tasks(tasks)),
)
NPZ = Format(
    lambda file, limit: tasks_of_arrays(archives.read_npz(file, limit), file.name),
    lambda file, tasks: archives.write_npz(file, arrays_of_tasks(tasks)),
)
NETCDF = Format(
    lambda file, limit: tasks_of_arrays(trees.read_netcdf(file, limit), file.name),
    lambda file, tasks: trees.write_netcdf(file, arrays_of_tasks(tasks)),
)
ZARR = Format(
    lambda file, limit: tasks_of_arrays(trees.read_zarr(file, limit), file.name),
    lambda file, tasks: trees.write_zarr(file, arrays_of_tasks(tasks)),
)

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
    """Write tasks to a file of the format that its name ends in."""
    _format(Path(file)).write(Path(file), tasks)


def _format(path: Path) -> Format:
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        raise ValueError(
            f"The format of {path.name!r} is not known: its name must end in one of {', '.join(FORMATS)}. Rename it."
        )
    return found
