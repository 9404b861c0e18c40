"""The search of `descent` in one call that needs nothing of Python: `descent.c`, if it was built.

Between two evaluations of few rows Python takes as long as they do, and only one thread at a time. Nothing stops a
search that is made here: of so few rows (`linear_system.native`) it is over within the time Ctrl-C is answered in.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from ..linear_system.native import Compiled
from ..runtime.native import PACKAGE, library
from . import descent
from .descent import Box, Memory, Vector

SOURCE = PACKAGE / "tuning" / "descent.c"

#: What `descent` has judged, and `descent.c` is told.
JUDGEMENTS = ("ENOUGH", "LEAST_CUT", "MOST_CUT", "LONGEST_STEP", "CUTS", "FIRST_CUTS", "REMEMBERED")


class Best(NamedTuple):
    """The best point that a search has seen: its value, by what its model is multiplied; and the evaluations made."""

    value: float
    free: Vector
    factor: float
    evaluations: int


def available() -> bool:
    """Whether searches are made here."""
    return _library() is not None


def search(
    function: Compiled,
    index: Int[np.ndarray, " entries"],
    start: Vector,
    box: Box,
    max_evaluations: int,
    gain: float,
    infeasible: float,
    memory: Memory | None = None,
) -> Best:
    """The best of the points that `descent.minimise` looks at; its value is infinite where there is none.

    The function is one of entries, of which the index says which free number each is; where it is no number it counts
    as `infeasible`.
    """
    arrays = _room(len(start), len(index)) | {
        "index": np.ascontiguousarray(index, dtype=np.int64),
        **{name: np.ascontiguousarray(side) for name, side in box._asdict().items()},
        "x": np.array(start, dtype=float),
    }
    problem = _CSearch(
        **function._asdict(),
        free=len(start),
        entries=len(index),
        evaluations=max_evaluations,
        gain=gain,
        infeasible=infeasible,
        **{name.lower(): getattr(descent, name) for name in JUDGEMENTS},
        keep=memory is not None,
        known=0 if memory is None else memory.read(arrays["steps"], arrays["changes"]),
        **{name: array.ctypes.data for name, array in arrays.items()},
    )
    _library().vvcv_search(ctypes.byref(problem))
    if memory is not None:
        memory.replace(arrays["steps"][: problem.known], arrays["changes"][: problem.known])
    return Best(float(arrays["best_value"]), arrays["best"], float(arrays["best_factor"]), problem.used)


def _room(free: int, entries: int) -> dict[str, np.ndarray]:
    """Where `descent.c` writes."""
    remembered = descent.REMEMBERED
    return {
        "best_value": np.array(np.inf),
        "best_factor": np.array(1.0),
        **{name: np.empty(free) for name in ("best", "there", "gradient", "new_gradient", "direction")},
        **{name: np.empty(entries) for name in ("entry", "entry_slope")},
        **{name: np.empty((remembered + 1, free)) for name in ("steps", "changes")},
        **{name: np.empty((remembered, remembered)) for name in ("products", "squares")},
        **{name: np.empty(remembered) for name in ("u", "v")},
    }


class _CSearch(ctypes.Structure):
    """`Search` of `descent.c`."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("value", "slope", "data", "factor")),
        *((name, ctypes.c_int64) for name in ("free", "entries", "evaluations", "cuts", "first_cuts", "remembered")),
        *((name, ctypes.c_int64) for name in ("keep", "known", "used")),
        *((name, ctypes.c_double) for name in ("gain", "infeasible", "enough", "least_cut")),
        *((name, ctypes.c_double) for name in ("most_cut", "longest_step")),
        *((name, ctypes.c_void_p) for name in ("index", "low", "high", "grid", "steps", "changes")),
        *((name, ctypes.c_void_p) for name in ("best", "best_value", "best_factor", "x")),
        *((name, ctypes.c_void_p) for name in ("there", "gradient", "new_gradient", "direction")),
        *((name, ctypes.c_void_p) for name in ("entry", "entry_slope", "products", "squares", "u", "v")),
    ]


@cache
def _library() -> Any:
    """`descent.c`, or None."""
    found = library(SOURCE)
    if found is not None:
        found.vvcv_search.argtypes, found.vvcv_search.restype = [ctypes.c_void_p], None
    return found
