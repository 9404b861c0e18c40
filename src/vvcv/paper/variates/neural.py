"""Neural vector-valued control variates, g_t = sum_t' B_tt' S_t[phi_theta]_t' (paper, eq. 13).

The paper has one phi_theta for all t', so that tasks differ by the factors (B 1)_t; a network with one output per task
gives each t' its own. Any equinox module, or any pytree with a `__call__` of one point, is a network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ...data import whole_number
from ...kernels import Side
from ...runtime.precision import float64
from ...stein.images import stein_image
from .space import AnyArray, Space
from .variate import Variate


class NeuralSpace(Space):
    """The images of a network at given rows; theta is the pytree of its arrays."""

    points: Float[AnyArray, "n d"]
    scores: Float[AnyArray, "n d"]
    start: Any
    static: Any = eqx.field(static=True)
    order: int = eqx.field(static=True)
    tasks: int = eqx.field(static=True)

    def initial(self) -> Any:
        return jax.tree.map(jnp.asarray, self.start)

    def output(self, theta, b, rows=None):
        points, scores, task = self.points, self.scores, self.task
        if rows is not None:
            points, scores, task = points[rows], scores[rows], task[rows]
        network = eqx.combine(theta, self.static)
        heads = (-1, points.shape[1]) if self.order == 1 else (-1,)

        def image(x, score):
            return stein_image(lambda z: network(z).reshape(heads), self.order, x, score)

        images = jax.vmap(image)(points, scores)
        # One head for all tasks broadcasts: sum_t' B_tt' phi.
        return jnp.sum(b[task] * images, axis=1)


@dataclass(frozen=True, eq=False)
class NeuralVariate(Variate):
    """A network phi_theta: x -> R^d or (T, d) under the first-order operator, x -> R or R^T under the second-order one.

    >>> import equinox as eqx
    >>> NeuralVariate(eqx.nn.MLP(2, 2, 16, 2, key=jax.random.key(0), activation=jnp.tanh)).order
    1
    """

    network: Callable[..., Any]
    order: int = 1
    coregionalization: Any = None
    degree: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", whole_number(self.degree, 0, "The degree of a semi-exact variate"))

    @property
    def exact_degree(self) -> int:
        """Degree of the polynomials whose Stein images enter unpenalised beside the means."""
        return self.degree

    @float64
    def space(self, rows: Side, centres: Side, tasks: int) -> NeuralSpace:
        """The space of the network, seen at `rows`."""
        self._check(rows.points.shape[1], tasks)
        arrays, static = eqx.partition(self.network, eqx.is_inexact_array)
        start = jax.tree.map(lambda leaf: np.asarray(leaf, dtype=float), arrays)
        return NeuralSpace(
            rows.task, np.asarray(rows.points), np.asarray(rows.scores), start, static, order=self.order, tasks=tasks
        )

    def _check(self, d: int, tasks: int) -> None:
        shape = jax.eval_shape(self.network, jax.ShapeDtypeStruct((d,), jnp.float32)).shape
        one, many = ((d,), (tasks, d)) if self.order == 1 else ((), (tasks,))
        allowed = {one, many, (1, *one), (int(np.prod(many)),)}
        if self.order not in (1, 2) or shape not in allowed:
            raise ValueError(
                f"A network under the operator of order {self.order} returns shape {one} for all tasks together or "
                f"{many} for one output each, but this one returns {shape}. Change its last layer, or the order."
            )
