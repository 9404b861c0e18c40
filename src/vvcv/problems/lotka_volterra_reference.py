"""True values for the hare's expected abundance, by one long run of NUTS sharpened by control variates.

    E[v_1(s_t)] ~ mean over C chains of n draws of v_1(s_t) - Phi gamma,   std error^2 = Var(means of B batches) / B

Phi are the Stein images of all monomials up to total degree 4 (494 of them), and the gamma of a chain comes from the
other chains, so that neither the mean nor its standard error knows of the fit. The plain averages, whose standard
errors are far larger, are stored beside them. All numbers, and a thinned subset of the run, come from
`python -m vvcv.problems.lotka_volterra_reference FOLDER`.
Reference: paper, Section 5.3 and Appendix E.6 (whose true values were averages of 8 x 10^5 draws).
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from vvcv.problems import lotka_volterra
from vvcv.problems.cross_fit import cross_fitted
from vvcv.problems.data import read_json, read_points
from vvcv.problems.nuts import Chains

_VALUES = "lotka_volterra_reference.json"
_POINTS = "lotka_volterra_reference.npz"

SEED = 20230723
CHAINS, DRAWS, WARMUP = 4, 100_000, 1000
KEPT = 16_000  # one megabyte
DEGREE = 4

ChainValues = Float[np.ndarray, "chains draws T"]
PerTask = Float[np.ndarray, "T"]


class Reference(NamedTuple):
    """Expected abundance at each time, and the standard error of that number."""

    times: PerTask
    mean: PerTask
    standard_error: PerTask


def load(times: Sequence[float] | None = None) -> Reference:
    """The stored values at the given years; without years, at all that are stored."""
    stored = read_json(_VALUES)
    known = {round(year, 6): k for k, year in enumerate(stored["times"])}
    wanted = stored["times"] if times is None else times
    missing = [year for year in wanted if round(float(year), 6) not in known]
    if missing:
        raise ValueError(f"times must be task times of the paper; found {missing}; stored are {stored['times']}.")
    rows = [known[round(float(year), 6)] for year in wanted]
    return Reference(*(np.array(stored[name])[rows] for name in Reference._fields))


def load_points() -> lotka_volterra.Points:
    """Posterior points thinned from the long run, all but independent of one another."""
    return read_points(_POINTS)


def summarise(chains: Chains, seed: int = SEED, warmup: int = WARMUP) -> dict[str, Any]:
    """The entries of the stored file, from the chains of one run."""
    n_chains, n_draws, dimension = chains.points.shape
    times = sorted({*lotka_volterra.TASK_TIMES[10], *lotka_volterra.ADDITIONAL_TASK_TIMES[10]})
    values = lotka_volterra.abundance(chains.points.reshape(-1, dimension), times).reshape(n_chains, n_draws, -1)
    sharpened = cross_fitted(chains.points, chains.scores, values, DEGREE)
    plain_error = batch_standard_error(values)
    return {
        "source": "Long run of NUTS (BlackJAX, dense mass matrix, float64) on the posterior of the paper's "
        "Appendix E.6, less a polynomial control variate of each chain fitted to the other chains; standard errors by "
        "batch means within chains; made by vvcv.problems.lotka_volterra_reference.",
        "seed": seed,
        "chains": n_chains,
        "draws_per_chain": n_draws,
        "warmup": warmup,
        "divergences": int(chains.divergent.sum()),
        "largest_split_r_hat": float(split_r_hat(values).max()),
        "degree": DEGREE,
        "largest_z_between_halves": float(np.abs(z_between_halves(chains, values, DEGREE)).max()),
        "times": times,
        "mean": sharpened.mean(axis=(0, 1)).tolist(),
        "standard_error": batch_standard_error(sharpened).tolist(),
        "plain_mean": values.mean(axis=(0, 1)).tolist(),
        "plain_standard_error": plain_error.tolist(),
        "standard_deviation": values.std(axis=(0, 1)).tolist(),
        "effective_sample_size": (values.var(axis=(0, 1)) / plain_error**2).round().tolist(),
    }


def z_between_halves(chains: Chains, values: ChainValues, degree: int) -> PerTask:
    """Difference of the sharpened means of two halves of the chains, which share no draw, in standard errors."""
    half = len(values) // 2
    parts = [
        cross_fitted(chains.points[rows], chains.scores[rows], values[rows], degree)
        for rows in (slice(half), slice(half, None))
    ]
    difference = np.subtract(*(part.mean(axis=(0, 1)) for part in parts))
    return difference / np.hypot(*(batch_standard_error(part) for part in parts))


def batch_standard_error(values: ChainValues, batches_per_chain: int = 100) -> PerTask:
    """Standard error of the overall mean from the spread of the means of batches within chains."""
    n_chains, n_draws, n_tasks = values.shape
    size = n_draws // batches_per_chain
    used = values[:, n_draws - size * batches_per_chain :]
    means = used.reshape(n_chains * batches_per_chain, size, n_tasks).mean(axis=1)
    return means.std(axis=0, ddof=1) / np.sqrt(len(means))


def split_r_hat(values: ChainValues) -> PerTask:
    """Gelman and Rubin's ratio with every chain cut in two."""
    n_chains, n_draws, n_tasks = values.shape
    halves = values[:, : n_draws // 2 * 2].reshape(2 * n_chains, n_draws // 2, n_tasks)
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    return np.sqrt(1 + between / within)


def main(folder: str) -> None:
    """Make both stored files anew."""
    chains = lotka_volterra.sample_chains(SEED, DRAWS, CHAINS, WARMUP)
    Path(folder, _VALUES).write_text(json.dumps(summarise(chains), indent=1) + "\n", encoding="utf-8")
    points = chains.points.reshape(-1, chains.points.shape[-1])
    np.savez(Path(folder, _POINTS), points=points[:: len(points) // KEPT])


if __name__ == "__main__":
    main(sys.argv[1])
