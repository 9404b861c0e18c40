"""Arrays whose axes have names or labels: chains and draws come first, and what belongs together has one order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .validation import column_names, require

#: Names of the leading axes, in their order: those of ArviZ and of all samplers that it reads.
LEADING = ("chain", "draw")


def chains_first(array: Any, points: bool = False) -> Any:
    """An array of xarray's with its axes `chain` and `draw` first; anything else as it is.

    Points (and scores) of one coordinate for each draw are given the axis for it.

    >>> import xarray as xr
    >>> chains_first(xr.DataArray([[1.0, 2.0, 3.0]], dims=("draw", "chain")), points=True).shape
    (3, 1, 1)
    """
    if not _is_of(array, "xarray") or not hasattr(array, "transpose"):
        return array
    leading = tuple(dim for dim in LEADING if dim in array.dims)
    if array.dims[: len(leading)] != leading:  # what is in order stays the very array, as others may share it
        array = array.transpose(*leading, ...)
    return array.expand_dims("parameter", axis=-1) if points and set(array.dims) == set(LEADING) else array


def together(points: Any, scores: Any, values: Any) -> tuple[Any, Any, Any]:
    """All three with chains and draws first, in the order of the points where they have labels.

    >>> x = [0.5, 1.0]
    >>> together(x, x, x)[0] is x
    True
    """
    points, scores = chains_first(points, points=True), chains_first(scores, points=True)
    return points, in_order_of(points, scores), in_order_of(points, chains_first(values), rows=True)


def in_order_of(first: Any, array: Any, rows: bool = False) -> Any:
    """An array with its axes in the order of another's where both have the same labels: all axes, or those of `rows`.

    Of tables only columns are put in order. Their rows may have been computed from each other by place, or sorted.

    >>> import pandas as pd
    >>> first = pd.DataFrame([[1.0, 2.0]], columns=["a", "b"])
    >>> in_order_of(first, first[["b", "a"]])
    array([[1., 2.]])
    """
    wanted = _labels(first)
    along = zip(wanted[: max(len(wanted) - 1, 1)] if rows else wanted, _labels(array), strict=False)
    for axis, places in enumerate([_places(*labels) for labels in along]):
        if places is not None and _is_of(array, "xarray"):
            array = array.isel({array.dims[axis]: places})
        elif places is not None:
            require(
                axis > 0,
                "Rows of tables that belong together must be in one order, but theirs have the same labels in another. "
                "Sort them alike, b = b.loc[a.index], or pass b.to_numpy() if they belong together by their places.",
            )
            array = np.take(np.asarray(array), places, axis)
    return array


def _is_of(array: Any, package: str) -> bool:
    return type(array).__module__.partition(".")[0] == package


def _labels(array: Any) -> list[np.ndarray | None]:
    """The labels along each axis: coordinates of xarray's, index and columns of pandas', names of a table's columns."""
    if _is_of(array, "xarray") and hasattr(array, "dims"):
        return [array.coords[dim].to_numpy() if dim in array.coords else None for dim in array.dims]
    index = array.index.to_numpy() if _is_of(array, "pandas") and hasattr(array, "index") else None
    names = column_names(array)
    return [index, *([] if names is None else [np.array(names, dtype=object)])]


def _places(wanted: np.ndarray | None, given: np.ndarray | None) -> list[int] | None:
    """Where the labels that are wanted are among those given; None if they are there already, or others."""
    if wanted is None or given is None or wanted.shape != given.shape or np.array_equal(wanted, given):
        return None
    places = {label: place for place, label in enumerate(given.tolist())}
    labels: Sequence[Any] = wanted.tolist()
    return [places[label] for label in labels] if places.keys() == set(labels) and len(places) == len(given) else None
