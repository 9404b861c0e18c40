"""A restricted likelihood and its gradient in two calls that need nothing of Python: `evaluation.c`, if it was built.

A search makes hundreds of evaluations, and one is some sixty calls of NumPy and LAPACK, at each of which threads that
search side by side wait for Python's lock. Where the library was installed without a C compiler, and for all that
`evaluation.c` does not know, NumPy does the same (`dense`, `stein.host_gram`).
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import jax
import numpy as np
from jaxtyping import Float
from scipy.linalg import LinAlgError

from ..kernels import Full, Kernel, Matern, SquaredExponential
from ..runtime.native import PACKAGE, library
from ..stein import SteinKernel, SteinSum
from ..stein.gram_matrix import check_tasks
from .dense import DenseSystem
from .design import Design
from .lapack import routine_address
from .model import Model

#: Rows up to which evaluations are made here: of more, BLAS is quicker with its products than loops over pairs are.
MOST_ROWS = 512

SOURCE = PACKAGE / "linear_system" / "evaluation.c"

#: The routines that the library is given, in its order.
ROUTINES = ("dpotrf", "dpotrs", "dtrtri", "dlauum", "dtrmm", "dtrsm", "dsyrk")

#: Arrays of one number for each row, and for each axis, that it works in, and numbers that it touches at once.
WORK, AXIS, LANES = 12, 5, 8

Leaves = Sequence[np.ndarray]


class Compiled(NamedTuple):
    """A function as C knows it: addresses of what gives its value, and then its slope, of its data, and of a factor."""

    value: int
    slope: int
    data: int
    factor: int


def likelihood(model: Model, design: Design, scaled: bool = False) -> NativeLikelihood | None:
    """The restricted likelihood of models of this form on a design, if they are evaluated here."""
    if not serves(model.kernel, design.size) or not complete(model, design):
        return None
    return NativeLikelihood(model.kernel, model.log_parts.size, design, scaled)


def serves(kernel: SteinKernel | SteinSum, rows: int) -> bool:
    """Whether evaluations of a Stein kernel on so many rows are made here."""
    return rows <= MOST_ROWS and all(map(_known, kernel.terms)) and _library() is not None


def complete(model: Model, design: Design) -> bool:
    """Whether a model has the numbers that `evaluation.c` reads: of tasks, of axes each or all alike, and of parts."""
    numbers = (each for term in model.kernel.terms for each in (term.kernel.scalar.log_lengthscale, term.log_axes))
    of_axes = {np.size(each) for each in numbers if each is not None} <= {1, design.side.points.shape[1]}
    parts = len(design.rows_of_ridge.matrices) if model.log_parts.size else 0
    return of_axes and np.size(model.log_noise) == design.tasks and model.log_parts.size == parts


class NativeLikelihood:
    """The restricted likelihood of models of one form on one design, or of their likeliest multiples."""

    def __init__(self, kernel: SteinKernel | SteinSum, parts: int, design: Design, scaled: bool) -> None:
        check_tasks(kernel, design.side)
        rows, terms = _rows_of(design), [_Term(term, design) for term in kernel.terms]
        sizes = rows.sizes | {"parts": parts, "lead": design.size + LANES}
        self._room, part = _Room(_shapes(**sizes)), design.rows_of_ridge.matrices if parts else None
        self._problem = _CProblem(
            **sizes,
            scaled=scaled,
            terms=len(terms),
            term=(_CTerm * len(terms))(*(term.as_c for term in terms)),
            part=None if part is None else part.ctypes.data,
            **rows.addresses,
            **self._room.addresses,
        )
        self._kernel, self._design = kernel, design
        self._in_use = rows, terms, part  # as long as their addresses are, whatever other threads put in their places

    def at(self, leaves: Leaves) -> tuple[float, float]:
        """The criterion of a model, and by what it is multiplied."""
        entries = np.concatenate([np.reshape(leaf, -1) for leaf in leaves], dtype=float)
        value = _library().vvcv_value(ctypes.byref(self._problem), entries.ctypes.data)
        if math.isnan(value):
            raise LinAlgError(
                "The covariance matrix, or the normal matrix of the columns, is not positive definite, or the columns "
                "leave nothing of the values."
            )
        return value, float(self._room["scale"][0])

    def gradient(self) -> list[np.ndarray]:
        """The gradient's leaves there, once."""
        of_rest = [(self._problem.tasks,), (self._problem.parts,)]
        shapes = [np.shape(leaf) for leaf in jax.tree.leaves(self._kernel)] + of_rest
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        slope = np.empty(ends[-1])
        _library().vvcv_slope(ctypes.byref(self._problem), slope.ctypes.data)
        return [part.reshape(shape) for part, shape in zip(np.split(slope, ends[:-1]), shapes, strict=True)]

    def system(self, leaves: Leaves) -> DenseSystem:
        """A model's solution, which takes over the memory: nothing else is evaluated here afterwards."""
        self.at(leaves)
        factor, solved = self._room["matrix"].T, self._room["solved"].T  # row-major there, column-major here
        return DenseSystem(factor, solved, self._design.columns, self._design.values)

    @property
    def compiled(self) -> Compiled:
        """The same for a search that is compiled itself, as long as this is kept."""
        calls = (_library().vvcv_value, _library().vvcv_slope)
        value, slope = (ctypes.cast(call, ctypes.c_void_p).value or 0 for call in calls)
        return Compiled(value, slope, ctypes.addressof(self._problem), self._problem.scale)


