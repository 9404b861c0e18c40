"""Inputs of which only a log density is known, as a JAX function: scores by automatic differentiation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from ..data import finite_array, require
from ..data.unconstrain import unconstrain
from ..runtime.precision import float64
from ..runtime.tracing import differentiable
from .joint import Columns, Inputs, Rows


class LogDensityInputs(Inputs):
    """Inputs with a log density of one point `(d,)`, and draws or a function that makes them."""

    def __init__(
        self, density: Callable[..., Any], draws: Any, names: Sequence[str] | None, lower: Any, upper: Any
    ) -> None:
        self.density, self.draws, self.lower, self.upper = density, draws, lower, upper
        if not callable(draws):
            self.draws = finite_array(draws, "draws")
            self.draws = self.draws[:, None] if self.draws.ndim == 1 else self.draws
            require(self.draws.ndim == 2, f"draws must have shape (n, d), but have shape {self.draws.shape}.")
        require(
            names is not None or not callable(draws),
            "names must say what the inputs are called where draws is a function. Give names=['a', 'b'].",
        )
        self.names = tuple(names) if names is not None else tuple(f"x{j + 1}" for j in range(self.draws.shape[1]))
        require(
            len(set(self.names)) == len(self.names) > 0 and (callable(draws) or len(self.names) == self.draws.shape[1]),
            f"names must be as many as the inputs and differ from one another, but are {list(self.names)}"
            f"{'' if callable(draws) else f' for draws of shape {self.draws.shape}'}.",
        )

    def sample(self, n: int, seed: Any = 0, design: str = "random") -> Columns:
        """n points from the function that makes them, or n of the given draws in random order."""
        require(design == "random", f"Only design='random' is possible where no cdf is known, but design={design!r}.")
        require(
            isinstance(n, int | np.integer) and n > 0, f"The number of points must be a positive integer, not {n!r}."
        )
        rng = np.random.default_rng(seed)
        if callable(self.draws):
            return self.columns(self.rows(self.draws(n, rng)))
        require(n <= len(self.draws), f"There are {len(self.draws)} draws, but {n} points are wanted. Give more draws.")
        return self.columns(self.rows(self.draws)[rng.permutation(len(self.draws))[:n]])

    @float64
    def log_density(self, x: Any) -> Float[np.ndarray, " n"]:
        """Log density at x, as the user's function has it: normalised or not."""
        import jax

        return np.asarray(jax.vmap(self._value)(self.rows(x)), dtype=float)

    @float64
    def score(self, x: Any) -> Rows:
        """Gradient of the log density, by automatic differentiation in float64."""
        import jax

        rows = self.rows(x)
        with differentiable("log_density"):
            values, slopes = (np.asarray(part) for part in jax.vmap(jax.value_and_grad(self._value))(rows))
        outside = int((~np.isfinite(values)).sum())  # where a slope may be finite: that of log x at -1 is -1
        require(
            outside == 0,
            f"log_density must be finite at every point, but is not at {outside} of {len(rows)}. Remove those.",
        )
        return slopes.astype(float)

    def coordinates(self, x: Any) -> tuple[Rows, Rows]:
        """The inputs' own coordinates; those with bounds go to the whole line."""
        return unconstrain(self.rows(x), self.score(x), self.lower, self.upper)

    def _value(self, x: Any) -> Any:
        """Log density at one point, as a float: a flat one may be written as 0."""
        import jax.numpy as jnp

        value = self.density(x)
        shape, found = np.shape(value), getattr(value, "dtype", repr(value))
        require(shape == (), f"log_density must give one number for one point, but gave shape {shape}. Sum its terms.")
        real = np.isrealobj(value) and (hasattr(value, "dtype") or isinstance(value, float | int))
        require(real, f"log_density must give a real number for one point, but gave {found}. Return a float.")
        return jnp.asarray(value, dtype=float)

    def __repr__(self) -> str:
        name = getattr(self.density, "__qualname__", type(self.density).__name__)
        return f"from_log_density({name}, names={list(self.names)}, lower={self.lower}, upper={self.upper})"


def from_log_density(
    log_density: Callable[..., Any],
    draws: Any,
    names: Sequence[str] | None = None,
    *,
    lower: Any = None,
    upper: Any = None,
) -> LogDensityInputs:
    """Inputs with any JAX log density of one point `(d,)`, up to a constant.

    `draws` are points `(n, d)` that follow it, or a function `(n, rng) -> (n, d)` that makes them. `lower` and `upper`
    bound the inputs, as in `vvcv.unconstrain`.

    >>> draws = np.random.default_rng(0).normal(size=(200, 2))
    >>> given = from_log_density(lambda x: -(x**2).sum() / 2, draws, names=["a", "b"])
    >>> bool(np.allclose(given.score(draws), -draws))
    True
    """
    return LogDensityInputs(log_density, draws, names, lower, upper)
