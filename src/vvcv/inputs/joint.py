"""All inputs of a simulator together: draws, coordinates that suit the estimate, scores, tasks.

    z_j = Phi^-1(F_j(x_j)),   z ~ N(0, R),   R = L L',   points L^-1 z ~ N(0, I),   scores -L^-1 z

With R = I the inputs are independent, otherwise they have a Gaussian copula. In their own coordinates

    log p(x) = sum_j log p_j(x_j) - z'(R^-1 - I) z / 2 - log|R| / 2

The Gaussian coordinates have no bounds and no heavy tails, and all tasks one Gaussian target.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from ..data import Task, Tasks, finite_array, require
from ..data.about_inputs import HeavyInput
from ..data.tails import LIGHT, grows, outermost
from ..data.unconstrain import unconstrain
from ..data.validation import column_names
from .designs import standard_normal
from .distribution import Distribution
from .families import as_distribution, number
from .natural import seen_otherwise

Columns = dict[str, Float[np.ndarray, " n"]]
Rows = Float[np.ndarray, "n d"]


class Inputs(ABC):
    """Named inputs with a joint distribution; points `x` are given by name, or as rows in the order of `names`."""

    names: tuple[str, ...]

    @abstractmethod
    def sample(self, n: int, seed: Any = 0, design: str = "random") -> Columns:
        """n points, one array for each name: `model(**inputs.sample(100))` where the model takes arrays."""

    @abstractmethod
    def log_density(self, x: Any) -> Float[np.ndarray, " n"]:
        """Log density in the inputs' own coordinates."""

    @abstractmethod
    def score(self, x: Any) -> Rows:
        """Gradient of the log density in the inputs' own coordinates."""

    @abstractmethod
    def coordinates(self, x: Any) -> tuple[Rows, Rows]:
        """Points and scores in the coordinates in which estimates are made."""

    def task(self, x: Any, values: Any, name: str | None = None) -> Task:
        """A model's values at points x, as a task for `vvcv.estimate`."""
        return Task(*self.coordinates(x), values, name=name, inputs=self.names)

    def tasks_from_table(self, table: Any, value: Any = "value", fidelity: str | None = None) -> Tasks:
        """Tasks from a table of runs, one row each: a CSV or Parquet file, a pandas table or a dict of columns.

        The table has a column for every input, one for the value (or several: a list), and one that names the model
        where there are several. Rows whose value is missing are failed runs: left out, with a warning.
        """
        from .tables import read_runs

        return Tasks([self.task(*runs) for runs in read_runs(table, self.names, value, fidelity)])

    def rows(self, x: Any) -> Rows:
        """Points as an (n, d) array, from columns by name, a table (pandas, Polars, Arrow), or such an array."""
        known = x.keys() if hasattr(x, "keys") else column_names(x)
        if known is not None:
            missing = [name for name in self.names if name not in known]
            require(not missing, f"x must have a column for every input, but {missing} are missing. Add them.")
            columns = {name: np.ravel(finite_array(x[name], name)) for name in self.names}
            sizes = {name: column.size for name, column in columns.items()}
            require(len(set(sizes.values())) == 1, f"x must have as many entries of every input, but has {sizes}.")
            x = np.column_stack(list(columns.values()))
        x = finite_array(x, "x")
        x = x[:, None] if x.ndim == 1 and len(self.names) == 1 else x
        require(
            x.ndim == 2 and x.shape[1] == len(self.names),
            f"x must hold one column per input, {list(self.names)}, but has shape {x.shape}. Give columns by name.",
        )
        return x

    def columns(self, rows: Rows) -> Columns:
        """An (n, d) array as columns by name."""
        return {name: np.ascontiguousarray(rows[:, j]) for j, name in enumerate(self.names)}


