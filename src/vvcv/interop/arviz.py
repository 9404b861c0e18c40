"""`from_arviz`: an `InferenceData` or `DataTree` whose file says where the sampler was, and which way was up.

    sample_stats/unconstrained_draw   points   (chain, draw, unconstrained_parameter)
    sample_stats/gradient             scores   of the same shape: the names that nutpie gives them

Groups are aligned by the labels of their chains and draws, never by position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import require
from ..data.axes import chains_first, in_order_of
from ..estimation.summary import names_of
from .angles import circular, cut_open
from .integrands import Functions, Labels
from .logdensity import scores_at
from .posterior import Posterior
from .pytrees import flatten

if TYPE_CHECKING:
    import xarray as xr

POINTS, SCORES, LEADING = "unconstrained_draw", "gradient", ("chain", "draw")

REMEDY = (
    "Call the function for your sampler first: vvcv.from_pymc(idata, model), vvcv.from_numpyro(mcmc), "
    "vvcv.from_blackjax(states), vvcv.from_stan(fit); or sample with nutpie.sample(..., store_unconstrained=True, "
    "store_gradient=True), or pass logdensity= to vvcv.from_arviz."
)


def from_arviz(
    idata: Any,
    *,
    logdensity: Callable[[Any], Any] | None = None,
    parameters: Sequence[str] | str | None = None,
    var_names: Sequence[str] | str | None = None,
    moments: int = 1,
    functions: Functions | None = None,
) -> Posterior:
    """A posterior from an ArviZ `InferenceData` or an xarray `DataTree` with the group posterior.

    Points and scores are read from the group sample_stats, as nutpie writes them. Where it holds no gradients, pass a
    JAX function `logdensity`, of one unconstrained draw if these are there; else of a dict of the posterior variables
    named in `parameters` (default: all), which must then be unconstrained themselves. `var_names`, `moments` and
    `functions` choose the integrands, as in `Posterior.expect`; elements are named by their coordinates.

    >>> import xarray as xr
    >>> z = xr.DataArray(np.random.default_rng(0).normal(size=(2, 50)), dims=("chain", "draw"))
    >>> tree = xr.DataTree.from_dict({"posterior": xr.Dataset({"mu": z})})
    >>> from_arviz(tree, logdensity=lambda draw: -draw["mu"] ** 2 / 2).names
    ('mu',)
    """
    posterior, stats = posterior_of(idata), group(idata, "sample_stats")
    kept = stats is not None and POINTS in stats
    found = _kept(posterior, stats, logdensity) if kept else _computed(posterior, logdensity, parameters)
    return Posterior(**found, var_names=var_names, moments=moments, functions=functions)


def group(idata: Any, name: str) -> xr.Dataset | None:
    """One group of an `InferenceData` or `DataTree` as a dataset, or None."""
    require(
        hasattr(idata, "groups"),
        f"An InferenceData or DataTree is needed, but this is a {type(idata).__name__}. "
        "Pass what your sampler returned, or read a file with arviz.from_netcdf or xarray.open_datatree.",
    )
    try:
        found = idata[name]
    except KeyError:
        return None
    return _with_chains(found.to_dataset() if hasattr(found, "to_dataset") else found)


def _with_chains(dataset: xr.Dataset) -> xr.Dataset:
    """One chain that was selected, which has lost its axis, as one of one chain."""
    if "draw" in dataset.dims and "chain" not in dataset.dims:
        return dataset.expand_dims("chain")
    return dataset


def posterior_of(idata: Any) -> xr.Dataset:
    """The group posterior, which must be there."""
    found = group(idata, "posterior")
    if found is None:
        raise ValueError("There is no group 'posterior' in this object. Pass what your sampler returned.")
    require(
        set(LEADING) <= set(found.dims) and bool(variables(found)[0]),
        "The group 'posterior' must hold variables with axes chain and draw, but has variables "
        f"{list(found.data_vars)} with axes {list(found.dims)}. Pass what your sampler returned; draws that were "
        "stacked are taken apart by unstack.",
    )
    return found


def variables(posterior: xr.Dataset) -> tuple[dict[str, np.ndarray], Labels]:
    """Numeric variables as arrays (chain, draw, ...), and the labels along their later axes."""
    draws, labels = {}, {}
    for name, variable in posterior.data_vars.items():
        if set(LEADING) <= set(variable.dims) and variable.dtype.kind in "fiub":
            ordered = variable.transpose(*LEADING, ...)
            draws[str(name)] = np.asarray(ordered.values)
            labels[str(name)] = [list(ordered[dim].values) for dim in ordered.dims[2:]]
    return draws, labels


def reported(draws: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Without the sampler's own coordinates, such as tau_log__, which PyMC and nutpie may put into the posterior."""
    return {name: values for name, values in draws.items() if not name.endswith("__")} or draws


def _kept(posterior: xr.Dataset, stats: Any, logdensity: Callable[[Any], Any] | None) -> dict[str, Any]:
    """What a posterior is made of, from the unconstrained draws that the sampler kept."""
    import xarray as xr

    require(SCORES in stats or logdensity is not None, f"sample_stats holds no {SCORES!r}. {REMEDY}")
    posterior, stats = xr.align(posterior, stats, join="inner", exclude=set(stats.dims) - set(LEADING))
    draws, labels = variables(posterior)
    kept = chains_first(stats[POINTS], points=True)
    points = np.asarray(kept, np.float64)
    scores = (
        np.asarray(in_order_of(kept, chains_first(stats[SCORES], points=True)), np.float64)
        if logdensity is None
        else scores_at(logdensity, points)
    )
    names = [str(name) for name in kept[kept.dims[-1]].values]
    points, scores = cut_open(points, scores, circular(names))
    return {"points": points, "scores": scores, "draws": reported(draws), "labels": labels, "parameters": names}


def _computed(
    posterior: xr.Dataset, logdensity: Callable | None, parameters: Sequence[str] | str | None
) -> dict[str, Any]:
    """What a posterior is made of, from a log density of its variables."""
    if logdensity is None:
        raise ValueError(f"There are no scores: sample_stats holds no {POINTS!r}. {REMEDY}")
    draws, labels = variables(posterior)
    chosen = list(draws) if parameters is None else names_of(parameters, "parameters")
    unknown = [name for name in chosen if name not in draws]
    require(not unknown, f"There is no posterior variable {unknown}; the variables are {list(draws)}.")
    flat = flatten({name: draws[name] for name in chosen}, True)
    scores = scores_at(logdensity, flat.points, flat.unravel)
    names = flat.parameters
    return {"points": flat.points, "scores": scores, "draws": reported(draws), "labels": labels, "parameters": names}
