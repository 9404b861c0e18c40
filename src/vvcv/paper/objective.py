"""What a control variate is chosen by: J_vv in any p-norm, the variance of MCMC, penalties (paper, eqs. 7, 8, 10; A.1).

    J_vv(theta, beta) = || v ||_p,  v_t = 1/m_t sum_j (f_t(x_tj) - g_theta(x_tj)_t - beta_t)^2
    L_vv = J_vv + lambda ||g_theta||^2,     Lbar_vv = L_vv + ||B||_F^2

Both objectives are quadratic forms of the residuals of each task (for p = 1), which gives closed forms for both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, inf, sqrt
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import block_diag, toeplitz

from ..data import is_number, one_of, whole_number
from ..runtime.precision import float64
from .variates.space import AnyArray

Window = Literal["bartlett", "parzen"]


def j_vv(
    residuals: Float[AnyArray, " n"],
    task: Int[AnyArray, " n"],
    weights: Float[AnyArray, " n"],
    tasks: int,
    norm: float = 1.0,
    importance: tuple[float, ...] | None = None,
) -> Float[AnyArray, ""]:
    """|| (a_t sum over rows of task t of weight * residual^2)_t ||_p (paper, eqs. 7 and 8); weights 1/m_t give J_m.

    >>> import numpy as np
    >>> float(j_vv(np.array([1.0, 3.0, 2.0]), np.array([0, 0, 1]), np.array([0.5, 0.5, 1.0]), 2))
    9.0
    """
    variances = jax.ops.segment_sum(weights * residuals**2, task, num_segments=tasks)
    if importance is not None:
        variances = variances * jnp.asarray(importance, variances.dtype)
    return vector_norm(variances, norm)


def vector_norm(v: Float[AnyArray, " T"], norm: float) -> Float[AnyArray, ""]:
    """The p-norm of non-negative numbers, with a gradient at zero."""
    if norm == 1:
        return jnp.sum(v)
    if norm == inf:
        return jnp.max(v)
    top = jax.lax.stop_gradient(jnp.max(v))
    safe = jnp.where(top > 0, top, 1.0)
    scaled = jnp.sum((v / safe) ** norm)
    return safe * jnp.where(scaled > 0, jnp.where(scaled > 0, scaled, 1.0) ** (1 / norm), 0.0)


def coregionalization_penalty(b: Float[AnyArray, "T T"]) -> Float[AnyArray, ""]:
    """||B||_F^2 (paper, eq. 10)."""
    return jnp.sum(b**2)


def asymptotic_variance(
    residuals: Float[AnyArray, "chain draw"], window: Window = "bartlett", bandwidth: int | None = None
) -> Float[AnyArray, ""]:
    """J + 2 sum_s w(s / bandwidth) Cov(r_i, r_(i+s)) of residuals f - g - beta along chains (paper, Remark 1).

    Without a window the sum over all lags of a finite chain is zero whatever the residuals; with it, the sum is a
    consistent estimate. The bandwidth is the square root of the length unless given.
    """
    residuals = jnp.atleast_2d(residuals)
    chains, draws = residuals.shape
    mean = jnp.mean(residuals)
    spectrum = jnp.fft.rfft(residuals - mean, 2 * draws, axis=1)
    covariances = jnp.sum(jnp.fft.irfft(jnp.abs(spectrum) ** 2, 2 * draws, axis=1), axis=0)[:draws] / (chains * draws)
    weights = jnp.asarray(lag_weights(draws, window, bandwidth), residuals.dtype)
    return mean**2 + covariances[0] + 2 * jnp.sum(weights[1:] * covariances[1:])


def check_penalty(regularization: Any) -> None:
    """Refuse a lambda that is none; kernels ask for a positive one besides.

    >>> check_penalty(1e-3)
    """
    if not (is_number(regularization) and 0 <= regularization < inf):
        raise ValueError(f"The penalty lambda must be finite and not negative, but is {regularization!r}.")


def check_objective(objective: Any) -> None:
    """Refuse what is no objective.

    >>> check_objective(Variance())
    """
    if not isinstance(objective, Objective):
        raise ValueError(f"An objective is Variance(...) or MarkovChainVariance(...), but got {kind_of(objective)}.")


def kind_of(given: Any) -> str:
    """What was given, in words: a class that was not called says so.

    >>> kind_of(Variance), kind_of(3)
    ('the class Variance: call it, Variance(...)', 'a int')
    """
    name = given.__name__ if isinstance(given, type) else type(given).__name__
    return f"the class {name}: call it, {name}(...)" if isinstance(given, type) else f"a {name}"


def lag_weights(draws: int, window: Window = "bartlett", bandwidth: int | None = None) -> Float[np.ndarray, " draw"]:
    """Weights of the lags 0, ..., draws - 1; both windows keep the estimate non-negative.

    >>> lag_weights(4, "bartlett", 2)
    array([1. , 0.5, 0. , 0. ])
    """
    bandwidth = ceil(sqrt(draws)) if bandwidth is None else bandwidth
    if bandwidth < 1:
        raise ValueError(f"The bandwidth of a lag window must be at least 1, but is {bandwidth!r}.")
    u = np.arange(draws) / bandwidth
    if window == "bartlett":
        return np.maximum(1 - u, 0.0)
    if window == "parzen":
        return np.where(u <= 0.5, 1 - 6 * u**2 + 6 * u**3, 2 * np.maximum(1 - u, 0.0) ** 3)
    raise ValueError(f'The lag window is "bartlett" or "parzen", but is {window!r}.')


class Objective(ABC):
    """What is asked of an objective: its value, its gradient by tracing, and its quadratic form if it has one."""

    @abstractmethod
    def loss(
        self,
        residuals: Float[AnyArray, " n"],
        task: Int[AnyArray, " n"],
        weights: Float[AnyArray, " n"],
        chains: tuple[tuple[int, int], ...],
    ) -> Float[AnyArray, ""]:
        """The objective of rows with weights (traceable)."""

    @abstractmethod
    def precision(self, chains: Sequence[tuple[int, int]]) -> Float[np.ndarray, " ..."]:
        """Q in J = r'Qr, or its diagonal."""

    @abstractmethod
    def value(self, residuals: Float[np.ndarray, " N"], chains: Sequence[tuple[int, int]]) -> float:
        """The objective of residuals f - g - beta, task after task."""

    @property
    def quadratic(self) -> Objective:
        """The objective itself, or the nearest one with a quadratic form."""
        return self

    def check_batches(self, batch_size: Any) -> None:  # noqa: B027  (any batches will do)
        """Raise a ValueError where batches of this kind do not estimate the objective."""


