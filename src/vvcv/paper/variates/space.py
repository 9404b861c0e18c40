"""Parametric spaces of control variates, as seen at given rows of data (paper, section 2, "Parametric Spaces").

A space maps parameters theta and a task matrix B to each row's own output g_theta(x_i)_(t_i). Linear spaces do so by
a matrix, g = Psi(B) theta, from which every closed form follows; other spaces need only be differentiable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

#: NumPy arrays on the host, JAX arrays inside a trace: the same formulas serve both.
AnyArray = Any

Penalty = Literal["rkhs", "euclidean"]


class Space(eqx.Module):
    """What selection asks of a parametric space: a start, the values at rows, and a squared norm."""

    task: Int[AnyArray, " n"]

    def initial(self) -> Any:
        """The parameters to start from (theta = 0, no control variate, where the space has such a point)."""
        raise NotImplementedError

    def output(
        self, theta: Any, b: Float[AnyArray, "T T"], rows: Int[AnyArray, " m"] | None = None
    ) -> Float[AnyArray, " m"]:
        """g_theta(x_i)_(t_i) at the given rows, or at all of them."""
        raise NotImplementedError

    def penalty(self, theta: Any, b: Float[AnyArray, "T T"], kind: Penalty) -> Float[AnyArray, ""]:
        """||g_theta||^2: the norm of the Stein RKHS, or the Euclidean norm of theta (paper, eq. 8 and A.2)."""
        if kind == "rkhs":
            raise ValueError(
                f"The norm of a Stein RKHS exists for kernel variates only, but this is a {type(self).__name__}. "
                'Use penalty="euclidean".'
            )
        return jnp.sum(jnp.stack([jnp.sum(leaf**2) for leaf in jax.tree.leaves(theta)]))

    def expand(self, b: Float[AnyArray, "T T"]) -> Float[AnyArray, "n p"]:
        """Psi(B) of a linear space."""
        raise ValueError(
            "Closed forms need a variate that is linear in its coefficients, but that of a "
            f"{type(self).__name__} is not. Use StochasticOptimisation."
        )

    def dual(self, b: Float[AnyArray, "T T"]) -> Dual:
        """The Gram matrix over the rows of a linear space under the norm of its RKHS."""
        raise ValueError(f'A {type(self).__name__} has no norm of a Stein RKHS. Use penalty="euclidean".')

    def scalar_gram(self) -> Float[np.ndarray, "n N"]:
        """The Gram matrix without B, of a space with one scalar for each observation."""
        raise ValueError(
            f"Exact steps for B work on one scalar per observation, but the variate has a {type(self).__name__}. "
            'For a kernel use parametrization="reduced", whose minimiser is the same function; for a basis use Exact, '
            "or BlockCoordinateDescent to learn B."
        )

    def with_products(self, products: Float[AnyArray, "U U q q"]) -> Space:
        """The same space with the inner products of its functions."""
        raise NotImplementedError


class Dual(NamedTuple):
    """Psi P^-1 Psi' with P the matrix of the norm, and the map from weights of rows to theta = P^-1 Psi' weights."""

    gram: Float[np.ndarray, "n n"]
    coefficients: Callable[[Float[np.ndarray, " n"]], Float[np.ndarray, " p"]]


class LinearSpace(Space):
    """A space that is linear in theta: g = Psi(B) vec(theta)."""

    def inner(self, b: Float[AnyArray, "T T"]) -> Float[AnyArray, "p p"]:
        """The matrix of the RKHS norm, ||g||^2 = vec(theta)' inner vec(theta)."""
        raise NotImplementedError


