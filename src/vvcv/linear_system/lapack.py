"""LAPACK and BLAS in place on column-major arrays or parts of them, with Python's lock released.

SciPy's own wrappers hold the lock while LAPACK works, so that threads on other cores wait, and copy arrays that are
parts of others. The routines are the same ones, by the addresses that SciPy gives to Cython.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import cython_blas, cython_lapack

Matrix = Float[np.ndarray, "n m"]


def potrf(matrix: Matrix) -> int:
    """The lower Cholesky factor in the place of a matrix; zero, or the leading minor that is not positive.

    >>> matrix = np.asfortranarray([[4.0, 9.0], [2.0, 2.0]])
    >>> potrf(matrix), matrix.tolist()
    (0, [[2.0, 9.0], [1.0, 1.0]])
    """
    info, (n, address, lead) = ctypes.c_int(0), _place(matrix)
    _POTRF(b"L", n, address, lead, info)
    return info.value


def trtri(lower: Matrix) -> None:
    """The inverse of a lower triangle in its place."""
    info, (n, address, lead) = ctypes.c_int(0), _place(lower)
    _TRTRI(b"L", b"N", n, address, lead, info)


def lauum(lower: Matrix) -> None:
    """X'X in the place of a lower triangle X, itself only its lower triangle."""
    info, (n, address, lead) = ctypes.c_int(0), _place(lower)
    _LAUUM(b"L", n, address, lead, info)


def potrs(factor: Matrix, right: Matrix) -> None:
    """The solution of L L' x = b in the place of b, one column or more."""
    info, (n, address, lead), (_, b, lead_b) = ctypes.c_int(0), _place(factor), _place(right)
    _POTRS(b"L", n, ctypes.c_int(right.shape[1]), address, lead, b, lead_b, info)


def trmm(factor: float, lower: Matrix, other: Matrix, side: bytes) -> None:
    """factor * L B in the place of B, or factor * B L where the side is b"R"."""
    (_, address, lead), (rows, b, lead_b) = _place(lower), _place(other)
    columns = ctypes.c_int(other.shape[1])
    _TRMM(side, b"L", b"N", b"N", rows, columns, ctypes.c_double(factor), address, lead, b, lead_b)


def syrk(factor: float, update: Matrix, times: float, lower: Matrix) -> None:
    """times * C + factor * A A' in the place of a symmetric C, itself only its lower triangle."""
    (rows, a, lead_a), (_, c, lead) = _place(update), _place(lower)
    columns, doubles = ctypes.c_int(update.shape[1]), (ctypes.c_double(factor), ctypes.c_double(times))
    _SYRK(b"L", b"N", rows, columns, doubles[0], a, lead_a, doubles[1], c, lead)


def _place(matrix: Matrix) -> tuple[ctypes.c_int, ctypes.c_void_p, ctypes.c_int]:
    """Number of rows, address, and distance of columns."""
    rows, columns = matrix.shape
    down, right = matrix.strides
    if matrix.dtype != np.float64 or (down != 8 and rows > 1):
        raise ValueError("LAPACK works in place on column-major arrays of float64 only.")
    lead = right // 8 if columns > 1 else max(rows, 1)
    return ctypes.c_int(rows), ctypes.c_void_p(_address(matrix)), ctypes.c_int(lead)


def _address(matrix: Matrix) -> int:
    """Where the numbers of an array lie."""
    if matrix.flags.f_contiguous and matrix.size:  # a third of the time
        columns: Any = matrix.T
        return ctypes.addressof(ctypes.c_char.from_buffer(columns))
    return matrix.ctypes.data


def _routine(name: str, form: str) -> Any:
    """A routine whose arguments are characters (c), integers (i), doubles (d) and arrays (a), all by address."""
    kinds: dict[str, Any] = {
        "c": ctypes.c_char_p,
        "i": ctypes.POINTER(ctypes.c_int),
        "d": ctypes.POINTER(ctypes.c_double),
    }
    prototype = ctypes.CFUNCTYPE(None, *(kinds.get(kind, ctypes.c_void_p) for kind in form))
    return prototype(routine_address(name))


def routine_address(name: str) -> int:
    """Where SciPy's BLAS and LAPACK have a routine, for code that calls it itself.

    >>> routine_address("dpotrf") > 0
    True
    """
    capsules = cython_lapack.__pyx_capi__ | cython_blas.__pyx_capi__
    named = ctypes.pythonapi.PyCapsule_GetName
    named.restype, named.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer(capsules[name], named(capsules[name]))


_POTRF = _routine("dpotrf", "ciaii")
_TRTRI = _routine("dtrtri", "cciaii")
_LAUUM = _routine("dlauum", "ciaii")
_POTRS = _routine("dpotrs", "ciiaiaii")
_TRMM = _routine("dtrmm", "cccciidaiai")
_SYRK = _routine("dsyrk", "cciidaidai")