@dataclass(frozen=True)
class Variance(Objective):
    """J_vv with a p-norm on R^T: 1 adds up the variances of all tasks, inf takes the worst (paper, eq. 7).

    `importance` weighs the tasks: where one of them alone matters, the others need only be fitted well enough to help.

    >>> Variance(importance=(0.1, 1.0)).value(np.array([1.0, 2.0]), [(1, 1), (1, 1)])
    4.1
    """

    norm: float = 1.0
    importance: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not (is_number(self.norm) and self.norm >= 1):
            raise ValueError(f"A norm on R^T has p of at least 1 (or inf), but p = {self.norm!r}.")
        if self.importance is not None:
            given = self.importance
            weights = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else ()
            if not weights or not all(is_number(w) and 0 < w < inf for w in weights):
                raise ValueError(
                    f"The importance of every task must be positive and finite, one number for each, but is {given!r}. "
                    "Leave a task out of the data if it is not to be fitted at all."
                )
            object.__setattr__(self, "importance", tuple(map(float, weights)))

    def loss(self, residuals, task, weights, chains):
        return j_vv(residuals, task, weights, len(chains), self.norm, self._weights(len(chains)))

    @property
    def quadratic(self) -> Variance:
        """The sum over tasks in place of another norm."""
        return Variance(1.0, self.importance)

    def precision(self, chains: Sequence[tuple[int, int]]) -> Float[np.ndarray, " N"]:
        """The diagonal of Q in J = r'Qr."""
        if self.norm != 1:
            raise ValueError(
                f"Closed forms need the 1-norm, a quadratic objective, but p = {self.norm}. Use StochasticOptimisation "
                "for other norms."
            )
        importance = self._weights(len(chains)) or (1.0,) * len(chains)
        return np.concatenate([np.full(c * d, w / (c * d)) for (c, d), w in zip(chains, importance, strict=True)])

    def value(self, residuals: np.ndarray, chains: Sequence[tuple[int, int]]) -> float:
        """J_vv of residuals f - g - beta, task after task."""
        sizes = [c * d for c, d in chains]
        variances = np.array([np.mean(part**2) for part in np.split(residuals, np.cumsum(sizes)[:-1])])
        return float(np.linalg.norm(variances * (self._weights(len(chains)) or 1.0), self.norm))

    def _weights(self, tasks: int) -> tuple[float, ...] | None:
        if self.importance is not None and len(self.importance) != tasks:
            raise ValueError(f"importance must hold one number per task, {tasks}, but holds {len(self.importance)}.")
        return self.importance


