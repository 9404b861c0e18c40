"""Are the error bars of `estimate` honest on Markov chains? Autoregressions of several strengths, 1, 2 and 4 chains.

    python benchmarks/trust/chains.py [--draws 1000] [--replications 50] [--jobs 2] [--out FILE]

    x_i = rho x_(i-1) + sqrt(1 - rho^2) e_i in two dimensions, started at their target N(0, I)
    integrands sin(x_1) + x_2^2 / 2 + x_1 x_2 and exp(x_1 / 2) on the same chains, one estimate

What a variate leaves of the values mixes at a pace of its own, which the error bar must find. Bars: coverage 90 to
98.5 %, standard error over root mean square error at most 2. Tuned on seeds from 20000, reported from 50000.
"""

from __future__ import annotations

import numpy as np
from distributions import Gaussian, autoregressive
from study import HONEST, Column, Lines, chosen, collect, measured, options, record, show, summarised

import vvcv

RHOS, CHAINS = (0.0, 0.5, 0.9, 0.95, 0.99), (1, 2, 4)
EXACT = np.array([0.5, np.exp(1 / 8)])
NAMES = {f"rho = {rho}, {chains} chain{'s'[: chains > 1]}": (rho, chains) for rho in RHOS for chains in CHAINS}

COLUMNS = (
    Column("runs", "replications", "{:d}"),
    Column("covers", "coverage", "{:.1%}", *HONEST),
    Column("bar / RMSE", "bar over error", "{:.2f}", high=2.0),
    Column("RMSE / plain", "over plain"),
    Column("plain covers", "plain coverage", "{:.1%}"),
    Column("largest z", "largest z", "{:.1f}"),
    Column("s", "seconds", "{:.1f}"),
)


def draw(seed: int, rho: float, chains: int, draws: int) -> vvcv.Tasks:
    """Chains of one target with two integrands, `draws` in all."""
    target, rng = Gaussian.standard(2), np.random.default_rng([seed, round(1000 * rho), chains])
    x = autoregressive(rng, target, chains, draws // chains, rho)
    values = [np.sin(x[..., 0]) + x[..., 1] ** 2 / 2 + x[..., 0] * x[..., 1], np.exp(x[..., 0] / 2)]
    return vvcv.Tasks.shared(x, target.score(x), np.stack(values, axis=-1), names=["smooth", "exponential"])


def replicate(case: str, seed: int, methods: list[str]) -> Lines:
    """One data set of a case, whose name ends with the number of draws."""
    name, draws = case.rsplit(", ", 1)
    return measured(case, seed, draw(seed, *NAMES[name], int(draws)), EXACT, methods)


def main() -> None:
    """Run, print and record."""
    parser = options(__doc__)
    parser.add_argument("--draws", type=int, default=1000, help="of all chains together")
    given = parser.parse_args()
    cases = [f"{name}, {given.draws}" for name in chosen(NAMES, given.cases)]
    lines = collect(replicate, cases, given)
    rows = summarised(lines, cases, given.methods)
    show("chains", rows, COLUMNS)
    record(given, rows=rows)


if __name__ == "__main__":
    main()
