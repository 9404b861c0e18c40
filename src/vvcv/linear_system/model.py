"""A covariance model: a Stein kernel plus noise.

Noise is stated relative to the mean of the kernel's diagonal, task by task, so that one lower bound keeps every
factorisation safe whatever the scale: W_ii = K_ii + r_t mean_t(diag K) / weight_i.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from ..kernels.base import positive
from ..stein import SteinKernel, SteinSum


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
