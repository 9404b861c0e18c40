"""Task matrices B, B_tt' the covariance of outputs t and t' (paper, section 3.2, special cases I and II).

Every form is given by loadings, B = R R' with one row of R per task, so that an expanded B over all rows of a Gram
matrix is one more matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from scipy.linalg import block_diag

from .base import Kernel, positive


class Coregionalization(eqx.Module):
    """A positive semi-definite T x T matrix given by its loadings."""

    @property
    def count(self) -> int:
        """T, the number of tasks."""
        raise NotImplementedError

    def loadings(self) -> Float[Array, "T R"]:
        """R with B = R R'."""
        raise NotImplementedError

    def matrix(self) -> Float[Array, "T T"]:
        """B itself."""
        loadings = self.loadings()
        return loadings @ loadings.T

    def on_host(self) -> tuple[Float[np.ndarray, "T T"], Callable[[np.ndarray], list[np.ndarray]]] | None:
        """B in NumPy and the map from dL/dB to the gradient's leaves, for forms that need no compilation."""
        return None

    def free_entries(self) -> Bool[np.ndarray, "T T"]:
        """The entries that an exact step for B may move, where they may be any positive semi-definite blocks."""
        raise ValueError(
            f"Exact steps for B need entries that move freely, but a {type(self).__name__} ties them together. Use "
            "BlockCoordinateDescent, or a Full, Diagonal or Blocks task matrix."
        )


class Fixed(Coregionalization):
    """A given B, never moved by selection: any symmetric positive semi-definite matrix, singular ones included.

    >>> Fixed([[1.0, 0.5], [0.5, 1.0]]).count
    2
    """

    root: tuple[tuple[float, ...], ...] = eqx.field(static=True)

    def __init__(self, matrix: Any) -> None:
        matrix = _symmetric(matrix)
        values, vectors = np.linalg.eigh(matrix)
        if values[0] < -1e-10 * max(abs(values[-1]), 1e-300):
            raise ValueError(
                f"B must be positive semi-definite, but has the eigenvalue {values[0]:g}. A covariance of tasks, "
                "such as a correlation matrix times standard deviations, is."
            )
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        self.root = tuple(tuple(float(v) for v in row) for row in root)

    @property
    def count(self) -> int:
        return len(self.root)

    def loadings(self) -> Float[Array, "T R"]:
        return jnp.asarray(self.root)

    def free_entries(self) -> Bool[np.ndarray, "T T"]:
        return np.zeros((self.count, self.count), dtype=bool)


class Diagonal(Coregionalization):
    """B = diag(v): no transfer between tasks, one variance each.

    >>> Diagonal([4.0, 9.0]).matrix().round(4).tolist()
    [[4.0, 0.0], [0.0, 9.0]]
    """

    log_variance: Float[Array, " T"]

    def __init__(self, variances: Any) -> None:
        self.log_variance = positive(np.atleast_1d(variances), "Variances of tasks")

    @property
    def count(self) -> int:
        return self.log_variance.shape[0]

    def loadings(self) -> Float[Array, "T R"]:
        return jnp.diag(jnp.exp(0.5 * self.log_variance))

    def free_entries(self) -> Bool[np.ndarray, "T T"]:
        return np.eye(self.count, dtype=bool)


class Full(Coregionalization):
    """B = L L' with L lower triangular and exponential diagonal (paper, section 4).

    >>> Full([[4.0, 2.0], [2.0, 2.0]]).loadings().round(4).tolist()
    [[2.0, 0.0], [1.0, 1.0]]
    """

    log_diagonal: Float[Array, " T"]
    below: Float[Any, " T*(T-1)/2"]

    def __init__(self, matrix: Any) -> None:
        try:
            factor = np.linalg.cholesky(_symmetric(matrix))
        except np.linalg.LinAlgError:
            raise ValueError(
                "Full needs a positive definite B to start from, but this one is singular or indefinite. "
                "Use Fixed for a singular B, or LowRank."
            ) from None
        self.log_diagonal = np.log(np.diag(factor))
        self.below = factor.astype(float)[np.tril_indices(len(factor), -1)]

    @property
    def count(self) -> int:
        return self.log_diagonal.shape[0]

    def loadings(self) -> Float[Array, "T R"]:
        size = self.log_diagonal.shape[0]
        factor = jnp.diag(jnp.exp(self.log_diagonal))
        return factor.at[np.tril_indices(size, -1)].set(self.below)

    def on_host(self) -> tuple[Float[np.ndarray, "T T"], Callable[[np.ndarray], list[np.ndarray]]]:
        factor, strictly_below = np.diag(np.exp(self.log_diagonal)), np.tril_indices(self.count, -1)
        factor[strictly_below] = self.below

        def pull(slope: Float[np.ndarray, "T T"]) -> list[np.ndarray]:
            of_factor = (slope + slope.T) @ factor
            return [np.diag(of_factor) * np.diag(factor), of_factor[strictly_below]]

        return factor @ factor.T, pull

    def free_entries(self) -> Bool[np.ndarray, "T T"]:
        return np.ones((self.count, self.count), dtype=bool)


