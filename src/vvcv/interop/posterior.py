"""A sampler's draws as tasks: points and scores without constraints, variables by name, asked as often as wanted.

z = points of the sampler's own unconstrained coordinates,   s = d/dz log p(z | data), Jacobian included
values = any functions of the constrained draws x(z)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from ..data import Task, Tasks, finite_array, require
from .integrands import Functions, Labels, integrands

#: Floats and whole numbers of every size -> the widest, in which functions of draws neither overflow nor round early.
WIDE = {"f": np.float64, "i": np.int64, "u": np.int64}


class Posterior(Tasks):
    """Draws of a posterior: the tasks asked for (by default the mean of every variable), and `expect` for others.

    `points` and `scores` have shape (chain, draw, d) and are kept as `unconstrained` and `unconstrained_scores`;
    `draws` maps the name of each variable to an array (chain, draw, ...); `labels` may name the elements along its
    later axes, and `parameters` the d coordinates.

    >>> z = np.random.default_rng(0).normal(size=(2, 100, 1))
    >>> posterior = Posterior(z, -z, {"tau": np.exp(z[..., 0])})
    >>> posterior
    Posterior(tau; 2 chains of 100 draws, d=1, T=1)
    >>> posterior.names, posterior.expect(moments=2).names
    (('tau',), ('tau', 'tau^2'))
    >>> posterior.expect(functions={"log tau": lambda draws: np.log(draws["tau"])})
    Tasks(T=1, d=1, n=[200])
    """

    def __init__(
        self,
        points: Any,
        scores: Any,
        draws: Mapping[str, Any],
        *,
        labels: Labels | None = None,
        parameters: Sequence[str] | None = None,
        var_names: Sequence[str] | str | None = None,
        moments: int = 1,
        functions: Functions | None = None,
    ) -> None:
        self.unconstrained: Float[np.ndarray, "chain draw d"] = finite_array(points, "points")
        self.unconstrained_scores: Float[np.ndarray, "chain draw d"] = finite_array(scores, "scores")
        require(
            self.unconstrained.ndim == 3,
            f"points of a posterior must have shape (chain, draw, d), but have {self.unconstrained.shape}. "
            "Add a first axis for one chain: points[None].",
        )
        self.draws = {str(name): _leading(values, name, self.unconstrained.shape[:2]) for name, values in draws.items()}
        self.labels = dict(labels or {})
        self.parameters = _parameter_names(parameters, self.unconstrained.shape[-1])
        super().__init__(self._tasks_for(var_names, moments, functions))

    def expect(
        self, var_names: Sequence[str] | str | None = None, moments: int = 1, functions: Functions | None = None
    ) -> Tasks:
        """Tasks for other integrands of the same draws; no gradient is computed again.

        `var_names` are names of variables (all by default, or none where functions are given) or of single elements;
        `moments=2` adds their squares. `functions` maps names to functions of a dict of draws. Each is called once,
        with whole arrays (chain, draw, ...), and gives an array (chain, draw), or (chain, draw, k) for k integrands.
        """
        return Tasks(self._tasks_for(var_names, moments, functions))

    def _tasks_for(self, var_names: Any, moments: int, functions: Functions | None) -> list[Task]:
        values = integrands(self.draws, self.labels, var_names, moments, functions)
        require(bool(values), f"No integrand was asked for. Name variables among {list(self.draws)}, or functions.")
        tasks: list[Task] = []
        for name, column in values.items():
            tasks.append(Task(self.unconstrained, self.unconstrained_scores, column, name=name))
            for field in ("points", "scores"):  # a thousand variables must not hold a thousand copies of the points
                object.__setattr__(tasks[-1], field, getattr(tasks[0], field))
        return tasks

    def __repr__(self) -> str:
        chains, draws, d = self.unconstrained.shape
        shapes = [name + (str(list(v.shape[2:])) if v.ndim > 2 else "") for name, v in self.draws.items()]
        return f"Posterior({', '.join(shapes)}; {chains} chains of {draws} draws, d={d}, T={len(self)})"


def _leading(values: Any, name: str, leading: tuple[int, ...]) -> Float[np.ndarray, "chain draw *shape"]:
    """Draws as a wide array; whether its numbers are finite matters only once they are asked for.

    They cannot be written to, by the user (what may change is copied) or by a function of the draws: other answers are
    made of them as well.
    """
    array = np.asarray(values)
    array = array.astype(WIDE.get(array.dtype.kind, array.dtype), copy=array.flags.writeable).view()
    array.flags.writeable = False
    require(
        array.shape[:2] == leading,
        f"draws of {name!r} must have leading axes (chain, draw) = {leading}, but have shape {array.shape}.",
    )
    return array


def _parameter_names(parameters: Sequence[str] | None, d: int) -> tuple[str, ...]:
    names = tuple(f"z[{j}]" for j in range(d)) if parameters is None else tuple(map(str, parameters))
    require(len(names) == d, f"parameters must name the {d} unconstrained coordinates, but there are {len(names)}.")
    return names