@dataclass(frozen=True)
class MarkovChainVariance(Objective):
    """The variance of the MCMC central limit theorem, summed over tasks (paper, Remark 1), with a lag window.

    >>> step = np.repeat([1.0, -1.0], 4)  # one chain that moves once
    >>> MarkovChainVariance(bandwidth=1).value(step, [(1, 8)]) < MarkovChainVariance(bandwidth=3).value(step, [(1, 8)])
    True
    """

    window: Window = "bartlett"
    bandwidth: int | None = None

    def __post_init__(self) -> None:
        one_of(self.window, get_args(Window), "The lag window")
        if self.bandwidth is not None:
            object.__setattr__(self, "bandwidth", whole_number(self.bandwidth, 1, "The bandwidth, in lags,"))

    def loss(self, residuals, task, weights, chains):
        ends = np.cumsum([c * d for c, d in chains])[:-1]
        parts = zip(jnp.split(residuals, ends), chains, strict=True)
        return sum(asymptotic_variance(part.reshape(shape), self.window, self.bandwidth) for part, shape in parts)

    def check_batches(self, batch_size: Any) -> None:
        """All rows at once, in the order of the chains."""
        if batch_size is not None:
            raise ValueError(
                "Mini-batches of shuffled rows have no autocovariance. Use batch_size=None for the MCMC objective, or "
                "Exact, which has a closed form for it."
            )

    def precision(self, chains: Sequence[tuple[int, int]]) -> Float[np.ndarray, "N N"]:
        """Q in J = r'Qr: block by task, Toeplitz along each chain, centred."""
        return block_diag(*(self._block(*shape) for shape in chains))

    def value(self, residuals: np.ndarray, chains: Sequence[tuple[int, int]]) -> float:
        """The objective of residuals f - g - beta, task after task."""
        sizes = [c * d for c, d in chains]
        parts = np.split(residuals, np.cumsum(sizes)[:-1])
        return float(sum(self.of_task(part, shape) for part, shape in zip(parts, chains, strict=True)))

    @float64
    def of_task(self, residuals: np.ndarray, chains: tuple[int, int]) -> float:
        """The objective of one task."""
        return float(asymptotic_variance(residuals.reshape(chains), self.window, self.bandwidth))

    def _block(self, chains: int, draws: int) -> Float[np.ndarray, "n n"]:
        n = chains * draws
        lags = block_diag(*[toeplitz(lag_weights(draws, self.window, self.bandwidth))] * chains)
        lags = lags - lags.mean(axis=0) - lags.mean(axis=1)[:, None] + lags.mean()
        return lags / n + 1.0 / n**2
