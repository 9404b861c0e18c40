"""Dataclasses of arrays, names and numbers as plain text plus arrays, and back, without pickle.

Text is JSON in ASCII, which holds any name and every float exactly; arrays stay binary. What cannot be stored, a
function above all, comes back as `NotStored`, which says so when it is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

#: Kinds of arrays that netCDF holds as they are: floats and integers.
NUMERIC = "fiu"


class NotStored:
    """Stands where something could not be stored; calling it says so."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(
            f"The {self._what} of a loaded estimate cannot be called, since functions are not stored in files. "
            "Run estimate again on the data to have it."
        )

    def __repr__(self) -> str:
        return f"<{self._what}: not stored>"


def pack(value: Any, where: str, arrays: dict[str, np.ndarray]) -> Any:
    """`value` as JSON; arrays of numbers go into `arrays` under the name of the place where they were found.

    >>> arrays = {}
    >>> pack((1, np.zeros(2)), "x", arrays), arrays
    ({'tuple': [1, {'array': 'x.1'}]}, {'x.1': array([0., 0.])})
    """
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.generic):
        return pack(value.item(), where, arrays)
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in NUMERIC:
            return {
                "list": [pack(item, f"{where}.{i}", arrays) for i, item in enumerate(value.tolist())],
                "numpy": True,
            }
        arrays[where] = value
        return {"array": where}
    if is_dataclass(value):
        content = {f.name: pack(getattr(value, f.name), f"{where}.{f.name}", arrays) for f in fields(value)}
        return {"record": type(value).__name__, "fields": content}
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [pack(item, f"{where}.{i}", arrays) for i, item in enumerate(value)]}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {"dict": [[key, pack(item, f"{where}.{i}", arrays)] for i, (key, item) in enumerate(value.items())]}
    return {"not stored": where.rpartition(".")[2]}


def unpack(packed: Any, arrays: Mapping[str, np.ndarray], records: Mapping[str, type]) -> Any:
    """The inverse of `pack`; only dataclasses among `records` are ever built."""
    if not isinstance(packed, dict):
        return packed
    if "array" in packed:
        return arrays[packed["array"]]
    if "not stored" in packed:
        return NotStored(packed["not stored"].replace("_", " "))
    if "record" in packed:
        record = records[packed["record"]]
        known = {f.name for f in fields(record)}
        content = {key: unpack(item, arrays, records) for key, item in packed["fields"].items() if key in known}
        return record(**content)
    if "dict" in packed:
        return {key: unpack(item, arrays, records) for key, item in packed["dict"]}
    items = [unpack(item, arrays, records) for item in packed["tuple" if "tuple" in packed else "list"]]
    return tuple(items) if "tuple" in packed else np.array(items) if "numpy" in packed else items
