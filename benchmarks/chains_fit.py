"""Are the error bars of `fit` honest on Markov chains? Coverage and sharpness over replications, for every estimator.

Chains are autoregressions x_i = rho x_(i-1) + sqrt(1 - rho^2) e_i in two dimensions, started at their target N(0, I),
with two integrands on every chain, sin(x_1) + x_2^2 / 2 + x_1 x_2 and exp(x_1 / 2). What a variate leaves of them has
an autocorrelation of its own. Reported for each rho and number of chains, the integrands together: coverage of two
standard errors, and the median standard error over the root mean square error. Run from the repository:

    python benchmarks/chains_fit.py [--replications 200] [--variate polynomial|kernel] [--estimators Exact Split ...]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.signal import lfilter

from vvcv.data import Tasks
from vvcv.kernels import SquaredExponential
from vvcv.paper import CrossFit, Exact, KernelVariate, MarkovChainVariance, PolynomialVariate, Split, fit

RHOS = (0.0, 0.5, 0.9, 0.95, 0.99)
CHAINS = (1, 2, 4)
TRUTH = np.array([0.5, np.exp(1 / 8)])

#: Draws of all chains together, penalty, and the variate.
VARIATES = {
    "polynomial": (2000, 0.0, PolynomialVariate(2)),
    "kernel": (600, 1e-3, KernelVariate(SquaredExponential(1.5))),
}

#: Half as many draws for the objective of MCMC, whose matrix is as large as the data.
SHARE = {"MarkovChainVariance": 2}


def draw(seed: int, rho: float, chains: int, draws: int) -> Tasks:
    """Chains of one target with two integrands."""
    rng = np.random.default_rng([seed, round(1000 * rho), chains])
    steps = np.sqrt(1 - rho**2) * rng.standard_normal((chains, draws, 2))
    steps[:, 0] = rng.standard_normal((chains, 2))
    x = lfilter([1.0], [1.0, -rho], steps, axis=1)
    values = [np.sin(x[..., 0]) + x[..., 1] ** 2 / 2 + x[..., 0] * x[..., 1], np.exp(x[..., 0] / 2)]
    return Tasks.shared(x, -x, np.stack(values, axis=-1), names=["smooth", "exponential"])


def ways(penalty: float) -> dict[str, tuple[Exact, object]]:
    """The estimators: a selection and what is done with it."""
    return {
        "Exact": (Exact(penalty), None),
        "MarkovChainVariance": (Exact(penalty, objective=MarkovChainVariance()), None),
        "Split": (Exact(penalty), Split(0.5)),
        "CrossFit": (Exact(penalty), CrossFit(5)),
    }


def cell(variate: str, name: str, rho: float, chains: int, replications: int) -> dict[str, object]:
    """Coverage and sharpness of one estimator on one kind of chain."""
    draws, penalty, family = VARIATES[variate]
    draws //= SHARE.get(name, 1)
    selection, estimator = ways(penalty)[name]
    pairs = []
    for seed in range(replications):
        tasks = draw(seed, rho, chains, draws // chains)
        if variate == "kernel" or name in SHARE:  # one integrand a fit: systems have as many rows as all tasks
            fits = [fit(Tasks([task]), family, selection, estimator=estimator) for task in tasks]
            pairs.append([[f.mean[0] for f in fits], [f.std_error[0] for f in fits]])
        else:
            result = fit(tasks, family, selection, estimator=estimator)
            pairs.append([result.mean, result.std_error])
    means, errors = np.moveaxis(np.array(pairs), 1, 0)
    off = means - TRUTH
    rmse = np.sqrt(np.mean(off**2, axis=0))
    return {
        "variate": variate,
        "estimator": name,
        "rho": rho,
        "chains": chains,
        "draws": draws,
        "replications": replications,
        "coverage": round(float(np.mean(np.abs(off) < 2 * errors)), 4),
        "std_error_over_rmse": round(float(np.mean(np.median(errors, axis=0) / rmse)), 3),
        "rms_std_error_over_rmse": round(float(np.mean(np.sqrt(np.mean(errors**2, axis=0)) / rmse)), 3),
    }


def main() -> None:
    """Print a line for each cell, and write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--variate", choices=VARIATES, default="polynomial")
    parser.add_argument("--estimators", nargs="+", choices=ways(0.0), default=list(ways(0.0)))
    parser.add_argument("--rhos", type=float, nargs="+", default=RHOS)
    parser.add_argument("--chains", type=int, nargs="+", default=CHAINS)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    out = options.out or Path(f"benchmarks/chains_fit_{options.variate}.json")
    kept = json.loads(out.read_text())["rows"] if out.exists() else []
    rows = [row for row in kept if row["estimator"] not in options.estimators]
    for name in options.estimators:
        for rho in options.rhos:
            for chains in options.chains:
                rows.append(cell(options.variate, name, rho, chains, options.replications))
                shown = {k: rows[-1][k] for k in ("estimator", "rho", "chains", "coverage", "std_error_over_rmse")}
                print(*shown.values(), rows[-1]["rms_std_error_over_rmse"], flush=True)
        out.write_text(json.dumps({"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
