"""Every scalar kernel in two dimensions, by name: the laws of the neighbouring files run over all of them."""

import jax.numpy as jnp

from vvcv.kernels import (
    Custom,
    InverseMultiquadric,
    Kernel,
    Matern,
    Polynomial,
    PreconditionedSquaredExponential,
    ProductOverDimensions,
    RationalQuadratic,
    SquaredExponential,
    Weighted,
)


class Opaque(Kernel):
    """A kernel whose closed form is hidden, so that its Stein kernel must be differentiated."""

    inner: Kernel

    def __call__(self, x, y):
        return self.inner(x, y)


def cosine_weight(x):
    """A positive weight with structure of its own."""
    return 1.5 + jnp.cos(jnp.sum(x))


def bump(x, y):
    """A user's kernel, neither radial nor polynomial."""
    return jnp.exp(-jnp.sum((x - y) ** 2)) * (1 + jnp.tanh(jnp.sum(x)) * jnp.tanh(jnp.sum(y)))


#: Kernels that work in any dimension.
ANY_DIMENSION = {
    "squared exponential": SquaredExponential(1.3),
    "matern 3/2": Matern(1.1, nu=1.5),
    "matern 5/2": Matern(1.1, nu=2.5),
    "matern 7/2": Matern(1.1, nu=3.5),
    "rational quadratic": RationalQuadratic(0.9, alpha=0.8),
    "inverse multiquadric": InverseMultiquadric(1.2),
    **{f"polynomial of degree {l}": Polynomial(l, c=0.7) for l in (1, 2, 3, 4)},
    "preconditioned squared exponential": PreconditionedSquaredExponential(1.2, alpha=0.1),
    "weighted": Weighted(Matern(0.8, nu=2.5), cosine_weight),
    "sum": 2.0 * SquaredExponential(0.7) + Polynomial(2),
    "product": SquaredExponential(0.8) * Polynomial(2),
    "scaled": 0.3 * RationalQuadratic(1.5, alpha=2.0),
    "custom": Custom(bump),
}

#: Kernels made for two dimensions.
TWO_DIMENSIONS = {
    "squared exponential, two lengthscales": SquaredExponential([0.8, 1.7]),
    "matern 7/2, two lengthscales": Matern([1.4, 0.6], nu=3.5),
    "product over dimensions": ProductOverDimensions((Matern(0.9, nu=2.5), Polynomial(2))),
}

KERNELS = {**ANY_DIMENSION, **TWO_DIMENSIONS}

#: Not smooth enough for the second-order operator.
ONLY_FIRST_ORDER = {"matern 3/2"}


def cases(kernels):
    """Pairs (name, order) that exist."""
    return [(name, order) for name in kernels for order in (1, 2) if order == 1 or name not in ONLY_FIRST_ORDER]
