"""A covariance model: a Stein kernel plus noise, and the criteria by which its parameters are chosen.

Noise is stated relative to the mean of the kernel's diagonal, task by task, so that one lower bound keeps every
factorisation safe whatever the scale: W_ii = K_ii + r_t mean_t(diag K) / weight_i.
"""

from __future__ import annotations

from typing import Any, Literal

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from ..kernels.base import positive
from ..runtime.device import device_for
from ..stein import SteinKernel, SteinSum
from ..stein.host_gram import twice_above
from . import device as home
from .dense import DenseSystem
from .design import Design
from .system import System

Criterion = Literal["reml", "loo"]


class Model(eqx.Module):
    """A Stein kernel, the noise of each task relative to the mean variance there, variances of polynomial parts.

    The parts are those of the design's `ridge`; without any, the kernel stands alone.
    """

    kernel: Any  # SteinKernel | SteinSum
    log_noise: Float[Array, " T"]
    log_parts: Float[Array, " k"]

    def __init__(self, kernel: SteinKernel | SteinSum, noise: Any, parts: Any = ()) -> None:
        self.kernel = kernel
        self.log_noise = positive(np.atleast_1d(noise), "Relative noise")
        self.log_parts = positive(np.asarray(parts, dtype=float), "Variances of polynomial parts")


def solve(model: Model, design: Design) -> System:
    """The exact joint solution of coefficients and means for fixed parameters (Theorem 4.1, reduced)."""
    device = device_for(design.size)
    if device is not None:
        return home.solve(model, design, device)
    covariance = design.gram.upper(model.kernel)
    if model.log_parts.size:
        design.rows_of_ridge.add_to(covariance, np.exp(model.log_parts))
    noise = _noise(model, design, np.diagonal(covariance))
    diagonal_of(covariance)[:] += noise
    return DenseSystem(covariance, design.columns, design.values)


def solve_matrix(
    covariance: Float[np.ndarray, "N N"], columns: Float[np.ndarray, "N q"], values: Float[np.ndarray, " N *m"]
) -> System:
    """The same for a covariance matrix that is given, whose memory may be taken over."""
    device = device_for(len(values))
    if device is not None:
        return home.DeviceSystem.of(covariance, columns, values, device)
    return DenseSystem(covariance, columns, values)


def criterion_and_gradient(model: Model, design: Design, criterion: Criterion = "reml") -> tuple[float, Model]:
    """Minus the restricted or leave-one-out likelihood, and its derivative in every parameter of the model.

    One factorisation and one inverse: dL/dW is known in closed form, and pulled back through the Gram matrix.
    """
    device = device_for(design.size)
    if device is not None:
        return home.criterion_and_gradient(model, design, criterion, device)
    covariance, pull = design.gram.with_pullback(model.kernel)
    variances = np.exp(model.log_parts)
    parts = design.rows_of_ridge.matrices.reshape(variances.size, -1) if variances.size else np.zeros((0, 0))
    if variances.size:
        covariance += (variances @ parts).reshape(covariance.shape)
    diagonal = np.diagonal(covariance).copy()
    noise = _noise(model, design, diagonal)
    diagonal_of(covariance)[:] += noise
    system = DenseSystem(covariance, design.columns, design.values)
    del covariance
    if criterion == "reml":
        value, cotangent = system.restricted_likelihood(), system.restricted_likelihood_cotangent()
    else:
        value, cotangent = system.leave_one_out_likelihood(), system.leave_one_out_cotangent()
    slope = np.diagonal(cotangent) * noise
    by_task = np.bincount(design.side.task, weights=slope, minlength=design.tasks)
    # The noise follows the kernel's own diagonal, so its slope flows back into the diagonal too.
    totals = np.bincount(design.side.task, weights=diagonal, minlength=design.tasks)
    diagonal_of(cotangent)[:] += (by_task / totals)[design.side.task]
    gradient = pull(cotangent)
    by_part = variances * (parts @ twice_above(cotangent).ravel()) if variances.size else variances
    leaves = [*jax.tree.leaves(gradient), by_task, by_part]
    return value, jax.tree.unflatten(jax.tree.structure(model), leaves)


def diagonal_of(matrix: Float[np.ndarray, "N N"]) -> Float[np.ndarray, " N"]:
    """The diagonal, writable."""
    return np.einsum("ii->i", matrix)


def _noise(model: Model, design: Design, diagonal: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    task = design.side.task
    counts = np.bincount(task, minlength=design.tasks)
    mean = np.bincount(task, weights=diagonal, minlength=design.tasks) / counts
    return (np.exp(model.log_noise) * mean)[task] * design.noise_weight
