"""A restricted likelihood and its gradient in two calls that need nothing of Python: `evaluation.c`, if it was built.

A search makes hundreds of evaluations, and one is some sixty calls of NumPy and LAPACK, at each of which threads that
search side by side wait for Python's lock. Where the library was installed without a C compiler, and for all that
`evaluation.c` does not know, NumPy does the same (`dense`, `stein.host_gram`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import jax
import numpy as np
from scipy.linalg import LinAlgError

from ..kernels import Matern, SquaredExponential
from ..runtime.native import PACKAGE, library
from ..stein import SteinKernel, SteinSum
from ..stein.gram_matrix import check_tasks
from ..stein.host_gram import like, task_matrix_and_pull
from .design import Design
from .lapack import routine_address
from .system import Likelihood

#: Rows up to which evaluations are made here: of more, BLAS is quicker with its products than loops over pairs are.
MOST_ROWS = 512

SOURCE = PACKAGE / "linear_system" / "evaluation.c"

#: The routines that the library is given, in its order.
ROUTINES = ("dpotrf", "dpotrs", "dtrtri", "dlauum", "dtrmm", "dtrsm", "dsyrk")

#: Arrays of one number for each row, and for each axis, that it works in, and numbers that it touches at once.
WORK, AXIS, LANES = 12, 5, 8

Leaves = Sequence[np.ndarray]


def serves(kernel: SteinKernel | SteinSum, rows: int) -> bool:
    """Whether evaluations of a Stein kernel on so many rows are made here."""
    return rows <= MOST_ROWS and all(_roughness(term) is not None for term in kernel.terms) and _library() is not None


class NativeLikelihood:
    """The restricted likelihood of models of one form on one design, or of their likeliest multiples."""

    def __init__(self, kernel: SteinKernel | SteinSum, parts: int, design: Design, scaled: bool) -> None:
        check_tasks(kernel, design.side)
        self._library, self._scaled = _library(), scaled
        columns, values = _rows(design.columns.T), _rows(design.values.T).reshape(-1, design.size)
        (n, d), t, q, m = design.side.points.shape, design.tasks, len(columns), len(values)
        self._freedom, self._count = n - q, m
        self._terms = [_Term(term, design) for term in kernel.terms]
        arrays = {
            "points": _with_room(design.side.points.T),
            "scores": _with_room(design.side.scores.T),
            "task": np.ascontiguousarray(design.side.task, dtype=np.int64),
            "column": columns,
            "value": values,
            "part": design.rows_of_ridge.matrices if parts else np.empty(0),
            "noise_weight": _rows(design.noise_weight),
            "count": design.counts.astype(float),
            "noise": np.empty(t),
            "variance": np.empty(parts),
            "matrix": np.empty((n, n)),
            "solved": np.empty((q + m, n)),
            "normal": np.empty((q, q)),
            "coefficients": np.empty(q),
            "weights": np.empty((m, n)),
            "own_noise": np.empty(n),
            "work": np.zeros((WORK, n + LANES)),
            "axis": np.empty((AXIS, d)),
            "total": np.empty(t),
            "by_noise": np.empty(t),
            "by_part": np.empty(parts),
            "found": np.empty(3),
        }
        sizes = {"n": n, "d": d, "tasks": t, "columns": q, "values": m, "parts": parts, "lead": n + LANES}
        terms = (_CTerm * len(self._terms))(*(term.as_c for term in self._terms))
        addresses = {name: array.ctypes.data for name, array in arrays.items()}
        self._problem = _CProblem(**sizes, terms=len(terms), term=terms, **addresses)
        self._arrays = arrays  # as long as their addresses are in use

    def at(self, leaves: Leaves) -> tuple[float, float]:
        """The criterion of a model, and by what it is multiplied."""
        *kernel, log_noise, log_parts = leaves
        first = 0
        for term in self._terms:
            term.at(kernel[first : first + term.count])
            first += term.count
        np.exp(log_noise, out=self._arrays["noise"])
        np.exp(log_parts, out=self._arrays["variance"])
        if self._library.vvcv_evaluate(ctypes.byref(self._problem)) != 0:
            raise LinAlgError("The covariance matrix, or the normal matrix of the columns, is not positive definite.")
        of_rows, of_columns, quadratic = map(float, self._arrays["found"])
        likelihood = Likelihood(of_rows + of_columns, quadratic, self._freedom, self._count)
        self._scale = likelihood.best_scale if self._scaled else 1.0
        return likelihood.minus_log(self._scale), self._scale

    def gradient(self) -> list[np.ndarray]:
        """The gradient's leaves there, once."""
        self._library.vvcv_pull(ctypes.byref(self._problem), self._scale)
        own = (self._arrays["by_noise"].copy(), self._arrays["by_part"].copy())
        return [*(leaf for term in self._terms for leaf in term.gradient()), *own]


