"""`from_numpyro`: draws of a NumPyro MCMC run, with the gradients the sampler has computed where it kept them.

    score = -z_grad,   z_grad = gradient of the potential energy at the unconstrained draw

Keep them with `mcmc.run(key, ..., extra_fields=("z_grad",))`; without, they are computed from the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ..data import require
from ..precision import float64
from .extras import needs
from .integrands import Functions
from .logdensity import scores_at
from .posterior import Posterior
from .pytrees import Flat, flatten


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
    in float64 otherwise. `var_names`, `moments` and `functions` choose the integrands, as in `Posterior.expect`.

        mcmc.run(key, X, y=y, extra_fields=("z_grad",))
        vvcv.estimate(vvcv.from_numpyro(mcmc))
    """
    needs("numpyro", "from_numpyro")
    draws = {name: np.asarray(values) for name, values in mcmc.get_samples(group_by_chain=True).items()}
    args = tuple(getattr(mcmc, "_args", ()) if model_args is None else model_args)
    kwargs = dict((getattr(mcmc, "_kwargs", {}) if model_kwargs is None else model_kwargs) or {})
    model = getattr(mcmc.sampler, "model", None)
    kept = mcmc.get_extra_fields(group_by_chain=True).get("z_grad")
    flat, potential = _unconstrained(model, args, kwargs, draws)
    if kept is None:
        require(
            potential is not None,
            "Scores cannot be computed from this run: it has no model, or one with discrete sites that were summed "
            "out. Run it with mcmc.run(..., extra_fields=('z_grad',)), or use vvcv.from_logdensity.",
        )
        scores = scores_at(lambda z: -potential(flat.unravel(z)), flat.points)
    else:
        scores = -flatten(kept, True).points
    return Posterior(
        flat.points,
        scores,
        draws,
        parameters=flat.parameters,
        var_names=var_names,
        moments=moments,
        functions=functions,
    )


@float64
def _unconstrained(model: Any, args: tuple, kwargs: dict, draws: dict[str, np.ndarray]) -> tuple[Flat, Callable | None]:
    """Unconstrained draws, and the potential energy as a function of one of them (None if there is none to call)."""
    if model is None:  # the run was given a potential energy: its draws are what that is a function of
        return flatten(draws, True), None
    util = needs("numpyro", "from_numpyro", "numpyro.infer.util")
    seed = needs("numpyro", "from_numpyro", "numpyro.handlers").seed
    model = seed(model, jax.random.PRNGKey(0))
    latent, enumerated = _latent_sites(model, args, kwargs, draws)
    rows = {name: draws[name].reshape(-1, *draws[name].shape[2:]).astype(np.float64) for name in latent}
    free = jax.jit(jax.vmap(lambda draw: util.unconstrain_fn(model, args, kwargs, draw)))(rows)
    leading = next(iter(draws.values())).shape[:2]
    flat = flatten({name: np.asarray(z).reshape(*leading, *z.shape[1:]) for name, z in free.items()}, True)
    return flat, None if enumerated else lambda z: util.potential_energy(model, args, kwargs, z)


def _latent_sites(model: Any, args: tuple, kwargs: dict, draws: dict[str, np.ndarray]) -> tuple[list[str], bool]:
    """Names of the continuous latent sites, and whether there are discrete ones that the sampler has summed out."""
    handlers = needs("numpyro", "from_numpyro", "numpyro.handlers")
    one = {name: values[0, 0] for name, values in draws.items()}
    sites = handlers.trace(handlers.substitute(model, data=one)).get_trace(*args, **kwargs)
    free = [name for name, site in sites.items() if site["type"] == "sample" and not site["is_observed"]]
    continuous = [name for name in free if not sites[name]["fn"].support.is_discrete]
    missing = [name for name in continuous if name not in draws]
    require(
        not missing,
        f"The run kept no draws of the sites {missing} (remove_sites, or other model_args?), and scores need all of "
        f"them; it kept {list(draws)}. Run the sampler without remove_sites.",
    )
    return continuous, len(continuous) < len(free)
