"""NumPy archives (.npz), measured before they are unpacked and never unpickled."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import Labelled, wanted
from .limits import readable, within


def read_npz(file: Path, limit: int) -> dict[str, Labelled]:
    """The arrays of an archive that may be needed."""
    with measured(file, limit) as arrays:
        return {name: Labelled(arrays[name]) for name in arrays.files if wanted(name)}


@contextmanager
def measured(file: Path, limit: int) -> Iterator[Any]:
    """An open archive whose arrays are numbers and, unpacked, not larger than `limit` bytes."""
    with readable(file, "a NumPy archive of numbers", "Write it with numpy.savez(FILE, points=..., scores=...)."):
        with zipfile.ZipFile(file) as archive:
            within(sum(entry.file_size for entry in archive.infolist()), limit, file.name)
        with np.load(file, allow_pickle=False) as arrays:
            yield arrays


def write_npz(file: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """An archive without compression, which any version of NumPy reads."""
    with file.open("wb") as opened:  # to a name NumPy may add an ending
        np.savez(opened, **arrays)  # type: ignore[arg-type]
