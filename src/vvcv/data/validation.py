"""The one door through which arrays enter: every message states the rule, what was found, and the remedy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from jaxtyping import Float

NUMERIC_KINDS = "fiub"  # float, signed, unsigned, bool: everything that converts to float64 without loss of meaning

#: Largest and smallest numbers that are taken: beyond them squares overflow or vanish, and every variance is one.
LARGEST, SMALLEST = 1e150, 1e-152


#: What to do about rows that are not finite, where rows are not asked for by their values.
REMOVE = "Remove those rows (from points, scores and values alike)."


def finite_array(value: Any, what: str, remedy: str = REMOVE) -> Float[np.ndarray, "..."]:
    """Return `value` as a native float64 array, or raise a ValueError that says what is wrong with it.

    `remedy` is what to do about numbers that are not finite.

    >>> finite_array([1, 2], "points")
    array([1., 2.])
    """
    array = _plain_array(value, what)
    if array.dtype.kind not in NUMERIC_KINDS:
        raise ValueError(
            f"{what} must be real numbers, but the array has dtype {array.dtype}. "
            "Convert it first, for example with numpy.asarray(x, dtype=float)."
        )
    array = np.array(array, dtype=np.float64, order="C")
    bad = ~np.isfinite(array)
    if bad.any():
        raise ValueError(
            f"{what} must be finite, but {int(bad.sum())} of {array.size} entries are not; the first is "
            f"{array[bad][0]} at index {_first(bad)}. {remedy}"
        )
    huge = np.abs(array) > LARGEST
    if huge.any():
        raise ValueError(
            f"{what} must be below {LARGEST:g} in magnitude, since squares must not overflow; the first larger one is "
            f"{array[huge][0]:g} at index {_first(huge)}. Change the unit of {what}."
        )
    return array


def column_names(table: Any) -> list[str] | None:
    """The names of the columns of a table such as pandas', if all of them have one; None of anything else.

    >>> column_names(np.zeros((3, 2))) is None
    True
    """
    names = list(getattr(table, "column_names", getattr(table, "columns", ())))  # Arrow's columns are arrays
    return names if names and all(isinstance(name, str) for name in names) else None


def visible(values: Float[np.ndarray, "..."], what: str) -> Float[np.ndarray, "..."]:
    """Return values unless all are so small, but not zero, that their variance would be zero.

    >>> visible(np.array([0.0, 1e-100]), "values")
    array([0.e+000, 1.e-100])
    """
    largest = float(np.abs(values).max(initial=0.0))
    if 0 < largest < SMALLEST:
        raise ValueError(
            f"{what} must not all be below {SMALLEST:g} in magnitude, since their squares would vanish; the largest is "
            f"{largest:g}. Change the unit of {what}: multiply them, and divide the answer."
        )
    return values


def whole(array: Any, what: str) -> None:
    """Raise a ValueError where rows of a file of points were never written, and so would be read as zeros.

    Zarr leaves out chunks of zeros alone, too, as values and scores may be; no sample has all its points at one place.
    """
    if not what.startswith("points"):
        return
    if isinstance(array, np.memmap) and array.ndim:
        last = array[:, -2:] if array.ndim > 2 else array[None, -2:]  # of each chain
        written(last.shape[1] < 2 or bool(np.any(last.reshape(len(last), -1), axis=1).all()), what)
    present, chunks = (getattr(array, name, None) for name in ("nchunks_initialized", "nchunks"))
    if present is None or getattr(array, "shards", None) is not None:
        return
    by_rows = len(array.shape) == 1 or array.chunks[-1] == array.shape[-1]  # one coordinate may be zero everywhere
    require(
        not (by_rows and present < chunks),
        f"{what} must be written as a whole, but {present} of {chunks} chunks of the zarr array are there. Wait until "
        "it is written, or pass the rows that are: array[:n].",
    )


def written(fine: bool, what: str) -> None:
    """Raise the ValueError for points that end in rows of zeros, unless all is fine.

    >>> written(True, "points")
    """
    require(
        fine,
        f"{what} must be written as a whole, but the last rows are zero in every coordinate, as in a file made for "
        "more draws than there are. Wait until it is written, or pass the rows that are: array[:n].",
    )


def require(condition: bool, message: str) -> None:
    """Raise `ValueError(message)` unless `condition` holds."""
    if not condition:
        raise ValueError(message)


def repeated(names: Iterable[str]) -> list[str]:
    """The names that occur more than once, in alphabetical order; there may be tens of thousands of names.

    >>> repeated(["tau", "mu", "tau"])
    ['tau']
    """
    return sorted(name for name, times in Counter(names).items() if times > 1)


def whole_number(value: Any, least: int, what: str) -> int:
    """Return `value` as an int of at least `least`, or raise a ValueError that says what it must be.

    >>> whole_number(np.array(3), 1, "The degree"), whole_number(4.0, 1, "The degree")
    (3, 4)
    """
    fine = is_number(value) and np.isfinite(float(value)) and int(value) == value and value >= least
    kind = "a positive integer" if least == 1 else f"an integer of at least {least}"
    require(fine, f"{what} must be {kind}, but is {value!r}.")
    return int(value)


def is_number(value: Any) -> bool:
    """Whether a value is one real number, in whatever type holds one.

    >>> is_number(np.array(0.1)), is_number("0.1"), is_number([0.1])
    (True, False, False)
    """
    return np.ndim(value) == 0 and getattr(np.asarray(value), "dtype", np.dtype(object)).kind in "fiu"


def probability_between(value: Any, what: str) -> None:
    """Raise a ValueError unless `value` is a probability other than 0 and 1.

    >>> probability_between(0.95, "level")
    """
    fine = is_number(value) and 0 < value < 1
    require(fine, f"{what} is a probability strictly between 0 and 1, but is {value!r}.")


def one_of(value: Any, allowed: Any, what: str) -> None:
    """Raise a ValueError unless `value` is one of the names allowed.

    >>> one_of("rkhs", ("rkhs", "euclidean"), "The penalty")
    """
    require(
        any(value is name or value == name for name in allowed),
        f"{what} must be one of {list(allowed)}, but is {value!r}.",
    )


def _plain_array(value: Any, what: str) -> np.ndarray:
    if isinstance(value, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(value)
        if mask.any():
            raise ValueError(
                f"{what} must have no masked entries, but {int(mask.sum())} are masked; the first at index "
                f"{_first(mask)}. Drop those rows before the call."
            )
        value = value.data
    whole(value, what)
    try:
        return np.asarray(value)
    except Exception as error:
        raise ValueError(f"{what} must be a rectangular array of numbers, but it could not be read: {error}") from None


def _first(mask: np.ndarray) -> int | tuple[int, ...]:
    index = tuple(int(i) for i in np.argwhere(mask)[0])
    return index[0] if len(index) == 1 else index
