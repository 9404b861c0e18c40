"""`from_stan`: Stan keeps the unconstrained draw and the gradient of every iteration, if one knows where.

    score = -g_*,   g_* = gradient of the potential energy, beside the unconstrained coordinates * and momenta p_*

PyStan: the diagnostic messages in `fit.stan_outputs`. CmdStanPy: the files of `sample(save_latent_dynamics=True)`.
BridgeStan: a model that differentiates any draws.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ..data import require
from ..runtime.progress import progress_bar
from .integrands import Functions
from .posterior import Posterior

#: column -> its numbers, one for every iteration of every chain that Stan wrote
Columns = dict[str, Float[np.ndarray, "chain draw"]]
Draws = dict[str, Float[np.ndarray, "chain draw *shape"]]


def from_stan(
    fit: Any,
    model: Any = None,
    *,
    var_names: Sequence[str] | str | None = None,
    moments: int = 1,
    functions: Functions | None = None,
) -> Posterior:
    """A posterior from a fit of PyStan 3, or of CmdStanPy with `save_latent_dynamics=True`.

    Without latent dynamics, pass `model`, a `bridgestan.StanModel` with the same data, which computes the scores.
    `var_names`, `moments` and `functions` choose the integrands, as in `Posterior.expect`; elements of arrays are
    counted from zero, as everywhere in Python.

        fit = stan.build(program, data=data).sample(num_chains=4)
        vvcv.estimate(vvcv.from_stan(fit))
    """
    draws, dynamics = _pystan(fit) if hasattr(fit, "stan_outputs") else _cmdstanpy(fit, wanted=model is None)
    names, points, scores = _trajectory(dynamics) if model is None else _differentiated(model, draws)
    return Posterior(points, scores, draws, parameters=names, var_names=var_names, moments=moments, functions=functions)


def _pystan(fit: Any) -> tuple[Draws, Columns]:
    """Draws and latent dynamics from the messages of httpstan, one JSON object to a line, without warmup."""
    kept = ceil(fit.num_samples / fit.num_thin)
    found: dict[str, list[list[dict[str, float]]]] = {"sample": [], "diagnostic": []}
    for output in fit.stan_outputs:
        messages = [json.loads(line) for line in output.splitlines() if line.strip()]
        for topic, chains in found.items():
            rows = [m["values"] for m in messages if m["topic"] == topic and isinstance(m["values"], dict)]
            chains.append(rows[-kept:])
    return _variables(_columns(found["sample"])), _columns(found["diagnostic"])


def _cmdstanpy(fit: Any, wanted: bool) -> tuple[Draws, Columns]:
    """Draws, and the latent dynamics that CmdStan wrote beside them if they are wanted, without warmup."""
    require(
        hasattr(fit, "stan_variables") and hasattr(fit, "runset"),
        f"from_stan takes a fit of PyStan, or of the method sample of CmdStanPy, but got a {type(fit).__name__}.",
    )
    count = int(fit.num_draws_sampling)
    draws = {
        name: values.reshape(fit.chains, count, *values.shape[1:]) for name, values in fit.stan_variables().items()
    }
    files = [Path(path) for path in fit.runset.diagnostic_files if path] if wanted else []
    require(
        len(files) == (fit.chains if wanted else 0) and all(path.exists() for path in files),
        "This fit kept no gradients. Sample with save_latent_dynamics=True, or pass model=bridgestan.StanModel(...).",
    )
    return draws, _columns([_csv_rows(path)[-count:] for path in files])


def _csv_rows(path: Path) -> list[dict[str, float]]:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    names = lines[0].split(",")
    return [dict(zip(names, map(float, line.split(",")), strict=True)) for line in lines[1:]]


def _columns(chains: list[list[dict[str, float]]]) -> Columns:
    sizes = {len(rows) for rows in chains}
    if not chains or sizes == {0}:
        return {}
    require(len(sizes) == 1, f"All chains must have as many draws, but they have {[len(rows) for rows in chains]}.")
    return {name: np.array([[row[name] for row in rows] for rows in chains]) for name in chains[0][0]}


def _variables(columns: Columns) -> Draws:
    """Stan's columns `theta.2.1` (indices from one, first index fastest) gathered into arrays by variable."""
    gathered: dict[str, list[tuple[tuple[int, ...], np.ndarray]]] = {}
    for column, values in columns.items():
        if not column.endswith("__"):
            name, index = _split(column)
            gathered.setdefault(name, []).append((index, values))
    return {name: _array(entries) for name, entries in gathered.items()}


def _array(entries: Iterable[tuple[tuple[int, ...], np.ndarray]]) -> Float[np.ndarray, "chain draw *shape"]:
    places, values = zip(*entries, strict=True)
    array = np.empty((*values[0].shape, *(np.max(places, axis=0) + 1 if places[0] else ())))
    for place, column in zip(places, values, strict=True):
        array[(..., *place)] = column
    return array


def _split(column: str) -> tuple[str, tuple[int, ...]]:
    name, *indices = column.split(".")
    return name, tuple(int(index) - 1 for index in indices)


def _trajectory(dynamics: Columns) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Coordinates, points and scores: for each coordinate z there are columns z, p_z (momentum) and g_z."""
    names = [name for name in dynamics if f"p_{name}" in dynamics and f"g_{name}" in dynamics]
    require(
        bool(names), "This fit kept no gradients. Sample with HMC or NUTS, or pass model=bridgestan.StanModel(...)."
    )
    require(
        3 * len(names) == sum(not column.endswith("__") for column in dynamics),
        f"Stan writes momenta as p_NAME and gradients as g_NAME, and among {names} a parameter has such a name itself, "
        "so that columns cannot be told apart. Rename it in the Stan program, or pass model=bridgestan.StanModel(...).",
    )
    points = np.stack([dynamics[name] for name in names], axis=-1)
    return names, points, -np.stack([dynamics[f"g_{name}"] for name in names], axis=-1)


def _differentiated(model: Any, draws: Draws) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Coordinates, points and scores by BridgeStan's model at every draw of its parameters."""
    columns = [np.moveaxis(draws[name], (0, 1), (-2, -1))[index] for name, index in map(_split, model.param_names())]
    constrained = np.stack(columns, axis=-1)
    free, scores = [], []
    with progress_bar("gradients at the draws", constrained[..., 0].size) as step:
        for row in constrained.reshape(-1, len(columns)):
            free.append(model.param_unconstrain(np.ascontiguousarray(row)))
            scores.append(model.log_density_gradient(free[-1])[1])
            step()
    leading = constrained.shape[:2]
    return model.param_unc_names(), np.reshape(free, (*leading, -1)), np.reshape(scores, (*leading, -1))
