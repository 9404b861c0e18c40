"""Where to run a model: standard normal points, at random or spread more evenly.

Latin hypercubes (McKay, Beckman and Conover, 1979) and scrambled Sobol points (Owen, 1998) are each exactly standard
normal, but not independent of one another. Estimates gain from the even spread; error bars that come from residuals
are those of independent points and err on the wide side.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from ..data import require

Normal = Float[np.ndarray, "n d"]

#: Sobol points have this many binary digits.
BITS = 30


def standard_normal(n: int, d: int, rng: np.random.Generator, design: str = "random") -> Normal:
    """n points in d dimensions, each standard normal. More points begin with the same ones, except in a hypercube.

    >>> z = standard_normal(4, 1, np.random.default_rng(0), "latin-hypercube")
    >>> sorted(np.digitize(z[:, 0], [-0.6745, 0, 0.6745]).tolist())      # one point in each quarter
    [0, 1, 2, 3]
    """
    require(design in DESIGNS, f"design must be one of {list(DESIGNS)}, but is {design!r}. Take one of these.")
    require(isinstance(n, int | np.integer) and n > 0, f"The number of points must be a positive integer, not {n!r}.")
    return DESIGNS[design](int(n), d, rng)


def _random(n: int, d: int, rng: np.random.Generator) -> Normal:
    return rng.standard_normal((n, d))


def _latin_hypercube(n: int, d: int, rng: np.random.Generator) -> Normal:
    strata = np.column_stack([rng.permutation(n) for _ in range(d)])
    return ndtri((strata + rng.uniform(1e-9, 1 - 1e-9, size=(n, d))) / n)


def _sobol(n: int, d: int, rng: np.random.Generator) -> Normal:
    from scipy.stats import qmc

    uniform = qmc.Sobol(d, scramble=True, bits=BITS, seed=rng).random_base2(int(np.ceil(np.log2(n))))
    return ndtri(uniform[:n] + 0.5**BITS / 2)  # the middle of each cell: never 0 or 1


DESIGNS: dict[str, Callable[[int, int, np.random.Generator], Normal]] = {
    "random": _random,
    "latin-hypercube": _latin_hypercube,
    "sobol": _sobol,
}
