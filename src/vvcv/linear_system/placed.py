"""A design on a device, and the covariance of a model between its rows: W = K_0 + parts + noise, as in `model`."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..kernels import Side
from ..runtime.compilation import compiled
from ..stein import ROWS, Ridge
from ..stein.tiled_gram import kernel_block, lower
from .blocked import padded_size
from .design import Design


class Rows(NamedTuple):
    """What entries of a covariance matrix are made of, row by row; rows that are not `present` are padding."""

    side: Side
    ridge: dict[str, Float[Any, "P d"]]
    present: Bool[Any, " P"]


class Placed(NamedTuple):
    """What the covariance of a design's rows is made of, on a device."""

    rows: Rows
    scale: Float[Any, " k"]
    noise_weight: Float[Any, " P"]
    counts: Int[Any, " T"]


class PlacedDesign(NamedTuple):
    """A design whose arrays are on a device, padded."""

    covariates: Placed
    columns: Float[Any, "P q"]
    values: Float[Any, "P m"]


def place(design: Design, device: jax.Device) -> PlacedDesign:
    """The design on a device; it goes there once."""
    kept = _PLACED.setdefault(design, {})
    if device not in kept:
        kept[device] = jax.device_put(_padded(design), device)
    return kept[device]


@partial(compiled, static_argnums=2)
def covariance(
    model: Any, placed: Placed, width: int
) -> tuple[Float[Array, "P P"], Float[Array, " P"], Float[Array, " P"]]:
    """W on and below its diagonal, its diagonal without the noise, and the noise."""
    matrix = lower(partial(entries, placed.scale), model, placed.rows, width)
    diagonal = jnp.diagonal(matrix)
    mean = _by_task(placed, diagonal) / placed.counts
    present = placed.rows.present
    noise = jnp.where(present, (jnp.exp(model.log_noise) * mean)[placed.rows.side.task] * placed.noise_weight, 0.0)
    index = jnp.arange(len(matrix))
    return matrix.at[index, index].add(jnp.where(present, noise, 1.0)), diagonal, noise


def entries(scale: Float[Any, " k"], model: Any, left: Rows, right: Rows) -> Float[Array, "n m"]:
    """Entries of the covariance without its noise between two parts of the rows (traceable)."""
    total = kernel_block(model.kernel, left.side, right.side)
    if model.log_parts.size:
        mine, theirs = (Ridge(**part.ridge, scale=scale) for part in (left, right))
        total += mine.weighted(jnp.exp(model.log_parts), theirs)
    return jnp.where(left.present[:, None] & right.present[None, :], total, 0.0)


def noise_slopes(
    placed: Placed, slope: Float[Array, " P"], diagonal: Float[Array, " P"]
) -> tuple[Float[Array, " T"], Float[Array, " P"]]:
    """The slope in each task's noise, and what flows back into the diagonal, whose mean the noise follows."""
    by_task = _by_task(placed, slope)
    back = (by_task / _by_task(placed, diagonal))[placed.rows.side.task]
    return by_task, jnp.where(placed.rows.present, back, 0.0)


def _by_task(placed: Placed, numbers: Float[Array, " P"]) -> Float[Array, " T"]:
    present = jnp.where(placed.rows.present, numbers, 0.0)
    return jax.ops.segment_sum(present, placed.rows.side.task, len(placed.counts))


def _padded(design: Design) -> PlacedDesign:
    size = padded_size(design.size)

    def pad(array: np.ndarray) -> np.ndarray:
        array = np.asarray(array)
        return np.concatenate([array, np.zeros((size - len(array), *array.shape[1:]), array.dtype)])

    ridge = design.ridge
    names = () if ridge is None else ROWS
    parts = {name: pad(getattr(ridge, name)) for name in names}
    rows = Rows(Side(*map(pad, design.side)), parts, pad(np.ones(design.size, dtype=bool)))
    scale = np.ones(0) if ridge is None else ridge.scale
    counts = np.bincount(design.side.task, minlength=design.tasks)
    covariates = Placed(rows, scale, pad(design.noise_weight), counts)
    return PlacedDesign(covariates, pad(design.columns), pad(design.values.reshape(design.size, -1)))


_PLACED: WeakKeyDictionary[Design, dict[jax.Device, PlacedDesign]] = WeakKeyDictionary()
