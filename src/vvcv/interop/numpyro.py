"""`from_numpyro`: draws of a NumPyro MCMC run, with the gradients the sampler has computed where it kept them.

    score = -z_grad,   z_grad = gradient of the potential energy at the unconstrained draw

Keep them with `mcmc.run(key, ..., extra_fields=("z_grad",))`; without, they are computed from the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..data import require
from .angles import cut_open
from .double import in_double
from .extras import needs
from .integrands import Functions
from .logdensity import scores_at
from .posterior import Posterior
from .pytrees import Flat, flatten

#: How far a draw may move, in standard deviations, where its last digit in single precision changes, with which kept
#: scores are its own. (Draws of a Dirichlet(.2) next to a corner move by up to 4, and their scores belong elsewhere:
#: intervals of 20 runs held 40 and 50 %, with scores computed anew 100 and 95 %.)
TOLD_APART = 1e-3

#: How NumPyro names what it samples in the place of X, and a site that it puts beside it.
CIRCULAR, MASKED = ("_unwrapped", "_factor"), ("_unobserved", "_observed")


def from_numpyro(
    mcmc: Any,
    *,
    model_args: Sequence[Any] | None = None,
    model_kwargs: Mapping[str, Any] | None = None,
    var_names: Sequence[str] | str | None = None,
    moments: int = 1,
    functions: Functions | None = None,
) -> Posterior:
    """A posterior from a finished `numpyro.infer.MCMC` run of HMC, NUTS or any kernel with a model.

    `model_args` and `model_kwargs` are what the model was run with; by default, what `mcmc` remembers of its run.
    Scores are the sampler's own, to the precision it ran in, if it ran with `extra_fields=("z_grad",)`, and computed
    in float64 otherwise, or where single precision has lost what tells draws apart (next to a bound). `var_names`,
    `moments` and `functions` choose the integrands, as in `Posterior.expect`.

        mcmc.run(key, X, y=y, extra_fields=("z_grad",))
        vvcv.estimate(vvcv.from_numpyro(mcmc))
    """
    util = needs("numpyro", "from_numpyro", "numpyro.infer.util")
    require(
        getattr(mcmc, "last_state", None) is not None and hasattr(mcmc, "get_samples"),
        f"from_numpyro takes a numpyro.infer.MCMC that has run, but got a {type(mcmc).__name__} that has not.",
    )
    samples = mcmc.get_samples(group_by_chain=True)
    kept = mcmc.get_extra_fields(group_by_chain=True).get("z_grad")
    if getattr(mcmc.sampler, "model", None) is None:  # run on a potential energy: its draws are not transformed
        flat, potential = flatten(samples, True), None
        draws, angles = flat.draws, list[str]()
    else:
        draws = {name: np.asarray(values) for name, values in samples.items()}
        model, args, kwargs = _model(mcmc, model_args, model_kwargs)
        names, summed_out, angles, unseen = _latent_sites(model, args, kwargs, draws)
        flat, told_apart = _unconstrained(model, args, kwargs, {name: draws[name] for name in names})
        kept = kept if told_apart or summed_out else None
        potential = None if summed_out else partial(util.potential_energy, model, args, kwargs)
        draws = {name: values for name, values in draws.items() if name not in (*angles, *unseen)}
    scores = _scores(flat, potential) if kept is None else -flatten(kept, True).points
    return Posterior(
        **_proper(flat, scores, angles), draws=draws, var_names=var_names, moments=moments, functions=functions
    )


def _proper(flat: Flat, scores: np.ndarray, angles: list[str]) -> dict[str, Any]:
    """Points, scores and parameters, angles cut open, without coordinates that the density does not depend on.

    Such a coordinate has no density at all, and the sampler walks along it at random: the entries of X_unobserved at
    which `obs_mask` says that X was observed.
    """
    angle = np.array([parameter.partition("[")[0] in angles for parameter in flat.parameters])
    points, scores = cut_open(flat.points, scores, angle)
    matters = (scores != 0).any(axis=(0, 1))
    require(bool(matters.any()), "All scores are zero: the log density does not depend on any variable of the model.")
    parameters = [flat.parameters[j] for j in np.flatnonzero(matters)]
    return {"points": points[..., matters], "scores": scores[..., matters], "parameters": parameters}


def _scores(flat: Flat, potential: Callable[[Any], Any] | None) -> np.ndarray:
    require(
        potential is not None,
        "Scores cannot be computed from this run: it has no model, or one with discrete sites that were summed "
        "out. Run it with mcmc.run(..., extra_fields=('z_grad',)), or use vvcv.from_logdensity.",
    )
    return scores_at(lambda z: -potential(flat.unravel(z)), flat.points)  # type: ignore[misc]


def _model(mcmc: Any, model_args: Any, model_kwargs: Any) -> tuple[Any, tuple, dict]:
    """The model, seeded, with its arguments; NumPy arrays are copied, for the reason that `double` tells."""
    handlers = needs("numpyro", "from_numpyro", "numpyro.handlers")
    args = getattr(mcmc, "_args", ()) if model_args is None else model_args
    kwargs = getattr(mcmc, "_kwargs", {}) if model_kwargs is None else model_kwargs
    arguments = jax.tree.map(
        lambda leaf: np.array(leaf) if isinstance(leaf, np.ndarray) else leaf, (tuple(args), dict(kwargs))
    )
    return handlers.seed(mcmc.sampler.model, jax.random.PRNGKey(0)), *arguments


@in_double
def _unconstrained(model: Any, args: tuple, kwargs: dict, latent: dict[str, np.ndarray]) -> tuple[Flat, bool]:
    """Draws of the latent sites, (chain, draw, ...), on the whole real line, and whether digits tell them apart."""
    util = needs("numpyro", "from_numpyro", "numpyro.infer.util")
    free = jax.jit(jax.vmap(lambda draw: util.unconstrain_fn(model, args, kwargs, draw)))
    leading = next(iter(latent.values())).shape[:2]

    def flat(draws: Mapping[str, np.ndarray]) -> Flat:
        rows = {name: values.reshape(-1, *values.shape[2:]).astype(np.float64) for name, values in draws.items()}
        return flatten({name: np.asarray(z).reshape(*leading, *z.shape[1:]) for name, z in free(rows).items()}, True)

    found, beside = flat(latent), flat({name: _next_number(values) for name, values in latent.items()})
    moved = np.abs(beside.points - found.points).max(axis=(0, 1))
    return found, bool((moved <= TOLD_APART * found.points.std(axis=(0, 1))).all())


def _next_number(values: np.ndarray) -> np.ndarray:
    """Every number's neighbour in its own precision, above or below in turn."""
    towards = np.where(np.arange(values.size).reshape(values.shape) % 2, np.inf, -np.inf)
    return np.nextafter(values, towards.astype(values.dtype))


