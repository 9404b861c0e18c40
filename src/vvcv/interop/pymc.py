"""`from_pymc`: draws of a PyMC model (5 or 6), unconstrained and differentiated by the model itself.

z = transform.forward(x) for every variable that PyMC transforms,   s = d/dz model.logp, Jacobian included
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from ..data import require
from ..data.duplicates import point_numbers
from ..runtime.progress import progress_bar
from .angles import circular, cut_open
from .arviz import LEADING, POINTS, SCORES, from_arviz, group, posterior_of, reported, variables
from .extras import needs
from .integrands import Functions, elements
from .posterior import Posterior

Draws = dict[str, Float[np.ndarray, "chain draw *shape"]]


def from_pymc(
    idata: Any,
    model: Any = None,
    *,
    var_names: Sequence[str] | str | None = None,
    moments: int = 1,
    functions: Functions | None = None,
) -> Posterior:
    """A posterior from what `pymc.sample` returned, and the model it sampled (default: the model of the context).

    Unconstrained draws are taken where PyMC kept them and computed from the constrained ones otherwise. Scores are the
    gradients of the model's log density with respect to its continuous variables, at the draws of the discrete ones
    (and averaged over these where the continuous ones stay).
    `var_names`, `moments` and `functions` choose the integrands, as in `Posterior.expect`.

        idata = pymc.sample(model=model)
        vvcv.estimate(vvcv.from_pymc(idata, model))
    """
    model = _sampled(model)
    posterior, stats = posterior_of(idata), group(idata, "sample_stats")
    if stats is not None and POINTS in stats and SCORES in stats:  # PyMC sampled with nutpie, which kept them
        return from_arviz(idata, var_names=var_names, moments=moments, functions=functions)
    _refuse_other_data(model, group(idata, "constant_data"))
    draws, labels = variables(posterior)
    values = _unconstrained(_beside(idata, posterior), model, draws)
    names = [value.name for value in model.continuous_value_vars]
    require(bool(names), "The model has no continuous variables, and control variates need scores.")
    leading = posterior.sizes["chain"], posterior.sizes["draw"]
    parameters = [element for name in names for element, _ in elements(name, values[name], {})]
    points = np.concatenate([values[name].reshape(*leading, -1) for name in names], axis=-1)
    scores = _at_every_draw(_that_works(model.compile_dlogp, values), values, "gradients at the draws")[0]
    scores = _averaged(points, scores) if model.discrete_value_vars else scores
    return Posterior(
        *cut_open(points, scores, circular(parameters)),
        reported(draws),
        labels=labels,
        parameters=parameters,
        var_names=var_names,
        moments=moments,
        functions=functions,
    )


def _sampled(model: Any) -> Any:
    """The model given, or that of the context."""
    try:
        found = needs("pymc", "from_pymc").modelcontext(model)
    except TypeError:  # PyMC knows of none
        found = None
    require(
        hasattr(found, "continuous_value_vars"),
        "from_pymc needs the model that was sampled, but got "
        f"{'none' if found is None else type(found).__name__}. Pass it, from_pymc(idata, model), or call within it.",
    )
    return found


def _refuse_other_data(model: Any, sampled: Any) -> None:
    """Data that were exchanged after sampling, as for predictions, would give scores of another posterior."""
    if sampled is None:
        return
    names = [name for name in getattr(model, "named_vars", {}) if name in sampled]
    data = {name: model[name] for name in names if hasattr(model[name], "get_value")}
    other = [name for name, held in data.items() if not _equal(held.get_value(), sampled[name].values)]
    require(
        not other,
        f"The data {other} of the model are not those it was sampled with (constant_data): scores would be those of "
        "another posterior. Put them back: pymc.set_data({NAME: idata.constant_data[NAME].values}, model=model).",
    )


def _equal(held: np.ndarray, sampled: np.ndarray) -> bool:
    return held.shape == sampled.shape and bool(np.allclose(held, sampled, equal_nan=True))


def _beside(idata: Any, posterior: Any) -> Draws:
    """Unconstrained draws that PyMC 6 keeps beside the posterior, those of its chains and draws."""
    beside = group(idata, "unconstrained_posterior")
    if beside is None:
        return {}
    labels = {axis: posterior[axis] for axis in LEADING if axis in beside.coords}
    return variables(beside.sel(labels))[0]


def _unconstrained(beside: Draws, model: Any, draws: Draws) -> Draws:
    """Draws of the model's value variables: as kept in the posterior (PyMC 5) or beside it (6), else transformed."""
    kept = {**beside, **draws}
    names = {rv: model.rvs_to_values[rv].name for rv in model.free_RVs}
    missing = [rv.name for rv, name in names.items() if name not in kept and rv.name not in draws]
    require(not missing, f"The posterior holds no draws of {missing}, and scores need all variables of the model.")
    rest = [rv for rv, name in names.items() if name not in kept]
    if rest:
        transformed = [model.rvs_to_transforms[rv].forward(rv, *rv.owner.inputs) for rv in rest]
        compiled = partial(model.compile_fn, transformed, inputs=model.free_RVs, on_unused_input="ignore")
        source = {rv.name: draws[rv.name] for rv in model.free_RVs}
        columns = _at_every_draw(_that_works(compiled, source), source, "unconstrained draws")
        kept.update({names[rv]: column for rv, column in zip(rest, columns, strict=True)})
    return {name: kept[name] for name in names.values()}


def _that_works(compiled: Callable[..., Any], values: Draws) -> Any:
    """A function in the user's mode of PyTensor or, where it fails at the first draw, in PyTensor's own.

    In JAX mode gradients of variables with named dimensions cannot be joined, which samplers do not need.
    """
    function = compiled()
    try:
        function(_draw(values, (0, 0)))
    except Exception:  # of whatever kind: the other mode says what is wrong with the model
        with needs("pymc", "from_pymc", "pytensor").config.change_flags(mode="Mode"):
            return compiled()
    return function


def _draw(values: Draws, place: tuple[int, ...]) -> dict[str, np.ndarray]:
    return {name: array[place] for name, array in values.items()}


def _at_every_draw(function: Any, values: Draws, what: str) -> list[np.ndarray]:
    """A compiled function of one draw at all draws, with a progress bar if it takes long: an array per output."""
    leading = next(iter(values.values())).shape[:2]
    rows = []
    with progress_bar(what, int(np.prod(leading))) as step:
        for place in np.ndindex(*leading):
            rows.append(_outputs(function(_draw(values, place))))
            step()
    return [np.stack(column).reshape(*leading, *np.shape(column[0])) for column in zip(*rows, strict=True)]


def _averaged(points: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Scores averaged where points repeat: discrete variables have moved there, and continuous ones have not.

    >>> _averaged(np.zeros((1, 2, 1)), np.array([[[1.0], [3.0]]])).ravel()
    array([2., 2.])
    """
    rows = point_numbers(points.reshape(-1, points.shape[-1]))
    sums = np.stack([np.bincount(rows, column) for column in scores.reshape(-1, scores.shape[-1]).T], axis=-1)
    return (sums / np.bincount(rows)[:, None])[rows].reshape(scores.shape)


def _outputs(result: Any) -> list[np.ndarray]:
    return [np.asarray(output) for output in (result if isinstance(result, list | tuple) else [result])]