class GaussianInputs(Inputs):
    """Inputs that a known map makes standard normal: marginal distributions with a Gaussian copula."""

    def __init__(self, marginals: Mapping[str, Any], correlation: Any = None) -> None:
        require(len(marginals) > 0, "There must be at least one input, but none was given. Give name=distribution.")
        self.marginals: dict[str, Distribution] = {name: as_distribution(law) for name, law in marginals.items()}
        self.names = tuple(self.marginals)
        for name, marginal in self.marginals.items():
            marginal.require_told_apart(name)
        self.correlation = _correlation(correlation, self.names)
        self._factor = np.linalg.cholesky(self.correlation)
        self._otherwise = list(seen_otherwise(self.marginals.values()))

    def sample(self, n: int, seed: Any = 0, design: str = "random") -> Columns:
        """n points, "random", "latin-hypercube" or "sobol"; `seed` is whatever `numpy.random.default_rng` takes."""
        z = standard_normal(n, len(self.names), np.random.default_rng(seed), design) @ self._factor.T
        return {name: marginal.from_normal(z[:, j]) for j, (name, marginal) in enumerate(self.marginals.items())}

    def log_density(self, x: Any) -> Float[np.ndarray, " n"]:
        """Log density in the inputs' own coordinates."""
        x, z = self.rows(x), self._normal(x)
        own = sum(marginal.log_density(x[:, j]) for j, marginal in enumerate(self.marginals.values()))
        return own + (z * self._linked(z)).sum(axis=1) / 2 - np.log(np.diag(self._factor)).sum()

    def score(self, x: Any) -> Rows:
        """Gradient of the log density in the inputs' own coordinates."""
        x = self.rows(x)
        linked = self._linked(self._normal(x))
        each = enumerate(self.marginals.values())
        return np.column_stack([m.score(x[:, j]) + linked[:, j] * m.slope(x[:, j]) for j, m in each])

    def coordinates(self, x: Any) -> tuple[Rows, Rows]:
        """Standard normal points, and their scores."""
        z = np.linalg.solve(self._factor, self._normal(x).T).T
        return z, -z

    def by_logarithms(self, points: Rows, scores: Rows) -> tuple[Rows, Rows]:
        """From Gaussian points to each input, those with bounds by logarithms and logits, and the scores of the law."""
        there, laws = points @ self._factor.T, list(self.marginals.values())
        x = np.column_stack([law.from_normal(there[:, j]) for j, law in enumerate(laws)])
        slopes, axes = self._linked(there) - there, self._otherwise
        low, high = np.array([laws[j].law.support() for j in axes]).T
        there[:, axes], slopes[:, axes] = unconstrain(x[:, axes], self.score(x)[:, axes], low, high)
        return there, slopes

    def task(self, x: Any, values: Any, name: str | None = None) -> Task:
        """A model's values at points x, as a task for `vvcv.estimate`, which knows what normal coordinates do not show.

        That is heavy tails that values grow into, and inputs with bounds as they are by logarithms and logits.
        """
        task, z = super().task(x, values, name), self._normal(x)
        each = ((HeavyInput(name, law.power), np.abs(z[:, j])) for j, (name, law) in enumerate(self.marginals.items()))
        tails = [heavy for heavy, distance in each if heavy.power < LIGHT and grows(task.values, outermost(distance))]
        return replace(task, tails=tuple(tails), elsewhere=self.by_logarithms if self._otherwise else None)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={marginal}" for name, marginal in self.marginals.items())
        if (self.correlation == np.eye(len(self.names))).all():
            return f"independent({inside})"
        return f"correlated({self.correlation.tolist()}, {inside})"

    def _normal(self, x: Any) -> Rows:
        x = self.rows(x)
        return np.column_stack([m.to_normal(x[:, j], name) for j, (name, m) in enumerate(self.marginals.items())])

    def _linked(self, z: Rows) -> Rows:
        """(I - R^-1) z: what the copula adds to the scores of z."""
        return z - np.linalg.solve(self.correlation, z.T).T


def independent(**marginals: Any) -> GaussianInputs:
    """Independent inputs by name, each a distribution of this module or one of `scipy.stats`.

    >>> from vvcv import inputs
    >>> given = inputs.independent(width=inputs.normal(2, 0.1), load=inputs.uniform(5, 9))
    >>> x = given.sample(50, seed=0)
    >>> given.task(x, x["load"] * x["width"], "force")
    Task('force', n=50, d=2)
    """
    return GaussianInputs(marginals)


def correlated(correlation: Any, **marginals: Any) -> GaussianInputs:
    """Inputs linked by a Gaussian copula: correlations of z, in a matrix, in a pandas table by name or pair by pair.

    >>> from vvcv import inputs
    >>> linked = inputs.correlated({("a", "b"): 0.8}, a=inputs.exponential(1), b=inputs.gamma(3))
    >>> x = linked.sample(1000, seed=1)
    >>> bool(0.6 < np.corrcoef(x["a"], x["b"])[0, 1] < 0.8)
    True
    """
    return GaussianInputs(marginals, correlation)


def _in_order(given: Any, names: tuple[str, ...]) -> Any:
    """A table of pandas with the inputs' names goes by them, whatever its order; all else is in their order."""
    if not (hasattr(given, "columns") and hasattr(given, "index")):
        return given
    require(
        set(names) == set(given.columns) == set(given.index),
        f"A table of correlations must have a row and a column for each of the inputs {list(names)}, but has columns "
        f"{list(given.columns)}. Rename them, or pass an array in the order of the inputs.",
    )
    return given.loc[list(names), list(names)]


def _correlation(given: Any, names: tuple[str, ...]) -> Float[np.ndarray, "d d"]:
    matrix = np.eye(len(names))
    if isinstance(given, Mapping):
        for pair, value in given.items():
            known = isinstance(pair, tuple) and len(set(pair)) == len(pair) == 2 and set(pair) <= set(names)
            require(known, f"Correlations are given for pairs of the inputs {list(names)}, but {pair!r} is none.")
            possible = abs(number(f"The correlation of {pair!r}", value)) <= 1
            require(possible, f"A correlation must lie between -1 and 1, but that of {pair!r} is {value!r}.")
            other = given.get(pair[::-1], value)
            require(
                other == value, f"A pair has one correlation, but {pair!r} has {value!r} and the other way {other!r}."
            )
            i, j = names.index(pair[0]), names.index(pair[1])
            matrix[i, j] = matrix[j, i] = value
    elif given is not None:
        matrix = finite_array(_in_order(given, names), "correlation")
    require(
        matrix.shape == (len(names),) * 2
        and np.allclose(matrix, matrix.T, atol=1e-12)
        and bool(np.allclose(np.diag(matrix), 1)),
        f"correlation must be a symmetric {len(names)} by {len(names)} matrix with ones on its diagonal, in the order "
        f"of the inputs {list(names)}, but is {matrix.tolist()}.",
    )
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    require(smallest > 1e-10, f"correlation must be positive definite, but its smallest eigenvalue is {smallest:.2g}.")
    return matrix
