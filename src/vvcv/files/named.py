"""Named arrays that are not tasks, from a NumPy archive (.npz) or netCDF: the draws of a ladder of temperatures."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np

from ..data import require
from .archives import measured
from .limits import readable, within
from .trees import REMEDY, need_netcdf

#: Groups of a netCDF file that may hold them; ArviZ keeps draws on the unconstrained scale with the statistics.
GROUPS = ("/", "/sample_stats", "/posterior")


def read_arrays(file: Path, names: Collection[str], most_bytes: int) -> dict[str, np.ndarray]:
    """The arrays of a file by name: all of an archive, of a netCDF file those in `names`."""
    require(file.is_file(), f"FILE must be an existing file, but there is no {str(file)!r}. Check the path.")
    return _npz(file, most_bytes) if file.suffix.lower() == ".npz" else _netcdf(file, set(names), most_bytes)


def _npz(file: Path, most_bytes: int) -> dict[str, np.ndarray]:
    with measured(file, most_bytes) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _netcdf(file: Path, names: set[str], most_bytes: int) -> dict[str, np.ndarray]:
    need_netcdf()
    import xarray as xr

    with readable(file, "netCDF or .npz", REMEDY), xr.open_datatree(file, engine="h5netcdf") as tree:
        groups = {node.path: node.to_dataset(inherit=False).variables for node in tree.subtree}
        found = {
            name: groups[path][name]
            for path in reversed(GROUPS)
            for name in names & {str(name) for name in groups.get(path, ())}
        }
        within(sum(variable.nbytes for variable in found.values()), most_bytes, file.name)
        return {name: variable.values for name, variable in found.items()}
