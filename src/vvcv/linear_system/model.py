"""A covariance model: a Stein kernel plus noise, and its solution.

Noise is stated relative to the mean of the kernel's diagonal, task by task, so that one lower bound keeps every
factorisation safe whatever the scale: W_ii = K_ii + r_t mean_t(diag K) / weight_i.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from ..kernels.base import positive
from ..runtime.device import device_for
from ..stein import SteinKernel, SteinSum
from ..stein.host_pairs import on_diagonal
from . import device as home
from .dense import DenseSystem
from .design import Design
from .system import System


class Model(eqx.Module):
    """A Stein kernel, the noise of each task relative to the mean variance there, variances of parts.

    The parts are those of the design's `ridge`; without any, the kernel stands alone.
    """

    kernel: Any  # SteinKernel | SteinSum
    log_noise: Float[Array, " T"]
    log_parts: Float[Array, " k"]

    def __init__(self, kernel: SteinKernel | SteinSum, noise: Any, parts: Any = ()) -> None:
        self.kernel = kernel
        self.log_noise = positive(np.atleast_1d(noise), "Relative noise")
        self.log_parts = positive(np.asarray(parts, dtype=float), "Variances of parts")


def solve(model: Model, design: Design) -> System:
    """The exact joint solution of coefficients and means for fixed parameters (Theorem 4.1, reduced)."""
    device = device_for(design.size)
    if device is not None:
        return home.solve(model, design, device)
    covariance = design.gram.upper(model.kernel)
    if model.log_parts.size:
        design.rows_of_ridge.add_to(covariance, np.exp(model.log_parts))
    noise = _noise(model, design, np.diagonal(covariance))
    on_diagonal(covariance)[:] += noise
    return DenseSystem(covariance, design.columns, design.values)


def solve_matrix(
    covariance: Float[np.ndarray, "N N"], columns: Float[np.ndarray, "N q"], values: Float[np.ndarray, " N *m"]
) -> System:
    """The same for a covariance matrix that is given, whose memory may be taken over."""
    device = device_for(len(values))
    if device is not None:
        return home.DeviceSystem.of(covariance, columns, values, device)
    return DenseSystem(covariance, columns, values)


def _noise(model: Model, design: Design, diagonal: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    task = design.side.task
    mean = np.bincount(task, weights=diagonal, minlength=design.tasks) / design.counts
    return (np.exp(model.log_noise) * mean)[task] * design.noise_weight
