"""`from_nutpie`: nutpie keeps unconstrained draws and gradients in its trace when asked to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..data import require
from .arviz import POINTS, SCORES, from_arviz, group
from .integrands import Functions
from .posterior import Posterior


def from_nutpie(
    trace: Any,
    *,
    var_names: Sequence[str] | str | None = None,
    moments: int = 1,
    functions: Functions | None = None,
) -> Posterior:
    """A posterior from a trace of `nutpie.sample(model, store_unconstrained=True, store_gradient=True)`.

    `var_names`, `moments` and `functions` choose the integrands, as in `Posterior.expect`.

        trace = nutpie.sample(nutpie.compile_pymc_model(model), store_unconstrained=True, store_gradient=True)
        vvcv.estimate(vvcv.from_nutpie(trace))
    """
    stats = group(trace, "sample_stats")
    missing = [name for name in (POINTS, SCORES) if stats is None or name not in stats]
    require(
        not missing,
        f"The trace holds no {' and no '.join(missing)}. Keep them while sampling: "
        "nutpie.sample(..., store_unconstrained=True, store_gradient=True).",
    )
    return from_arviz(trace, var_names=var_names, moments=moments, functions=functions)
