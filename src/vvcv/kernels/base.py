"""Scalar kernels k(x, y): what one output of the control variate may look like before the Stein operator.

A kernel is a frozen pytree with a pointwise formula. All its array leaves are unconstrained reals (positive quantities
are stored as logarithms), so any optimiser may move them freely. Kernels add and multiply; a closed form of the
Stein kernel is optional (`stein`), automatic differentiation serves the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..runtime.tracing import takes


class Side(NamedTuple):
    """One side of a Gram matrix: points, the scores of each point's own target, and the index of its task."""

    points: Float[Any, "n d"]
    scores: Float[Any, "n d"]
    task: Int[Any, " n"]


#: A kernel -> the block of its Stein kernel between rows that are fixed already.
Image = Callable[[Any], Float[Array, "n m"]]


class Kernel(eqx.Module):
    """A positive semi-definite function k(x, y) of two points."""

    relates_tasks: ClassVar[bool] = False
    #: What a Gram matrix asks of any kernel, scalar or matrix-valued: the task that alone has it, and B before it.
    only_task: ClassVar[Any] = None
    task_form: ClassVar[Any] = None

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        """The kernel at one pair of points."""
        raise NotImplementedError

    def entry(
        self, x: Float[Array, " d"], t: Int[Array, ""], y: Float[Array, " d"], u: Int[Array, ""]
    ) -> Float[Array, ""]:
        """K(x, y)_tu of a kernel that is the same for all tasks."""
        return self(x, y)

    def has_stein(self, order: int) -> bool:
        """Whether `stein` knows a closed form for the Langevin operator of this order."""
        return False

    def stein(self, order: int, axes: Float[Array, " d"], left: Side, right: Side) -> Float[Array, "n m"]:
        """The Stein kernel of a block of pairs in closed form, by matrix products only."""
        raise NotImplementedError

    def stein_with_itself(self, order: int, axes: Float[Array, " d"], side: Side) -> Float[Array, "n n"]:
        """`stein` of one side with itself, where every point meets itself: rounding may call for another form."""
        return self.stein(order, axes, side, side)

    @property
    def scalar(self) -> Kernel:
        """The kernel without its relation of tasks: here itself."""
        return self

    def assembled(self, image: Image, left: Int[Array, " n"], right: Int[Array, " m"]) -> Float[Array, "n m"]:
        """The block between rows of given tasks, made of images of scalar kernels; here tasks do not matter."""
        return image(self)

    def __add__(self, other: Kernel) -> Kernel:
        return Sum((self, as_kernel(other)))

    def __mul__(self, other: Any) -> Kernel:
        return Product((self, other)) if isinstance(other, Kernel) else Scaled(self, other)

    __rmul__ = __mul__


def as_kernel(kernel: Kernel | Callable[..., Any]) -> Kernel:
    """Accept a kernel or any JAX function k(x, y) of two points.

    >>> import numpy as np
    >>> float(as_kernel(lambda x, y: x[0] * y[0])(np.ones(1), np.full(1, 3.0)))
    3.0
    """
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return Custom(kernel)
    raise ValueError(f"A kernel must be a vvcv kernel or a function k(x, y), but got a {type(kernel).__name__}.")


def positive(value: Any, what: str) -> Float[Array, "..."]:
    """The logarithm of a parameter that must be positive, in float64 on the host."""
    import numpy as np

    array = np.asarray(value, dtype=float)
    if not (np.isfinite(array).all() and (array > 0).all()):
        raise ValueError(f"{what} must be positive and finite, but is {value!r}.")
    return np.log(array)


class _Plain(eqx.Module):
    """A plain function as a pytree without leaves."""

    function: Callable[..., Any] = eqx.field(static=True)

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


def traceable(function: Callable[..., Any]) -> Callable[..., Any]:
    """A user's function as a pytree: modules keep their parameters, plain functions have none."""
    return function if isinstance(function, eqx.Module) else _Plain(function)


class Custom(Kernel):
    """Any kernel a user writes as a JAX function k(x, y) of two vectors; its Stein kernel is differentiated for them.

    >>> import jax.numpy as jnp
    >>> float(Custom(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2)))(jnp.zeros(2), jnp.zeros(2)))
    1.0
    """

    function: Callable[..., Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        takes(function, 2, "A kernel k(x, y)")
        self.function = traceable(function)

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        return self.function(x, y)


class Sum(Kernel):
    """k(x, y) = sum_i k_i(x, y).

    >>> import numpy as np
    >>> float((Custom(lambda x, y: x[0] * y[0]) + Custom(lambda x, y: 2.0))(np.ones(1), np.full(1, 3.0)))
    5.0
    """

    terms: tuple[Kernel, ...]

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        return reduce(jnp.add, [term(x, y) for term in self.terms])

    def has_stein(self, order: int) -> bool:
        return all(term.has_stein(order) for term in self.terms)

    def stein(self, order: int, axes: Float[Array, " d"], left: Side, right: Side) -> Float[Array, "n m"]:
        return reduce(jnp.add, [term.stein(order, axes, left, right) for term in self.terms])

    def stein_with_itself(self, order: int, axes: Float[Array, " d"], side: Side) -> Float[Array, "n n"]:
        return reduce(jnp.add, [term.stein_with_itself(order, axes, side) for term in self.terms])


class Product(Kernel):
    """k(x, y) = prod_i k_i(x, y).

    >>> import numpy as np
    >>> float((Custom(lambda x, y: x[0] * y[0]) * Custom(lambda x, y: 2.0))(np.ones(1), np.full(1, 3.0)))
    6.0
    """

    factors: tuple[Kernel, ...]

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        result = jnp.ones(())
        for factor in self.factors:
            result = result * factor(x, y)
        return result


class Scaled(Kernel):
    """k(x, y) = variance * k_1(x, y).

    >>> import numpy as np
    >>> round(float((0.5 * Custom(lambda x, y: x[0] * y[0]))(np.ones(1), np.full(1, 3.0))), 6)
    1.5
    """

    kernel: Kernel
    log_variance: Float[Array, ""]

    def __init__(self, kernel: Kernel, variance: Any) -> None:
        self.kernel = kernel
        self.log_variance = positive(variance, "The variance of a scaled kernel")

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        return jnp.exp(self.log_variance) * self.kernel(x, y)

    def has_stein(self, order: int) -> bool:
        return self.kernel.has_stein(order)

    def stein(self, order: int, axes: Float[Array, " d"], left: Side, right: Side) -> Float[Array, "n m"]:
        return jnp.exp(self.log_variance) * self.kernel.stein(order, axes, left, right)

    def stein_with_itself(self, order: int, axes: Float[Array, " d"], side: Side) -> Float[Array, "n n"]:
        return jnp.exp(self.log_variance) * self.kernel.stein_with_itself(order, axes, side)


class ProductOverDimensions(Kernel):
    """k(x, y) = prod_j k_j(x_j, y_j), one kernel of one variable per coordinate (paper, D.1).

    >>> import numpy as np
    >>> linear = Custom(lambda x, y: x[0] * y[0])
    >>> float(ProductOverDimensions((linear, linear))(np.array([1.0, 2.0]), np.array([3.0, 4.0])))
    24.0
    """

    factors: tuple[Kernel, ...]

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        if x.shape[0] != len(self.factors):
            raise ValueError(
                f"ProductOverDimensions needs one kernel per coordinate: has {len(self.factors)} for d = {x.shape[0]}."
            )
        result = jnp.ones(())
        for j, factor in enumerate(self.factors):
            result = result * factor(x[j : j + 1], y[j : j + 1])
        return result