class ReducedSpace(LinearSpace):
    """One scalar per observation: g(x_i) = sum_j B_(t_i t_j) K_ij c_j.

    The loss sees output t at the points of task t only, so the minimiser of Theorem 4.1 lies in this span: N unknowns
    instead of N T.
    """

    gram: Float[AnyArray, "n N"]
    centre_task: Int[AnyArray, " N"]

    def initial(self) -> Float[AnyArray, " N"]:
        return jnp.zeros(self.centre_task.shape, self.gram.dtype)

    def output(self, theta, b, rows=None):
        gram, task = (self.gram, self.task) if rows is None else (self.gram[rows], self.task[rows])
        # One column per task of the centres, then the row's own mixture: no expanded copy of B.
        by_task = gram @ (theta[:, None] * (self.centre_task[:, None] == jnp.arange(b.shape[0])))
        return jnp.sum(b[task] * by_task, axis=1)

    def penalty(self, theta, b, kind):
        return theta @ self.output(theta, b) if kind == "rkhs" else super().penalty(theta, b, kind)

    def expand(self, b):
        return b[self.task][:, self.centre_task] * self.gram

    def inner(self, b):
        return self.expand(b)

    def dual(self, b):
        return Dual(np.asarray(self.expand(b)), lambda weights: weights)

    def scalar_gram(self):
        return np.asarray(self.gram)


class FeatureSpace(LinearSpace):
    """A coefficient in R^T per feature: g(x_i) = sum_u B_(t_i u) sum_k F_u[i, k] theta_ku.

    With kernel features F_u[i, j] = K_0(x_i, x_j)_(t_i u) / B_(t_i u) this is the paper's parametrisation (eq. 9);
    with Stein images of a basis it is eq. 12. One target: F_u is the same for all u, and stored once.
    With `shared`, theta_ku = theta_k for all u, the letter of eq. 12.
    """

    features: Float[AnyArray, "U n q"]
    products: Float[AnyArray, "U U q q"] | None = None
    shared: bool = eqx.field(static=True, default=False)
    tasks: int = eqx.field(static=True, default=1)

    def initial(self) -> Float[AnyArray, "q T"]:
        return jnp.zeros((self.features.shape[2], 1 if self.shared else self.tasks), self.features.dtype)

    def output(self, theta, b, rows=None):
        features, task = (self.features, self.task) if rows is None else (self.features[:, rows], self.task[rows])
        if features.shape[0] == 1:
            by_task = features[0] @ theta
        else:
            theta = jnp.broadcast_to(theta, (theta.shape[0], self.tasks))
            by_task = jnp.einsum("unq,qu->nu", features, theta)
        return jnp.sum(b[task] * by_task, axis=1)

    def penalty(self, theta, b, kind):
        if kind == "euclidean":
            return super().penalty(theta, b, kind)
        products = self._products()
        theta = jnp.broadcast_to(theta, (theta.shape[0], self.tasks))
        if products.shape[0] == 1:
            return jnp.sum(b * (theta.T @ products[0, 0] @ theta))
        return jnp.einsum("uv,ju,uvjk,kv->", b, theta, products, theta)

    def expand(self, b):
        mixed = jnp.moveaxis(self.features, 0, 2) * b[self.task][:, None, :]
        mixed = jnp.broadcast_to(mixed, (*mixed.shape[:2], self.tasks))
        return mixed.sum(axis=2) if self.shared else mixed.reshape(mixed.shape[0], -1)

    def inner(self, b):
        blocks = jnp.moveaxis(self._products(), (0, 1), (1, 3)) * b[None, :, None, :]
        if self.shared:
            return blocks.sum(axis=(1, 3))
        return blocks.reshape(blocks.shape[0] * self.tasks, -1)

    def dual(self, b):
        """By coordinates in which the norm is Euclidean."""
        psi, (values, vectors) = np.asarray(self.expand(b)), np.linalg.eigh(np.asarray(self.inner(b)))
        kept = values > 1e-13 * values[-1]
        root = vectors[:, kept] / np.sqrt(values[kept])
        moved = psi @ root
        return Dual(moved @ moved.T, lambda weights: root @ (moved.T @ weights))

    def with_products(self, products):
        return FeatureSpace(self.task, self.features, products, shared=self.shared, tasks=self.tasks)

    def _products(self) -> Float[AnyArray, "U U q q"]:
        if self.products is None:
            raise ValueError(
                'The norm of a Stein RKHS exists for kernel variates only. Use penalty="euclidean" for a basis, with '
                "Exact, or with BlockCoordinateDescent to learn B."
            )
        return self.products