class Blocks(Coregionalization):
    """A block-diagonal B: groups of neighbouring tasks share, each group in its own form.

    >>> Blocks([Fixed(np.ones((2, 2))), Diagonal([1.0])]).count
    3
    """

    blocks: tuple[Coregionalization, ...]

    def __init__(self, blocks: Sequence[Any]) -> None:
        if len(blocks) == 0:
            raise ValueError("Blocks needs at least one block, but the list is empty.")
        self.blocks = tuple(block if isinstance(block, Coregionalization) else Full(block) for block in blocks)

    @property
    def count(self) -> int:
        return sum(block.count for block in self.blocks)

    def loadings(self) -> Float[Array, "T R"]:
        return jax.scipy.linalg.block_diag(*(block.loadings() for block in self.blocks))

    def free_entries(self) -> Bool[np.ndarray, "T T"]:
        return block_diag(*(block.free_entries() for block in self.blocks)).astype(bool)


class LowRank(Coregionalization):
    """B = U U' + diag(v) with U of few columns: for many tasks.

    >>> LowRank([[1.0], [2.0]], [1.0, 1.0]).matrix().round(4).tolist()
    [[2.0, 2.0], [2.0, 5.0]]
    """

    factor: Float[Any, "T rank"]
    log_variance: Float[Array, " T"]

    def __init__(self, factor: Any, variances: Any) -> None:
        self.factor = np.atleast_2d(np.asarray(factor, dtype=float))
        if not np.isfinite(self.factor).all():
            raise ValueError("The factor of LowRank must be finite numbers, one row per task.")
        self.log_variance = positive(np.atleast_1d(variances), "Variances of tasks")
        if self.factor.shape[0] != self.log_variance.shape[0]:
            raise ValueError(
                f"LowRank needs one row of the factor per variance, but has {self.factor.shape[0]} rows and "
                f"{self.log_variance.shape[0]} variances."
            )

    @property
    def count(self) -> int:
        return self.factor.shape[0]

    def loadings(self) -> Float[Array, "T R"]:
        return jnp.concatenate([self.factor, jnp.diag(jnp.exp(0.5 * self.log_variance))], axis=1)


class Descriptors(Coregionalization):
    """B_tt' = a_t a_t' kappa(tau_t, tau_t'): a kernel over what describes the tasks (temperature, time, fidelity).

    >>> from vvcv.kernels import SquaredExponential
    >>> np.asarray(Descriptors([0.0, 1.0], SquaredExponential(), nugget=0.5).matrix(), dtype=float).round(4)
    array([[1.5   , 0.6065],
           [0.6065, 1.5   ]])
    """

    kernel: Kernel
    log_amplitude: Float[Array, " T"]
    log_nugget: Float[Array, ""]
    descriptors: tuple[tuple[float, ...], ...] = eqx.field(static=True)

    def __init__(self, descriptors: Any, kernel: Kernel, amplitudes: Any = None, nugget: Any = 1e-6) -> None:
        tau = np.asarray(descriptors, dtype=float)
        tau = tau[:, None] if tau.ndim == 1 else tau
        if not np.isfinite(tau).all():
            raise ValueError("Task descriptors must be finite numbers, one row per task.")
        self.descriptors = tuple(tuple(float(v) for v in row) for row in tau)
        self.kernel = kernel
        self.log_amplitude = positive(np.ones(len(tau)) if amplitudes is None else amplitudes, "Amplitudes of tasks")
        self.log_nugget = positive(nugget, "The nugget of a task kernel")
        if np.shape(self.log_amplitude) != (len(tau),):
            raise ValueError(
                f"Descriptors needs one amplitude per task, but has shape {np.shape(self.log_amplitude)} for "
                f"{len(tau)} tasks."
            )

    @property
    def count(self) -> int:
        return len(self.descriptors)

    def loadings(self) -> Float[Array, "T R"]:
        return jnp.linalg.cholesky(self.matrix())

    def matrix(self) -> Float[Array, "T T"]:
        alike, amplitude = (
            likeness(self.kernel, self.log_nugget, jnp.asarray(self.descriptors)),
            jnp.exp(self.log_amplitude),
        )
        return amplitude[:, None] * alike * amplitude[None, :]


def likeness(kernel: Kernel, log_nugget: Float[Array, ""], tau: Float[Array, "T k"]) -> Float[Array, "T T"]:
    """kappa(tau_t, tau_t') plus a nugget on the diagonal: how alike tasks are that descriptors tau tell apart.

    The nugget is a parameter of the model, the part of each task that neighbours do not share, not a jitter.
    """
    kappa = jax.vmap(lambda a: jax.vmap(lambda b: kernel(a, b))(tau))(tau)
    return kappa + jnp.exp(log_nugget) * jnp.eye(len(tau))


def correlation(matrix: Float[np.ndarray, "T T"]) -> Float[np.ndarray, "T T"]:
    """The correlation matrix of a covariance; tasks with zero variance correlate only with themselves.

    >>> correlation(np.array([[4.0, 1.0], [1.0, 1.0]]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    scale = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    safe = np.where(scale > 0, scale, 1.0)
    result = matrix / safe[:, None] / safe[None, :]
    np.fill_diagonal(result, 1.0)
    return np.clip(result, -1.0, 1.0)


def _symmetric(matrix: Any) -> Float[np.ndarray, "T T"]:
    matrix = np.atleast_2d(np.asarray(matrix, dtype=float))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"B must be a square matrix, one row per task, but has shape {matrix.shape}.")
    if not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T, rtol=1e-8, atol=0):
        raise ValueError("B must be finite and symmetric: B_tt' is a covariance between tasks.")
    return 0.5 * (matrix + matrix.T)
