"""The exact system on a device, by JAX: covariance, factor and inverse stay there, in one array of N x N.

Rows are padded with ones on the diagonal of W and zeros elsewhere, so that few sizes are compiled; those rows change
neither solution nor determinant. Criteria and gradients are those of `model` and `dense`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.linalg import LinAlgError

from ..runtime.compilation import compiled
from ..runtime.once import cached_property
from ..runtime.precision import float64
from ..stein.tiled_gram import pull, tile_width
from . import blocked
from .design import Design
from .placed import Placed, PlacedDesign, covariance, entries, noise_slopes, place
from .system import System

#: Columns are filled up to a multiple of this where their number should not matter to what is compiled.
COLUMNS = 16


class DeviceSystem(System):
    """Solution of the joint linear system for one padded covariance matrix on a device, whose memory it takes over.

    >>> system = DeviceSystem.of(np.diag([1.0, 1.0, 2.0]), np.ones((3, 1)), np.array([1.0, 3.0, 2.0]))
    >>> system.coefficients
    array([2.])
    """

    @float64
    def __init__(
        self,
        padded: Float[Array, "P P"],
        columns: Float[np.ndarray, "N q"],
        values: Float[np.ndarray, " N *m"],
    ) -> None:
        self._size = len(values)
        right = np.zeros((len(padded), columns.shape[1] + values[0].size))
        right[: self._size] = np.column_stack([columns, values])
        self._factor, self._diagonal = blocked.factorise(padded, _block(len(padded)))
        solved, log_determinant = jax.device_get(_solved(self._factor, self._diagonal, right))
        if not (np.isfinite(log_determinant) and np.isfinite(solved).all()):
            raise LinAlgError("The covariance matrix is not positive definite.")
        super().__init__(solved[: self._size], columns, values, float(log_determinant))

    @classmethod
    @float64
    def of(
        cls,
        matrix: Float[np.ndarray, "N N"],
        columns: Float[np.ndarray, "N q"],
        values: Float[np.ndarray, " N *m"],
        device: jax.Device | None = None,
    ) -> DeviceSystem:
        """The same for a matrix that is on the host."""
        padded = np.eye(blocked.padded_size(len(matrix)))
        padded[: len(matrix), : len(matrix)] = matrix
        return cls(jax.device_put(padded, device), columns, values)

    @cached_property
    def _triangle(self) -> Float[Array, "P P"]:
        """L^-1 in the place of the factor, which is gone afterwards."""
        factor = self._factor
        del self._factor
        return blocked.triangle_inverse(factor, self._diagonal)

    @float64
    def _inverse_squares(self, rows: Float[np.ndarray, "N k"]) -> Float[np.ndarray, " k"]:
        missing = (len(self._triangle) - len(rows), -rows.shape[1] % COLUMNS)
        padded = np.pad(rows, [(0, more) for more in missing])
        return np.asarray(_squares_of_columns(self._triangle @ padded))[: rows.shape[1]]

    @float64
    def _inverse_diagonal(self) -> Float[np.ndarray, " N"]:
        return np.asarray(_squares_of_columns(self._triangle))[: self._size]

    @float64
    def _inverse_blocks(self, folds: Int[np.ndarray, "f k"]) -> Float[np.ndarray, "f k k"]:
        return np.array([self._inverse_block(rows) for rows in folds])

    def _inverse_block(self, rows: Int[np.ndarray, " k"]) -> Float[np.ndarray, "k k"]:
        padded = np.pad(rows, (0, -len(rows) % blocked.LEAF))  # folds of nearly equal size are one compilation
        return np.asarray(_product_of_columns(self._triangle, padded))[: len(rows), : len(rows)]


@float64
def solve(model: Any, design: Design, device: jax.Device) -> DeviceSystem:
    """The joint solution for fixed parameters."""
    covariates = place(design, device).covariates
    return DeviceSystem(covariance(model, covariates, _width(model, covariates))[0], design.columns, design.values)


@float64
def criterion_and_gradient(
    model: Any, design: Design, criterion: str, device: jax.Device, scaled: bool = False
) -> tuple[float, Any, float]:
    """Minus the restricted or leave-one-out likelihood and its derivative; nothing else of size comes back to the host.

    With `scaled` they are those of the model times its likeliest factor, which comes third.
    """
    placed = place(design, device)
    rows = len(placed.values)
    evaluated = _evaluated_at_once if rows <= blocked.BLOCK else _evaluated
    found = evaluated(model, placed, _width(model, placed.covariates), criterion, scaled)
    value, gradient, factor = jax.device_get(found)
    if not (np.isfinite(value) and 0 < factor < np.inf):
        raise LinAlgError("The covariance matrix is not positive definite, or the columns leave nothing of the values.")
    return float(value), gradient, float(factor)


def _evaluated(model: Any, placed: PlacedDesign, width: int, criterion: str, scaled: bool) -> tuple[Array, Any, Array]:
    """The criterion and its derivative by a few programs, each of which gives up the memory of what it was given."""
    covariates, columns, values = placed
    matrix, diagonal, noise = covariance(model, covariates, width)
    factor, corners = blocked.factorise(matrix, _block(len(matrix)))
    freedom = jnp.sum(covariates.rows.present) - columns.shape[1]
    value, reducer, weights, best = _restricted_likelihood(factor, corners, columns, values, freedom, scaled)
    inverse = blocked.product_of_inverse(blocked.triangle_inverse(factor, corners), corners.shape[1])
    if criterion == "reml":
        cotangent, update, scale = inverse, _side_by_side(reducer, weights / jnp.sqrt(best)), 0.5 * weights.shape[1]
    else:
        value, cotangent = _leave_one_out(inverse, reducer, weights)
        update, scale = jnp.zeros((len(inverse), 0)), 1.0
    return value, _pulled(model, covariates, width, cotangent, update, scale, diagonal, noise), best


def _solution(factor: Array, corners: Array, right: Array) -> tuple[Array, Array]:
    """W^-1 b and log |W|."""
    solved = blocked.solve_upper(factor, corners, blocked.solve_lower(factor, corners, right))
    return solved, 2 * jnp.sum(jnp.log(jnp.diagonal(factor)))


@partial(compiled, static_argnums=5)
def _restricted_likelihood(
    factor: Array, corners: Array, columns: Array, values: Array, freedom: Array, scaled: bool
) -> tuple[Array, Array, Array, Array]:
    """The criterion, W^-1 A N^-T with N N' = A' W^-1 A, P y, and what W is multiplied by."""
    (_, q), (_, m) = columns.shape, values.shape
    solved, log_determinant = _solution(factor, corners, jnp.concatenate([columns, values], axis=1))
    whitened, target = solved[:, :q], solved[:, q:]
    normal = jnp.linalg.cholesky(columns.T @ whitened)
    weights = target - whitened @ jax.scipy.linalg.cho_solve((normal, True), columns.T @ target)
    reducer = jax.scipy.linalg.solve_triangular(normal, whitened.T, lower=True).T
    both = log_determinant + 2 * jnp.sum(jnp.log(jnp.diagonal(normal)))
    quadratic = jnp.sum(values * weights)
    best = quadratic / (m * jnp.maximum(freedom, 1)) if scaled else jnp.ones(())
    return 0.5 * (quadratic / best + m * (both + freedom * jnp.log(best))), reducer, weights, best


@partial(compiled, donate_argnums=0)
def _leave_one_out(inverse: Array, reducer: Array, weights: Array) -> tuple[Array, Array]:
    """The criterion and its derivative in W, as in `DenseSystem.leave_one_out_cotangent`."""
    p = jnp.tril(inverse) + jnp.tril(inverse, -1).T - reducer @ reducer.T
    diagonal = jnp.diagonal(p)[:, None]
    residual = weights / diagonal
    weight = jnp.sum(-0.5 / diagonal - 0.5 * residual**2, axis=1)
    pulled = p @ residual
    cotangent = -(p * weight) @ p - 0.5 * (pulled @ weights.T + weights @ pulled.T)
    return 0.5 * jnp.sum(-jnp.log(diagonal) + weights * residual), cotangent


@partial(compiled, static_argnums=2)
def _pulled(
    model: Any,
    placed: Placed,
    width: int,
    matrix: Array,
    update: Array,
    scale: Array,
    diagonal: Array,
    noise: Array,
) -> Any:
    """The gradient in the model's parameters, given dL/dW = scale (matrix - update update')."""
    slope = scale * (jnp.diagonal(matrix) - jnp.sum(update**2, axis=1))
    by_task, on_diagonal = noise_slopes(placed, slope * noise, diagonal)

    def cotangent(i: Array, j: Array) -> Array:
        left, right = (jax.lax.dynamic_slice_in_dim(update, k * width, width) for k in (i, j))
        tile = scale * (jax.lax.dynamic_slice(matrix, (i * width, j * width), (width, width)) - left @ right.T)
        own = jax.lax.dynamic_slice_in_dim(on_diagonal, i * width, width)
        return tile + jnp.where((i == j) & jnp.eye(width, dtype=bool), own, 0.0)

    gradient = pull(partial(entries, placed.scale), model, placed.rows, width, cotangent)
    leaves = [*jax.tree.leaves(gradient.kernel), by_task, gradient.log_parts]
    return jax.tree.unflatten(jax.tree.structure(model), leaves)


@compiled
def _side_by_side(reducer: Array, weights: Array) -> Array:
    """What is taken from W^-1 to make dL/dW, U U'; a few columns of zeros make few widths of it."""
    update = jnp.concatenate([reducer, weights / np.sqrt(weights.shape[1])], axis=1)
    return jnp.pad(update, ((0, 0), (0, -update.shape[1] % COLUMNS)))


@compiled
def _squares_of_columns(triangle: Array) -> Array:
    return jnp.sum(triangle**2, axis=0)


@compiled
def _product_of_columns(triangle: Array, rows: Array) -> Array:
    columns = triangle[:, rows]
    return columns.T @ columns


def _block(size: int) -> int:
    return min(size, blocked.BLOCK)


def _width(model: Any, placed: Placed) -> int:
    return tile_width(model.kernel, len(placed.noise_weight))


_solved = compiled(_solution)

#: The same in one program: where matrices are small, to start each of many takes longer than what it does.
_evaluated_at_once = compiled(_evaluated, static_argnums=(2, 3, 4))
