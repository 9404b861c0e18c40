"""The exact solution of one model on one design, where its size has its home: a device, compiled code, or LAPACK."""

from __future__ import annotations

import jax
import numpy as np
from jaxtyping import Float

from ..runtime.device import device_for
from ..stein.host_pairs import on_diagonal
from . import device as on_device
from . import native
from .dense import DenseSystem
from .design import Design
from .model import Model
from .system import System


def solve(model: Model, design: Design) -> System:
    """The exact joint solution of coefficients and means for fixed parameters (Theorem 4.1, reduced)."""
    device = device_for(design.size)
    if device is not None:
        return on_device.solve(model, design, device)
    compiled = native.likelihood(model, design)
    if compiled is not None:
        return compiled.system(jax.tree.leaves(model))
    covariance = design.gram.upper(model.kernel)
    if model.log_parts.size:
        design.rows_of_ridge.add_to(covariance, np.exp(model.log_parts))
    noise = _noise(model, design, np.diagonal(covariance))
    on_diagonal(covariance)[:] += noise
    return DenseSystem.of(covariance, design.columns, design.values)


def solve_matrix(
    covariance: Float[np.ndarray, "N N"], columns: Float[np.ndarray, "N q"], values: Float[np.ndarray, " N *m"]
) -> System:
    """The same for a covariance matrix that is given, whose memory may be taken over."""
    device = device_for(len(values))
    if device is not None:
        return on_device.DeviceSystem.of(covariance, columns, values, device)
    return DenseSystem.of(covariance, columns, values)


def _noise(model: Model, design: Design, diagonal: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    task = design.side.task
    mean = np.bincount(task, weights=diagonal, minlength=design.tasks) / design.counts
    return (np.exp(model.log_noise) * mean)[task] * design.noise_weight