class _Rows:
    """A design as `evaluation.c` sees it."""

    def __init__(self, design: Design) -> None:
        columns, values = _in_rows(design.columns.T), _in_rows(design.values.T).reshape(-1, design.size)
        arrays = {
            "points": _with_room(design.side.points.T),
            "scores": _with_room(design.side.scores.T),
            "task": np.ascontiguousarray(design.side.task, dtype=np.int64),
            "column": columns,
            "value": values,
            "noise_weight": _in_rows(design.noise_weight),
            "count": design.counts.astype(float),
        }
        (n, d), t = design.side.points.shape, design.tasks
        self.sizes = {"n": n, "d": d, "tasks": t, "columns": len(columns), "values": len(values)}
        self.addresses = {name: array.ctypes.data for name, array in arrays.items()}
        self._in_use = arrays


_ROWS: WeakKeyDictionary[Design, _Rows] = WeakKeyDictionary()


def _rows_of(design: Design) -> _Rows:
    """Made once: a design sees many models."""
    if design not in _ROWS:
        _ROWS[design] = _Rows(design)
    return _ROWS[design]


def _shapes(n: int, d: int, tasks: int, columns: int, values: int, parts: int, lead: int) -> dict[str, tuple[int, ...]]:
    """Of the arrays that `evaluation.c` works in."""
    return {
        **{"matrix": (n, n), "solved": (columns + values, n), "weights": (values, n), "own_noise": (n,)},
        **{"normal": (columns, columns), "coefficients": (columns,), "work": (WORK, lead), "axis": (AXIS, d)},
        **dict.fromkeys(("noise", "total", "by_noise"), (tasks,)),
        **dict.fromkeys(("variance", "by_part"), (parts,)),
        "scale": (1,),
    }


class _Room:
    """Arrays of given shapes in one piece of memory, and their addresses."""

    def __init__(self, shapes: dict[str, tuple[int, ...]]) -> None:
        ends = list(accumulate(map(math.prod, shapes.values())))
        self._memory, self._shapes = np.zeros(ends[-1]), shapes
        self._starts = dict(zip(shapes, [0, *ends], strict=False))
        first = self._memory.ctypes.data
        self.addresses = {name: first + start * self._memory.itemsize for name, start in self._starts.items()}

    def __getitem__(self, name: str) -> np.ndarray:
        start, shape = self._starts[name], self._shapes[name]
        return self._memory[start : start + math.prod(shape)].reshape(shape)


class _Term:
    """One Stein kernel as `evaluation.c` knows it."""

    def __init__(self, term: SteinKernel, design: Design) -> None:
        only, form, scalar = term.kernel.only_task, term.kernel.task_form, term.kernel.scalar
        of_task = design.gram.tasks  # of rows that are sorted by task
        window = slice(0, design.size) if only is None else of_task.get(only, slice(0, 0))
        tasks, d = 0 if form is None else form.count, design.side.points.shape[1]
        of_tasks, of_axes = ("b", "by_b", "factor"), ("axes", "lam", "by_axes", "by_lam")
        self._room = _Room(dict.fromkeys(of_tasks, (tasks, tasks)) | dict.fromkeys(of_axes, (d,)))
        self.as_c = _CTerm(
            start=window.start,
            stop=window.stop,
            rough=_roughness(scalar),
            tasks=tasks,
            lengths=np.size(scalar.log_lengthscale),
            weights=0 if term.log_axes is None else np.size(term.log_axes),
            **self._room.addresses,
        )


class _CTerm(ctypes.Structure):
    """`Term` of `evaluation.c`."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("start", "stop", "rough", "tasks", "lengths", "weights")),
        *((name, ctypes.c_void_p) for name in ("axes", "lam", "factor", "b", "by_axes", "by_lam", "by_b")),
    ]


class _CProblem(ctypes.Structure):
    """`Problem` of `evaluation.c`."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("n", "d", "tasks", "columns", "values", "parts")),
        *((name, ctypes.c_int64) for name in ("terms", "scaled", "lead")),
        *((name, ctypes.c_void_p) for name in ("points", "scores", "task", "column", "value", "part")),
        *((name, ctypes.c_void_p) for name in ("noise_weight", "count", "noise", "variance")),
        ("term", ctypes.POINTER(_CTerm)),
        *((name, ctypes.c_void_p) for name in ("matrix", "solved", "normal", "coefficients", "weights")),
        *((name, ctypes.c_void_p) for name in ("own_noise", "work", "axis")),
        *((name, ctypes.c_void_p) for name in ("total", "by_noise", "by_part", "scale")),
    ]


@cache
def _library() -> Any:
    """`evaluation.c` with LAPACK's routines, or None."""
    found = library(SOURCE)
    if found is not None:
        found.vvcv_use((ctypes.c_void_p * len(ROUTINES))(*map(routine_address, ROUTINES)))
        found.vvcv_value.argtypes, found.vvcv_value.restype = [ctypes.c_void_p, ctypes.c_void_p], ctypes.c_double
        found.vvcv_slope.argtypes, found.vvcv_slope.restype = [ctypes.c_void_p, ctypes.c_void_p], None
    return found


def _known(term: SteinKernel) -> bool:
    """Whether `evaluation.c` knows a Stein kernel."""
    known_form = term.kernel.task_form is None or type(term.kernel.task_form) is Full
    return term.order == 1 and known_form and _roughness(term.kernel.scalar) is not None


def _roughness(scalar: Kernel) -> int | None:
    """The family as `evaluation.c` numbers it, if it knows it (a subclass may be another kernel)."""
    if type(scalar) not in (SquaredExponential, Matern):
        return None
    return int(scalar.nu) if isinstance(scalar, Matern) else 0


def _with_room(rows: Float[np.ndarray, "d n"]) -> Float[np.ndarray, "d lead"]:
    """Rows of numbers, each with room for LANES behind it."""
    roomy = np.zeros((len(rows), rows.shape[1] + LANES))
    roomy[:, :-LANES] = rows
    return roomy


def _in_rows(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, dtype=float)