class _Term:
    """The parameters of one Stein kernel where `evaluation.c` reads them, and its gradient where that writes it."""

    def __init__(self, term: SteinKernel, design: Design) -> None:
        only, form = term.kernel.only_task, term.kernel.task_form
        of_task = design.gram.tasks  # of rows that are sorted by task
        window = slice(0, design.size) if only is None else of_task.get(only, slice(0, 0))
        tasks, self.count = 0 if form is None else form.count, len(jax.tree.leaves(term))
        self._form, self._of_b = jax.tree.structure(form), len(jax.tree.leaves(form))
        self._axes, self._lam, self._by_axes, self._by_lam = np.ones((4, design.side.points.shape[1]))
        self._b, self._by_b = np.empty((2, tasks, tasks))
        self.as_c = _CTerm(
            start=window.start,
            stop=window.stop,
            rough=_roughness(term),
            tasks=tasks,
            axes=self._axes.ctypes.data,
            lam=self._lam.ctypes.data,
            b=self._b.ctypes.data if tasks else None,
            by_axes=self._by_axes.ctypes.data,
            by_lam=self._by_lam.ctypes.data,
            by_b=self._by_b.ctypes.data,
        )

    def at(self, leaves: Leaves) -> None:
        """Take the parameters."""
        if self._b.size:
            self._b[:], self._pull_b = task_matrix_and_pull(jax.tree.unflatten(self._form, leaves[: self._of_b]))
        log_lengthscale, *log_axes = self._of_leaves = leaves[self._of_b :]
        self._lam[:] = np.exp(-2 * log_lengthscale)
        self._axes[:] = np.exp(log_axes[0]) if log_axes else 1.0

    def gradient(self) -> list[np.ndarray]:
        """The gradient's leaves."""
        # Between two tasks a pair above stands for B_tu and for B_ut; within one it stands for two of B_tt.
        of_b = self._pull_b(0.5 * (self._by_b + self._by_b.T)) if self._b.size else []
        slopes = (-2 * self._lam * self._by_lam, self._axes * self._by_axes)
        return [*of_b, *(like(leaf, slope) for leaf, slope in zip(self._of_leaves, slopes, strict=False))]


class _CTerm(ctypes.Structure):
    """`Term` of `evaluation.c`."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("start", "stop", "rough", "tasks")),
        *((name, ctypes.c_void_p) for name in ("axes", "lam", "b", "by_axes", "by_lam", "by_b")),
    ]


class _CProblem(ctypes.Structure):
    """`Problem` of `evaluation.c`."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("n", "d", "tasks", "columns", "values", "parts", "terms", "lead")),
        *((name, ctypes.c_void_p) for name in ("points", "scores", "task", "column", "value", "part")),
        *((name, ctypes.c_void_p) for name in ("noise_weight", "count", "noise", "variance")),
        ("term", ctypes.POINTER(_CTerm)),
        *((name, ctypes.c_void_p) for name in ("matrix", "solved", "normal", "coefficients", "weights")),
        *((name, ctypes.c_void_p) for name in ("own_noise", "work", "axis")),
        *((name, ctypes.c_void_p) for name in ("total", "by_noise", "by_part", "found")),
    ]


@cache
def _library() -> Any:
    """`evaluation.c` with LAPACK's routines, or None."""
    found = library(SOURCE)
    if found is not None:
        found.vvcv_use((ctypes.c_void_p * len(ROUTINES))(*map(routine_address, ROUTINES)))
        found.vvcv_pull.argtypes, found.vvcv_pull.restype = [ctypes.c_void_p, ctypes.c_double], None
        found.vvcv_evaluate.argtypes = [ctypes.c_void_p]
    return found


def _roughness(term: SteinKernel) -> int | None:
    """The family as `evaluation.c` numbers it, if it knows it (a subclass may be another kernel)."""
    scalar = term.kernel.scalar
    if term.order != 1 or type(scalar) not in (SquaredExponential, Matern):
        return None
    return int(scalar.nu) if type(scalar) is Matern else 0


def _with_room(rows: np.ndarray) -> np.ndarray:
    """Rows of numbers, each with room for LANES behind it."""
    return _rows(np.pad(rows, ((0, 0), (0, LANES))))


def _rows(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, dtype=float)
