"""True values for the hare's expected abundance, by one long run of NUTS, with their Monte Carlo standard errors.

    E[v_1(s_t)] ~ mean over C chains of n draws,   standard error^2 = Var(means of B batches) / B

The stored values, and a thinned subset of the run from which control variates can sharpen them, come from
`python -m vvcv.problems.lotka_volterra_reference FOLDER`.
Reference: paper, Section 5.3 and Appendix E.6 (whose true values were averages of 8 x 10^5 draws).
"""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from vvcv.problems import lotka_volterra
from vvcv.problems.data import read_json, read_points

_VALUES = "lotka_volterra_reference.json"
_POINTS = "lotka_volterra_reference.npz"

SEED = 20230723
CHAINS, DRAWS, WARMUP = 4, 100_000, 1000
KEPT = 16_000  # one megabyte

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


def compute(
    seed: int = SEED, n_draws: int = DRAWS, n_chains: int = CHAINS, warmup: int = WARMUP
) -> tuple[dict[str, Any], lotka_volterra.Points]:
    """The entries of the stored file, and all points (chains * draws, 8)."""
    began = time.perf_counter()
    chains = lotka_volterra.sample_chains(seed, n_draws, n_chains, warmup)
    times = sorted({*lotka_volterra.TASK_TIMES[10], *lotka_volterra.ADDITIONAL_TASK_TIMES[10]})
    points = chains.points.reshape(-1, chains.points.shape[-1])
    values = lotka_volterra.abundance(points, times).reshape(n_chains, n_draws, len(times))
    error = batch_standard_error(values)
    summary = {
        "source": "Long run of NUTS (BlackJAX, dense mass matrix, float64) on the posterior of the paper's "
        "Appendix E.6; standard errors by batch means within chains; made by vvcv.problems.lotka_volterra_reference.",
        "seed": seed,
        "chains": n_chains,
        "draws_per_chain": n_draws,
        "warmup": warmup,
        "divergences": int(chains.divergent.sum()),
        "largest_split_r_hat": float(split_r_hat(values).max()),
        "seconds": round(time.perf_counter() - began),
        "times": times,
        "mean": values.mean(axis=(0, 1)).tolist(),
        "standard_error": error.tolist(),
        "standard_deviation": values.std(axis=(0, 1)).tolist(),
        "effective_sample_size": (values.var(axis=(0, 1)) / error**2).round().tolist(),
    }
    return summary, points


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
    summary, points = compute()
    Path(folder, _VALUES).write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    np.savez(Path(folder, _POINTS), points=points[:: len(points) // KEPT])


if __name__ == "__main__":
    main(sys.argv[1])
