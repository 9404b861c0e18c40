"""Arrays that stay where they are until rows of them are read: memory maps, zarr, HDF5, xarray over them, Dask.

Leading axes are (chain, draw), or (1, n) for independent rows; a block is a rectangle of these. Nothing here imports
the packages whose arrays it knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from mmap import ALLOCATIONGRANULARITY
from typing import Any

import numpy as np
from jaxtyping import Float

from ..runtime.memory import largest_system
from .validation import NUMERIC_KINDS, require, whole

#: Packages whose arrays are read by slices.
SLICED = ("zarr", "h5py")

#: Memory maps begin at multiples of so many bytes of their file.
PAGE = ALLOCATIONGRANULARITY


@dataclass(frozen=True, eq=False)
class LazyArray:
    """Points `(n, d)` or values `(n,)` of a task, one column of a larger array where `column` says so.

    >>> x = LazyArray(np.arange(12.0).reshape(2, 3, 2), leading=(2, 3), tail=(2,))
    >>> x.shape, x.read(slice(1, 2), slice(0, 2)).tolist()
    ((6, 2), [[[6.0, 7.0], [8.0, 9.0]]])
    """

    source: Any
    leading: tuple[int, ...]
    tail: tuple[int, ...] = ()
    column: int | None = None

    @property
    def chains(self) -> tuple[int, int]:
        """Number of chains and of draws in each: one chain, where there are none."""
        return (self.leading[0], self.leading[1]) if len(self.leading) == 2 else (1, self.leading[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape as of rows one after the other, chain by chain."""
        return (self.chains[0] * self.chains[1], *self.tail)

    @property
    def is_dask(self) -> bool:
        """Whether a Dask scheduler reads it."""
        return _root(self.source) == "dask"

    def read(self, chains: slice, draws: slice) -> Float[np.ndarray, "c k *tail"]:
        """Some draws of some chains, in memory."""
        block = self.source[chains, draws] if len(self.leading) == 2 else self.source[draws]
        return self.of_block(np.asanyarray(block), (chains.stop - chains.start, draws.stop - draws.start))

    def of_block(self, block: np.ndarray, rows: tuple[int, int]) -> Float[np.ndarray, "c k *tail"]:
        """A block of the source, as it came, in the shape of these rows: the column, d = 1 an axis, masked as nan."""
        block = block if self.column is None else block[..., self.column]
        numbers = np.ma.filled(block.astype(float), np.nan) if np.ma.is_masked(block) else np.asarray(block, float)
        return numbers.reshape(*rows, *self.tail)

    def is_same(self, other: Any) -> bool:
        """Whether both are the very same array, of memory or of a file that was opened twice."""
        if not isinstance(other, LazyArray) or other.column != self.column:
            return False
        return other.source is self.source or _identity(other.source) == _identity(self.source)

    @property
    def in_memory(self) -> bool:
        """Whether the rows were given as an array that is no file."""
        return isinstance(self.source, np.ndarray) and not isinstance(self.source, np.memmap)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        whole = np.concatenate([self.read(slice(c, c + 1), slice(0, self.chains[1])) for c in range(self.chains[0])])
        return whole.reshape(self.shape).astype(dtype or float)


