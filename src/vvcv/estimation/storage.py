"""Stored estimates: `load` builds again what `Estimate.save` has written, all but functions and data."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ..checks import Check, Finding, Mixing
from .netcdf import ARRAY, RECORD, read
from .numbers import MonteCarlo, Promise
from .records import unpack
from .result import Estimate

#: What a file may ask to be built; nothing else is.
RECORDS = {kind.__name__: kind for kind in (Check, Estimate, Finding, Mixing, MonteCarlo, Promise)}


def load(path: str | os.PathLike) -> Estimate:
    """Read an estimate written by `save`, or raise a ValueError that says what is wrong with the file.

    >>> import tempfile, numpy as np, vvcv
    >>> x = np.linspace(-2, 2, 9)[:, None]
    >>> found, path = vvcv.estimate(vvcv.Tasks.shared(x, -x, x**2), "mc"), Path(tempfile.mkdtemp()) / "found.nc"
    >>> found.save(path)
    >>> bool(vvcv.load(path).mean == found.mean)
    True
    """
    dataset = read(Path(path))
    arrays = {str(name).removeprefix(ARRAY): variable.values for name, variable in dataset.variables.items()}
    try:
        return unpack(json.loads(dataset[RECORD].item()), arrays, RECORDS)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{Path(path).name!r} lacks fields that this version of vvcv needs ({error}). Load it with the version "
            f"that wrote it, {dataset.attrs.get('written_by', 'unknown')}."
        ) from error