class Latent(NamedTuple):
    """Continuous latent sites, whether there are discrete ones, which were summed out, and what stands for others.

    X_unwrapped of `CircularReparam` is an angle X and how often it went round; X_unobserved of `obs_mask` are the
    missing entries of X, among others that mean nothing.
    """

    names: list[str]
    summed_out: bool
    angles: list[str]
    unseen: list[str]


def _latent_sites(model: Any, args: tuple, kwargs: dict, draws: dict[str, np.ndarray]) -> Latent:
    handlers = needs("numpyro", "from_numpyro", "numpyro.handlers")
    one = {name: jnp.asarray(values[0, 0]) for name, values in draws.items()}  # NumPyro's scan indexes them by tracers
    sites = handlers.trace(handlers.substitute(model, data=one)).get_trace(*args, **kwargs)
    parts = [name for name, site in sites.items() if site["type"] == "plate" and len(site["value"]) < site["args"][0]]
    require(
        not parts,
        f"The model looks at a subsample of its plates {parts}, and scores of a part of the data are not those of the "
        "posterior. Sample a model without subsample_size, or pass model_args with which it has none.",
    )
    free = [name for name, site in sites.items() if site["type"] == "sample" and not site["is_observed"]]
    continuous = [name for name in free if not sites[name]["fn"].support.is_discrete]
    sampled = [name for name in free if name not in continuous and name in draws]
    require(
        not sampled,
        f"The run sampled the discrete sites {sampled} (DiscreteHMCGibbs, MixedHMC), and scores given them are not "
        "those of the posterior of the others. Run NUTS, which sums discrete sites out where funsor is installed, with "
        "extra_fields=('z_grad',), or write the sum into the model (MixtureSameFamily).",
    )
    missing = [name for name in continuous if name not in draws]
    require(
        not missing,
        f"The run kept no draws of the sites {missing} (remove_sites, or other model_args?), and scores need all of "
        f"them; it kept {list(draws)}. Run the sampler without remove_sites.",
    )
    angles, unseen = (_standing_for(continuous, sites, *names) for names in (CIRCULAR, MASKED))
    return Latent(continuous, len(continuous) < len(free), angles, unseen)


def _standing_for(names: list[str], sites: Mapping[str, Any], suffix: str, beside: str) -> list[str]:
    """Sites X + suffix for which NumPyro reports X, known by a third site beside them."""
    pairs = [(name, name.removesuffix(suffix)) for name in names if name.endswith(suffix)]
    return [name for name, x in pairs if sites.get(x, {}).get("type") == "deterministic" and x + beside in sites]
