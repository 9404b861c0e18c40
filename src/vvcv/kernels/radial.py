"""Radial kernels k(x, y) = phi(s), s = sum_j (x_j - y_j)^2 / l_j^2, with one lengthscale or one per dimension.

Each family only states the derivatives phi^(j) of its profile; `radial_stein` turns them into the
Stein kernels of first order (Theorem 3.1) and second order (Theorem C.1) by matrix products.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .base import Kernel, Side, positive
from .radial_stein import exponential_first_order, first_order, second_order


class Radial(Kernel):
    """Base of radial kernels: a profile of the scaled squared distance."""

    log_lengthscale: Float[Array, "..."]

    def __init__(self, lengthscale: Any = 1.0) -> None:
        self.log_lengthscale = positive(lengthscale, "A lengthscale")

    @property
    def lengthscale(self) -> Float[Array, "..."]:
        """Lengthscale, one number or one per dimension."""
        return jnp.exp(self.log_lengthscale)

    @property
    def smoothness(self) -> int:
        """How many derivatives of the profile stay finite enough: order j of the operator needs 2 j."""
        return 99

    def profile(self, j: int, s: Float[Array, "..."]) -> Float[Array, "..."]:
        """The j-th derivative of phi at s >= 0 (terms singular at s = 0 read 0 there: they meet vanishing factors)."""
        raise NotImplementedError

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        return self.profile(0, jnp.sum(((x - y) * jnp.exp(-self.log_lengthscale)) ** 2))

    def has_stein(self, order: int) -> bool:
        return order in (1, 2)

    def stein(self, order: int, axes: Float[Array, " d"], left: Side, right: Side) -> Float[Array, "n m"]:
        inverse_square = jnp.broadcast_to(jnp.exp(-2 * self.log_lengthscale), axes.shape)
        form = first_order if order == 1 else second_order
        return form(self.profile, inverse_square, axes, left, right)


class SquaredExponential(Radial):
    """k(x, y) = exp(-s / 2) (paper, D.1).

    >>> import numpy as np
    >>> round(float(SquaredExponential(2.0)(np.zeros(1), np.full(1, 2.0))), 4)
    0.6065
    """

    def profile(self, j: int, s: Float[Array, "..."]) -> Float[Array, "..."]:
        return (-0.5) ** j * jnp.exp(-0.5 * s)

    def stein_with_itself(self, order: int, axes: Float[Array, " d"], side: Side) -> Float[Array, "n n"]:
        # Points of one side coincide with themselves, and a small matrix may have too little noise to hide rounding. (A
        # large one, taken tile by tile, never has: its noise is bounded below by ten roundings for every row.)
        return super().stein(order, axes, side, side)

    def stein(self, order: int, axes: Float[Array, " d"], left: Side, right: Side) -> Float[Array, "n m"]:
        if order == 2:
            return super().stein(order, axes, left, right)
        inverse_square = jnp.broadcast_to(jnp.exp(-2 * self.log_lengthscale), axes.shape)
        return exponential_first_order(self.profile, inverse_square, axes, left, right)


class Matern(Radial):
    """Matern kernel of half-integer smoothness nu = 3/2, 5/2 or 7/2.

    With z = sqrt(2 nu s): phi^(j) = (-nu)^j theta_{p-j}(z) exp(-z) / theta_p(0), theta the reverse Bessel polynomials
    and p = nu - 1/2, since d/ds [z^mu K_mu(z)] = -nu z^(mu-1) K_(mu-1)(z).

    >>> import numpy as np
    >>> round(float(Matern(2.0, nu=1.5)(np.zeros(1), np.full(1, 2.0))), 4)  # (1 + sqrt(3)) exp(-sqrt(3))
    0.4834
    """

    nu: float = eqx.field(static=True)

    def __init__(self, lengthscale: Any = 1.0, nu: float = 2.5) -> None:
        if nu not in (1.5, 2.5, 3.5):
            raise ValueError(f"Matern kernels are implemented for nu = 1.5, 2.5 and 3.5, but nu = {nu!r}.")
        super().__init__(lengthscale)
        self.nu = float(nu)

    @property
    def smoothness(self) -> int:
        return int(2 * self.nu - 1)  # nu = 3/2: twice, 5/2: four times, 7/2: six times differentiable

    def profile(self, j: int, s: Float[Array, "..."]) -> Float[Array, "..."]:
        return _matern_profile(self.nu, j, s)

    def profiles(self, count: int, s: Float[np.ndarray, "..."]) -> list[Float[np.ndarray, "..."]]:
        """The profile and its first derivatives in plain NumPy, for `stein.host_gram`."""
        nu = self.nu
        z, p = np.sqrt(2 * nu * s), int(nu - 0.5)
        value = np.exp(-z)
        inverse = np.divide(1.0, z, out=np.zeros_like(z), where=z > 0) if count > p + 1 else z
        # theta_0, theta_1, ... upwards, and below zero, theta_-1, theta_-2, ..., each worked out once
        theta: dict[int, Any] = {0: 1.0, 1: 1.0 + z, -1: inverse}
        for i in range(2, p + 1):
            theta[i] = (2 * i - 1) * theta[i - 1] + z**2 * theta[i - 2]
        for i in range(-2, p - count, -1):
            theta[i] = (theta[i + 2] - (2 * i + 3) * theta[i + 1]) * inverse**2
        return [((-nu) ** j / AT_ZERO[p]) * theta[p - j] * value for j in range(count)]


class RationalQuadratic(Radial):
    """k(x, y) = (1 + s / (2 alpha))^-alpha, a mixture of squared exponentials; alpha = 1/2: inverse multiquadric.

    >>> import numpy as np
    >>> round(float(RationalQuadratic(1.0, alpha=2.0)(np.zeros(1), np.ones(1))), 4)  # (5 / 4)^-2
    0.64
    """

    log_shape: Float[Array, ""]

    def __init__(self, lengthscale: Any = 1.0, alpha: Any = 1.0) -> None:
        super().__init__(lengthscale)
        self.log_shape = positive(alpha, "The shape alpha")

    @property
    def alpha(self) -> Float[Array, ""]:
        """Shape of the mixture; large alpha tends to the squared exponential."""
        return jnp.exp(self.log_shape)

    def profile(self, j: int, s: Float[Array, "..."]) -> Float[Array, "..."]:
        alpha = self.alpha
        rising = jnp.ones(())
        for i in range(j):
            rising = rising * -(alpha + i) / (2 * alpha)
        return rising * jnp.exp(-(alpha + j) * jnp.log1p(s / (2 * alpha)))


def InverseMultiquadric(lengthscale: Any = 1.0) -> RationalQuadratic:
    """k(x, y) = (1 + s)^-1/2: the rational quadratic with alpha = 1/2.

    >>> import numpy as np
    >>> round(float(InverseMultiquadric()(np.zeros(1), np.full(1, np.sqrt(3)))), 4)
    0.5
    """
    return RationalQuadratic(lengthscale, alpha=0.5)


#: theta_p(0): what makes the Matern kernel 1 at s = 0.
AT_ZERO = (1, 1, 3, 15)


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _matern_profile(nu: float, j: int, s: Float[Array, "..."]) -> Float[Array, "..."]:
    z = jnp.sqrt(2 * nu * s)
    p = int(nu - 0.5)
    return ((-nu) ** j / AT_ZERO[p]) * _reverse_bessel(p - j, z) * jnp.exp(-z)


@_matern_profile.defjvp
def _matern_profile_jvp(nu, j, primals, tangents):
    # The derivative of a profile is the next profile: no 0/0 from differentiating a square root at s = 0.
    (s,), (ds,) = primals, tangents
    return _matern_profile(nu, j, s), _matern_profile(nu, j + 1, s) * ds


def _reverse_bessel(p: int, z: Any, arrays: Any = jnp) -> Any:
    """theta_p(z); negative p by K_(-mu) = K_mu, i.e. theta_p = theta_(-p-1) / z^(-2p-1), set to 0 at z = 0.

    `arrays` is the module that `z` belongs to, jax.numpy or numpy.
    """
    if p < 0:
        safe = arrays.where(z > 0, z, 1.0)
        return arrays.where(z > 0, _reverse_bessel(-p - 1, z, arrays) / safe ** (-2 * p - 1), 0.0)
    theta = [arrays.ones_like(z), 1.0 + z]
    for i in range(2, p + 1):
        theta.append((2 * i - 1) * theta[-1] + z**2 * theta[-2])
    return theta[p]
