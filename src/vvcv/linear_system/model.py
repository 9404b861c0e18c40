"""A covariance model: a Stein kernel plus noise, and the criteria by which its parameters are chosen.

Noise is stated relative to the mean of the kernel's diagonal, task by task, so that one lower bound keeps every
factorisation safe whatever the scale: W_ii = K_ii + r_t mean_t(diag K) / weight_i.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from ..kernels.base import positive
from ..runtime.device import device_for
from ..runtime.precision import without_warnings
from ..stein import SteinKernel, SteinSum
from ..stein.host_gram import twice_above
from ..stein.host_pairs import on_diagonal
from . import device as home
from .dense import DenseSystem
from .design import Design
from .system import System

Criterion = Literal["reml", "loo"]


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


def criterion_and_gradient(model: Model, design: Design, criterion: Criterion = "reml") -> tuple[float, Model]:
    """Minus the restricted or leave-one-out likelihood, and its derivative in every parameter of the model."""
    leaves, structure = jax.tree.flatten(model)
    value, gradient, _ = Evaluation(model, design, criterion)(leaves)
    return value, jax.tree.unflatten(structure, gradient())


class Evaluation:
    """A criterion and its gradient for models of one form on one design, as leaves: what stays the same is made once.

    One factorisation for the value, and one inverse for the gradient, if that is asked for before the next evaluation:
    dL/dW is known in closed form, and pulled back through the Gram matrix. All of it happens in memory that the next
    evaluation uses again.

    With `scaled`, of all multiples of a model the likeliest stands for it: what it is to be multiplied by comes third.
    """

    def __init__(self, model: Model, design: Design, criterion: Criterion = "reml", scaled: bool = False) -> None:
        self._structure, self._design, self._criterion = jax.tree.structure(model), design, criterion
        # Of several integrands each has a scale of its own: the one that suits all best leads searches astray.
        self._scaled = scaled and criterion == "reml" and design.values.ndim == 1
        self.size, self._device = design.size, device_for(design.size)
        if self._device is not None:
            return
        self._gram, count = design.gram.form(model.kernel), model.log_parts.size
        self._parts = design.rows_of_ridge.matrices.reshape(count, -1) if count else None

    @without_warnings()
    def __call__(self, leaves: Sequence[np.ndarray]) -> tuple[float, Callable[[], list[np.ndarray]], float]:
        design, task = self._design, self._design.side.task
        if self._device is not None:
            model = jax.tree.unflatten(self._structure, leaves)
            found = home.criterion_and_gradient(model, design, self._criterion, self._device, self._scaled)
            value, gradient, self._scale = found
            return value, lambda: jax.tree.leaves(gradient), self._scale
        *kernel, log_noise, log_parts = leaves
        covariance, self._variances = self._gram.at(kernel), np.exp(log_parts)
        if self._parts is not None:
            covariance += (self._variances @ self._parts).reshape(covariance.shape)
        self._totals = np.bincount(task, weights=covariance.diagonal(), minlength=design.tasks)
        self._noise = (np.exp(log_noise) * self._totals / design.counts)[task] * design.noise_weight
        on_diagonal(covariance)[:] += self._noise
        self._system = DenseSystem(covariance, design.columns, design.values)
        if self._criterion == "loo":
            return self._system.leave_one_out_likelihood(), self.gradient, 1.0
        self._scale = self._system.best_scale if self._scaled else 1.0
        return self._system.restricted_likelihood(self._scale), self.gradient, self._scale

    @without_warnings()
    def gradient(self) -> list[np.ndarray]:
        """The gradient's leaves at the model that was evaluated last, once."""
        task, system = self._design.side.task, self._system
        reml = self._criterion == "reml"
        cotangent = system.restricted_likelihood_cotangent(self._scale) if reml else system.leave_one_out_cotangent()
        by_task = np.bincount(task, weights=cotangent.diagonal() * self._noise, minlength=self._design.tasks)
        # The noise follows the kernel's own diagonal, so its slope flows back into the diagonal too.
        on_diagonal(cotangent)[:] += (by_task / self._totals)[task]
        weights = twice_above(cotangent)
        by_part = self._variances if self._parts is None else self._variances * (self._parts @ weights.reshape(-1))
        return [*self._gram.pull(weights), by_task, by_part]


def _noise(model: Model, design: Design, diagonal: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    task = design.side.task
    mean = np.bincount(task, weights=diagonal, minlength=design.tasks) / design.counts
    return (np.exp(model.log_noise) * mean)[task] * design.noise_weight
