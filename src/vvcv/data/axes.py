"""Arrays whose axes have names, as xarray's: chains and draws come first, whatever the order they are stored in."""

from __future__ import annotations

from typing import Any

#: Names of the leading axes, in their order: those of ArviZ and of all samplers that it reads.
LEADING = ("chain", "draw")


def chains_first(array: Any, points: bool = False) -> Any:
    """An array of xarray's with its axes `chain` and `draw` first; anything else as it is.

    Points (and scores) of one coordinate for each draw are given the axis for it.

    >>> import xarray as xr
    >>> chains_first(xr.DataArray([[1.0, 2.0, 3.0]], dims=("draw", "chain")), points=True).shape
    (3, 1, 1)
    """
    if type(array).__module__.partition(".")[0] != "xarray" or not hasattr(array, "transpose"):
        return array
    leading = tuple(dim for dim in LEADING if dim in array.dims)
    if array.dims[: len(leading)] != leading:  # what is in order stays the very array, as others may share it
        array = array.transpose(*leading, ...)
    return array.expand_dims("parameter", axis=-1) if points and set(array.dims) == set(LEADING) else array
