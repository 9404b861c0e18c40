"""Named arrays from a file: a NumPy archive (.npz) or netCDF."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np

from .validation import require

#: Groups of a netCDF file that may hold them; ArviZ keeps draws on the unconstrained scale with the statistics.
GROUPS = (None, "sample_stats", "posterior")


def read_arrays(file: Path, wanted: Collection[str]) -> dict[str, np.ndarray]:
    """The arrays of a file by name: all of an archive, of a netCDF file those wanted."""
    require(file.is_file(), f"FILE must be an existing file, but there is no {str(file)!r}. Check the path.")
    return _npz(file) if file.suffix == ".npz" else _netcdf(file, set(wanted))


def _npz(file: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except Exception as error:  # a broken archive raises many kinds
        raise ValueError(f"{file.name!r} must be a NumPy archive of numbers, but cannot be read ({error}).") from None


def _netcdf(file: Path, wanted: set[str]) -> dict[str, np.ndarray]:
    import xarray as xr

    arrays: dict[str, np.ndarray] = {}
    for group in GROUPS:
        try:
            with xr.open_dataset(file, group=group, engine="h5netcdf") as dataset:
                found = wanted & {str(name) for name in dataset.variables}
                arrays |= {name: dataset[name].values for name in found - arrays.keys()}
        except ImportError:
            raise ImportError("netCDF files need h5netcdf and h5py: pip install 'vvcv[io]'.") from None
        except Exception as error:  # a missing group is fine, an unreadable file is not
            require(group is not None, f"{file.name!r} must be a netCDF or .npz file, but cannot be read ({error}).")
    return arrays
