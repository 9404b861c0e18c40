"""The free numbers of a model: all its array leaves as one vector, some tied together, each within bounds.

Ties let one compiled objective serve one lengthscale for all dimensions and one lengthscale each: only the map from
free numbers to leaves changes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int

from ..linear_system.model import Model
from .descent import Box

#: Bounds of each kind of leaf, in standard coordinates and in the leaf's own (mostly logarithmic) scale: beyond them
#: kernels are constant or tell no point from another, and only rounding decides.
BOUNDS: dict[str, tuple[float, float]] = {
    "log_lengthscale": (-4.0, 7.0),
    "log_axes": (-20.0, 10.0),
    "log_shape": (-3.0, 5.0),
    "log_diagonal": (-9.0, 6.0),
    "log_variance": (-20.0, 10.0),
    "log_amplitude": (-10.0, 10.0),
    "log_parts": (-20.0, 8.0),
    "log_nugget": (-18.0, 2.0),
    "log_offset": (-14.0, 3.0),
    "below": (-50.0, 50.0),
    "factor": (-50.0, 50.0),
    "log_c": (-6.0, 6.0),
}


#: Width of the grid that searches move on, and of the finer one of a factor of B, small remainders of which tell tasks
#: apart: at 2^-12 errors of the borehole are 1.2 times as large as at 2^-15, at 2^-8 twice; at 2^-17 the last bit moves
#: error bars by up to 26 %, at 2^-15 by 9 %, and with no grid by 50 %. Between 2^-6 and 2^-10 the first matters little.
GRID, FINE_GRID = 2.0**-8, 2.0**-15
OF_FACTORS = ("below", "factor", "log_diagonal")

#: Leaves that multiply a covariance, all together: with them a model is as large as its values are.
SCALES = ("log_axes", "log_parts")


class Parameters:
    """A two-way map between a model and the vector of its free parameters.

    >>> from vvcv.kernels import SquaredExponential
    >>> from vvcv.stein import SteinKernel
    >>> model = Model(SteinKernel(SquaredExponential(np.ones(3)), axes=np.ones(3)), noise=1e-3)
    >>> Parameters(model, tied={"log_lengthscale"}).free(model).shape
    (5,)
    """

    def __init__(self, model: Model, tied: Collection[str] = (), noise_floor: float = 1e-13) -> None:
        with_path, self._tree = jax.tree_util.tree_flatten_with_path(model)
        self.names = [_field_name(path) for path, _ in with_path]
        shapes = [np.shape(leaf) for _, leaf in with_path]
        sizes = [int(np.prod(shape)) for shape in shapes]
        ends = np.cumsum(sizes)
        self._pieces = [(slice(end - size, end), shape) for end, size, shape in zip(ends, sizes, shapes, strict=True)]
        #: Of each entry of the leaves, which free number it is.
        self.index = _tie(self.names, sizes, tied)
        #: How many numbers are free.
        self.count = int(self.index.max(initial=-1)) + 1
        multiplies = np.repeat([name in SCALES for name in self.names], sizes)
        self._multiplies = np.zeros(self.count, dtype=bool)
        self._multiplies[self.index] = multiplies
        bounds = {**BOUNDS, "log_noise": (np.log(noise_floor), 2.0)}
        per_entry = [
            bounds.get(name, (-50.0, 50.0)) for name, size in zip(self.names, sizes, strict=True) for _ in range(size)
        ]
        widths = np.repeat([FINE_GRID if name in OF_FACTORS else GRID for name in self.names], sizes)
        self.box = Box(*np.zeros((3, self.count)))
        for whole, entries in zip(self.box, [*np.array(per_entry).reshape(-1, 2).T, widths], strict=True):
            whole[self.index] = entries

    def free(self, model: Any) -> Float[np.ndarray, " p"]:
        """The free vector of a model; tied entries are averaged."""
        counts = np.bincount(self.index, minlength=self.count)
        return self.gradient(model) / counts

    def gradient(self, model: Any) -> Float[np.ndarray, " p"]:
        """The gradient in the free vector, from a gradient in the shape of the model; tied entries add up."""
        return self.slope(jax.tree.leaves(model))

    def slope(self, leaves: Sequence[Any]) -> Float[np.ndarray, " p"]:
        """The same from its leaves."""
        entries = np.concatenate([np.reshape(leaf, -1) for leaf in leaves])
        return np.bincount(self.index, weights=entries, minlength=self.count)

    def model(self, free: Float[np.ndarray, " p"]) -> Model:
        """The model that a free vector stands for."""
        return jax.tree.unflatten(self._tree, self.leaves(free))

    def multiplied(self, free: Float[np.ndarray, " p"], factor: float) -> Model:
        """The model times a factor: weights of its axes, and variances of its parts, as far as bounds allow."""
        entries = np.where(self._multiplies, np.log(factor), 0.0) + free
        return self.model(np.clip(entries, self.box.low, self.box.high))

    def leaves(self, free: Float[np.ndarray, " p"]) -> list[np.ndarray]:
        """Its leaves alone."""
        entries = np.asarray(free, dtype=float)[self.index]
        return [entries[piece].reshape(shape) for piece, shape in self._pieces]


def noise_floor(rows: int) -> float:
    """The smallest relative noise with which a Cholesky factorisation of so many rows is safe in float64.

    >>> noise_floor(10)
    1e-13
    """
    return max(1e-13, 10 * rows * np.finfo(float).eps)


def _tie(names: list[str], sizes: list[int], tied: Collection[str]) -> Int[np.ndarray, " P"]:
    index, count = [], 0
    for name, size in zip(names, sizes, strict=True):
        together = name in tied
        index.append(np.full(size, count) if together else np.arange(count, count + size))
        count += (1 if size else 0) if together else size
    return np.concatenate(index).astype(int)


def _field_name(path: tuple) -> str:
    return next((key.name for key in reversed(path) if hasattr(key, "name")), "")