def is_lazy(value: Any) -> bool:
    """Whether an array is read when asked for, and so need not fit into memory.

    >>> is_lazy(np.zeros(3)), is_lazy([1.0])
    (False, False)
    """
    if isinstance(value, LazyArray | np.memmap) or _root(value) == "dask" and hasattr(value, "chunks"):
        return True
    if _root(value) == "xarray" and hasattr(value, "variable"):
        # No public name tells whether a variable over a file was loaded.
        return value.chunks is not None or not getattr(value.variable, "_in_memory", True)
    return _root(value) in SLICED and hasattr(value, "shape")


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of anything that can be an array, without reading it; chains and all for a lazy one."""
    if isinstance(value, LazyArray):
        return (*value.leading, *value.tail)
    return tuple(value.shape) if is_lazy(value) else np.shape(value)


def stays_lazy(*arrays: Any) -> bool:
    """Whether rows are to be read block by block: those of an array not in memory, too many for an exact fit."""
    waiting = [array for array in arrays if is_lazy(array)]
    if not waiting:
        return False
    for shape in map(shape_of, waiting):
        require(
            not any(isinstance(n, float) and np.isnan(n) for n in shape),
            f"Rows must be counted before they are read, but the Dask array's shape is {shape}. Call "
            "compute_chunk_sizes() on it first.",
        )
    shape = shape_of(arrays[0])
    return int(np.prod(shape[:-1] if len(shape) > 1 else shape)) > largest_system()


def lazy_rows(value: Any, what: str, leading: tuple[int, ...], tail: tuple[int, ...] = ()) -> LazyArray:
    """An array of rows as a lazy one."""
    if isinstance(value, LazyArray):
        return value
    return LazyArray(_opened(value, what), leading, tail)


def lazy_columns(values: Any, leading: tuple[int, ...]) -> list[LazyArray]:
    """The columns of values `(n, T)` or `(chain, draw, T)`, each an array of its own, none of them read."""
    source = _opened(values, "values")
    if source.ndim == len(leading):
        return [lazy_rows(source, "values", leading)]
    require(
        tuple(source.shape[:-1]) == leading and source.shape[-1] > 0,
        f"values of shared tasks must have shape {(*leading, 'T')} with T of at least 1, but have shape "
        f"{tuple(source.shape)}. Put one column per integrand.",
    )
    return [LazyArray(source, leading, (), column) for column in range(source.shape[-1])]


def _opened(value: Any, what: str) -> Any:
    """What is sliced, of real numbers: of an xarray variable over Dask the Dask array, others as they are."""
    source = value if hasattr(value, "shape") and hasattr(value, "dtype") else np.asarray(value)
    whole(source, what)
    if _root(value) == "xarray":
        source = value.data if value.chunks is not None else _Sliced(value.variable)
    require(
        np.dtype(source.dtype).kind in NUMERIC_KINDS,
        f"{what} must be real numbers, but the array has dtype {source.dtype}. Convert it first.",
    )
    return source


class _Sliced:
    """An xarray variable over a file, of which slices are read and nothing is kept."""

    def __init__(self, variable: Any) -> None:
        self.variable = variable
        self.shape, self.dtype, self.ndim = variable.shape, variable.dtype, variable.ndim
        self.chunks = variable.encoding.get("chunks")

    def __getitem__(self, index: Any) -> np.ndarray:
        return self.variable[index].values


def _identity(source: Any) -> Any:
    """What is equal for an array and itself fetched or opened again: its place in its file, its name, else itself."""
    kind = _root(source)
    if isinstance(source, np.memmap):
        return _place_in_file(source)
    if isinstance(source, _Sliced):
        return _identity_of_variable(source.variable)
    if kind == "dask":
        return source.name
    if kind == "h5py" and source:  # of a closed file nothing is known any more
        return (source.file.filename, source.name)
    if kind == "zarr" and hasattr(source, "store") and hasattr(source, "path"):
        return (source.store, source.path)
    return id(source)


def _place_in_file(mapped: np.memmap) -> Any:
    """File, first byte and layout of a memory map; a copy of one, or one with changes of its own, is itself alone."""
    memory = getattr(mapped, "_mmap", None)
    if memory is None or mapped.mode == "c":
        return id(mapped)
    # A part of a map has the offset of the whole: where it begins its address tells.
    begins = mapped.ctypes.data - np.frombuffer(memory, np.uint8).ctypes.data + mapped.offset // PAGE * PAGE
    return (str(mapped.filename), begins, mapped.shape, mapped.strides, mapped.dtype.str)


def _identity_of_variable(variable: Any) -> Any:
    """What an xarray variable over a store of zarr shows of it, or the variable where that is not told."""
    layer: Any = getattr(variable, "_data", None)
    shown = []
    while hasattr(layer, "array"):
        part = getattr(getattr(layer, "key", None), "tuple", ())
        if not all(isinstance(index, slice | int) for index in part):
            return id(variable)
        shown.append((type(layer), repr(part)))
        layer = layer.array
    stored = getattr(layer, "_array", None)
    return (_identity(stored), *shown) if _root(stored) == "zarr" else id(variable)


def _root(value: Any) -> str:
    return type(value).__module__.split(".")[0]
