"""Control variates from a basis of functions, g_t = sum_i sum_t' B_tt' theta_it' S_t[phi_i] (paper, C.2, eq. 12).

The paper writes one theta_i for all t' (`coefficients="shared"`), so that tasks differ by the factors (B 1)_t only;
`coefficients="task"` lets theta_i be a vector in R^T, as the paper does for kernels. Monomials give the
polynomial control variates of Mira et al. (2013).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from ...data import one_of, whole_number
from ...kernels import Side
from ...runtime.tracing import takes
from ...stein import polynomial_features
from ...stein.automatic import check_order
from ...stein.fields import polynomial_field_features
from ...stein.images import stein_images
from .space import FeatureSpace
from .variate import Variate

Coefficients = Literal["task", "shared"]


class _FeatureVariate(Variate):
    """What polynomials and other bases share: a matrix of Stein images."""

    coefficients: Coefficients

    def images(self, rows: Side) -> Float[np.ndarray, "n q"]:
        """Stein images of the basis at the rows, each under its own target."""
        raise NotImplementedError

    def space(self, rows: Side, centres: Side, tasks: int) -> FeatureSpace:
        """The space spanned by the images, seen at `rows`."""
        return FeatureSpace(rows.task, self.images(rows)[None], shared=self.coefficients == "shared", tasks=tasks)


@dataclass(frozen=True, eq=False)
class PolynomialVariate(_FeatureVariate):
    """Polynomials of a total degree: monomials (order 2), or fields with monomial components (order 1).

    >>> PolynomialVariate(2).images(Side(np.ones((1, 1)), -np.ones((1, 1)), np.zeros(1, int)))
    array([[-1.,  0.]])
    """

    degree: int = 2
    order: int = 2
    coregionalization: Any = None
    coefficients: Coefficients = "task"

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", whole_number(self.degree, 1, "The degree of a polynomial"))
        check_order(self.order)
        one_of(self.coefficients, get_args(Coefficients), "The coefficients")

    def images(self, rows: Side) -> Float[np.ndarray, "n q"]:
        images = polynomial_features if self.order == 2 else polynomial_field_features
        return images(np.asarray(rows.points), np.asarray(rows.scores), self.degree)


@dataclass(frozen=True, eq=False)
class BasisVariate(_FeatureVariate):
    """Any basis as one JAX function of a point: x -> (q,) for order 2, x -> (q, d) for order 1.

    >>> import jax.numpy as jnp
    >>> variate = BasisVariate(lambda x: jnp.stack([x[0], jnp.sin(x[0])]))
    >>> variate.images(Side(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1, int)))
    array([[1., 1.]])
    """

    function: Callable[..., Any]
    order: int = 2
    coregionalization: Any = None
    coefficients: Coefficients = "task"

    def __post_init__(self) -> None:
        takes(self.function, 1, "A basis")
        one_of(self.coefficients, get_args(Coefficients), "The coefficients")

    def images(self, rows: Side) -> Float[np.ndarray, "n q"]:
        return stein_images(self.function, np.asarray(rows.points), np.asarray(rows.scores), self.order)
