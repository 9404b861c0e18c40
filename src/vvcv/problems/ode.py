"""Fixed-step explicit Runge-Kutta solution of u'(s) = field(u(s)), of order six.

    k_i = field(u + h sum_{j<i} a_ij k_j),     u(s + h) = u(s) + h sum_i b_i k_i + O(h^7)

The tableau is a seven-stage method of J. C. Butcher ("On Runge-Kutta processes of high order", 1964). Fixed steps make
the solution a smooth function of the parameters, so that its automatic derivative is the exact score of the density
that is sampled (paper, Appendices E.5 and E.6), and every chain of a batch does the same work.
"""

from collections.abc import Callable
from functools import reduce
from operator import add

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

State = Float[Array, "..."]
States = Float[Array, "times ..."]
Scalar = Float[Array, ""]
Times = Float[np.ndarray, "times"] | Float[Array, "times"]

_A = (
    (1 / 3,),
    (0, 2 / 3),
    (1 / 12, 1 / 3, -1 / 12),
    (-1 / 16, 9 / 8, -3 / 16, -3 / 8),
    (0, 9 / 8, -3 / 8, -3 / 4, 1 / 2),
    (9 / 44, -9 / 11, 63 / 44, 18 / 11, 0, -16 / 11),
)
_B = (11 / 120, 0, 27 / 40, 27 / 40, -4 / 15, -4 / 15, 11 / 120)


def solve(field: Callable[[State], State], initial: State, times: Times, steps: int) -> States:
    """States at `times`, the first of which is the time of `initial`, by `steps` equal steps between neighbours."""

    def interval(state: State, duration: Scalar) -> tuple[State, State]:
        def step(u: State, _: None) -> tuple[State, None]:
            return runge_kutta_step(field, u, duration / steps), None

        state, _ = jax.lax.scan(step, state, None, length=steps)
        return state, state

    _, states = jax.lax.scan(interval, initial, jnp.diff(jnp.asarray(times)))
    return jnp.concatenate([initial[None], states])


def runge_kutta_step(field: Callable[[State], State], state: State, h: Scalar) -> State:
    """One step of length h."""
    slopes = [field(state)]
    for row in _A:
        slopes.append(field(state + h * _combine(row, slopes)))
    return state + h * _combine(_B, slopes)


def _combine(weights: tuple[float, ...], slopes: list[State]) -> State:
    return reduce(add, (w * k for w, k in zip(weights, slopes, strict=True) if w))
