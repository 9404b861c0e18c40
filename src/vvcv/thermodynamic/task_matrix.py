"""B over a path of temperatures: they are alike when their logarithms are, beyond a scale.

    B_tu = kappa(tau_t, tau_u),   tau_t = log(t + c)

Where the likelihood is Gaussian, power posteriors have precision proportional to t + c, with c the ratio of the prior's
precision to the likelihood's: the warp makes steps alike along the whole path, and c is learned with the rest.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..kernels import Coregionalization, Kernel
from ..kernels.base import positive
from ..kernels.coregionalization import likeness


class TemperatureKernel(Coregionalization):
    """A task matrix given by a kernel over warped temperatures.

    >>> from vvcv.kernels import SquaredExponential
    >>> TemperatureKernel([0.0, 0.1, 1.0], SquaredExponential(), offset=0.02).count
    3
    """

    kernel: Kernel
    log_offset: Float[Array, ""]
    log_nugget: Float[Array, ""]
    temperatures: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, temperatures: Any, kernel: Kernel, offset: Any, nugget: Any = 1e-6) -> None:
        self.temperatures = tuple(float(t) for t in np.asarray(temperatures))
        self.kernel = kernel
        self.log_offset = positive(offset, "The offset of the temperatures")
        self.log_nugget = positive(nugget, "The nugget of a task kernel")

    @property
    def count(self) -> int:
        return len(self.temperatures)

    def loadings(self) -> Float[Array, "T R"]:
        return jnp.linalg.cholesky(self.matrix())

    def matrix(self) -> Float[Array, "T T"]:
        tau = jnp.log(jnp.asarray(self.temperatures) + jnp.exp(self.log_offset))[:, None]
        return likeness(self.kernel, self.log_nugget, tau)
