"""The criteria by which a model's parameters are chosen, with gradients: what a search asks for hundreds of times.

Where a model is evaluated is its home: a device, compiled code (`native`), or NumPy and LAPACK here. What stays the
same for all models of one form on one design is made once, memory included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import jax
import numpy as np

from ..runtime.device import device_for
from ..runtime.precision import without_warnings
from ..stein.host_gram import twice_above
from ..stein.host_pairs import on_diagonal
from . import device as on_device
from . import native
from .dense import DenseSystem
from .design import Design
from .model import Model

Criterion = Literal["reml", "loo"]

Leaves = Sequence[np.ndarray]


def criterion_and_gradient(model: Model, design: Design, criterion: Criterion = "reml") -> tuple[float, Model]:
    """Minus the restricted or leave-one-out likelihood, and its derivative in every parameter of the model."""
    leaves, structure = jax.tree.flatten(model)
    value, gradient, _ = Evaluation(model, design, criterion)(leaves)
    return value, jax.tree.unflatten(structure, gradient())


class Evaluation:
    """A criterion and its gradient for models of one form on one design, as leaves.

    The gradient is there to be asked for, once, before the next evaluation. With `scaled`, of all multiples of a model
    the likeliest stands for it: what it is to be multiplied by comes third.
    """

    def __init__(self, model: Model, design: Design, criterion: Criterion = "reml", scaled: bool = False) -> None:
        self.size = design.size
        # Of several integrands each has a scale of its own: the one that suits all best leads searches astray.
        scaled = scaled and criterion == "reml" and design.values.ndim == 1
        self._home = _home(model, design, criterion, scaled)

    @without_warnings()
    def __call__(self, leaves: Leaves) -> tuple[float, Callable[[], list[np.ndarray]], float]:
        value, scale = self._home.at(leaves)
        return value, self.gradient, scale

    @without_warnings()
    def gradient(self) -> list[np.ndarray]:
        """The gradient's leaves at the model that was evaluated last, once."""
        return self._home.gradient()

    @property
    def compiled(self) -> native.Compiled | None:
        """The same for a search that is compiled itself, if it is compiled, as long as this is kept."""
        return self._home.compiled if isinstance(self._home, native.NativeLikelihood) else None


class _Home(Protocol):
    """Where models are evaluated."""

    def at(self, leaves: Leaves) -> tuple[float, float]:
        """The criterion of a model, and by what it is multiplied."""
        ...

    def gradient(self) -> list[np.ndarray]:
        """The gradient's leaves there, once."""
        ...


def _home(model: Model, design: Design, criterion: Criterion, scaled: bool) -> _Home:
    device = device_for(design.size)
    if device is not None:
        return _OnDevice(model, design, criterion, scaled, device)
    compiled = native.likelihood(model, design, scaled) if criterion == "reml" else None
    return compiled or _OnHost(model, design, criterion, scaled)


class _OnDevice:
    """In one JAX program or a few, nothing of size moved to the host."""

    def __init__(self, model: Model, design: Design, criterion: Criterion, scaled: bool, device: jax.Device) -> None:
        self._structure, self._rest = jax.tree.structure(model), (design, criterion, device, scaled)

    def at(self, leaves: Leaves) -> tuple[float, float]:
        model = jax.tree.unflatten(self._structure, leaves)
        value, self._gradient, scale = on_device.criterion_and_gradient(model, *self._rest)
        return value, scale

    def gradient(self) -> list[np.ndarray]:
        return jax.tree.leaves(self._gradient)


class _OnHost:
    """In NumPy: one factorisation for the value, one inverse for the gradient.

    dL/dW is known in closed form, and pulled back through the Gram matrix.
    """

    def __init__(self, model: Model, design: Design, criterion: Criterion, scaled: bool) -> None:
        self._design, self._criterion, self._scaled = design, criterion, scaled
        self._gram, count = design.gram.form(model.kernel), model.log_parts.size
        self._parts = design.rows_of_ridge.matrices.reshape(count, -1) if count else None

    def at(self, leaves: Leaves) -> tuple[float, float]:
        design, task = self._design, self._design.side.task
        *kernel, log_noise, log_parts = leaves
        covariance, self._variances = self._gram.at(kernel), np.exp(log_parts)
        if self._parts is not None:
            covariance += (self._variances @ self._parts).reshape(covariance.shape)
        self._totals = np.bincount(task, weights=covariance.diagonal(), minlength=design.tasks)
        self._noise = (np.exp(log_noise) * self._totals / design.counts)[task] * design.noise_weight
        on_diagonal(covariance)[:] += self._noise
        self._system = DenseSystem.of(covariance, design.columns, design.values)
        if self._criterion == "loo":
            return self._system.leave_one_out_likelihood(), 1.0
        self._scale = self._system.best_scale if self._scaled else 1.0
        return self._system.restricted_likelihood(self._scale), self._scale

    def gradient(self) -> list[np.ndarray]:
        task, system = self._design.side.task, self._system
        reml = self._criterion == "reml"
        cotangent = system.restricted_likelihood_cotangent(self._scale) if reml else system.leave_one_out_cotangent()
        by_task = np.bincount(task, weights=cotangent.diagonal() * self._noise, minlength=self._design.tasks)
        # The noise follows the kernel's own diagonal, so its slope flows back into the diagonal too.
        on_diagonal(cotangent)[:] += (by_task / self._totals)[task]
        weights = twice_above(cotangent)
        by_part = self._variances if self._parts is None else self._variances * (self._parts @ weights.reshape(-1))
        return [*self._gram.pull(weights), by_task, by_part]
