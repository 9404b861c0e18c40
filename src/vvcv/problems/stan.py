"""The no-U-turn sampler of Stan, through PyStan, where that is installed.

Reference: Carpenter et al. (2017); the paper's Section 5.3 samples with it. PyStan is an optional dependency: only this
module needs it, and only when a chain is run.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from vvcv.problems.nuts import TARGET_ACCEPTANCE

Starts = Float[np.ndarray, "chains d"]
ChainVectors = Float[np.ndarray, "chains draws d"]
ChainFlags = Bool[np.ndarray, "chains draws"]


def sample_stan(
    program: str, data: Mapping[str, Any], seed: int, start: Starts, n_draws: int, warmup: int
) -> tuple[ChainVectors, ChainFlags]:
    """n_draws of each chain of the vector `x` of a Stan program, and which of them ended in a divergence."""
    fit = (
        _import_stan()
        .build(program, data=dict(data), random_seed=seed)
        .sample(
            num_chains=len(start),
            num_samples=n_draws,
            num_warmup=warmup,
            init=[{"x": row.tolist()} for row in start],
            delta=TARGET_ACCEPTANCE,
        )
    )
    # PyStan runs the chains through one another: the last axis is chain by chain within every draw.
    draws = fit["x"].reshape(start.shape[1], n_draws, len(start))
    return draws.transpose(2, 1, 0).copy(), fit["divergent__"].reshape(n_draws, len(start)).T > 0


def _import_stan():
    try:
        import stan
    except ImportError as error:
        # PyStan 3.10 imports pkg_resources, which later releases of setuptools no longer have.
        raise ImportError("Sampling with Stan needs PyStan: pip install 'vvcv[stan]'.") from error
    return stan
