"""Algorithm 1 at the paper's borehole setting (E.4): m = 150, 100 replications in one compiled loop, CPU seconds.

    python benchmarks/paper/borehole_algorithm_one.py [--epochs 400] [--parametrization paper] [--precision float32]

prints one JSON record per learning rate.
"""

import argparse
import json
import resource
import time

import numpy as np

from vvcv.data import Task, Tasks
from vvcv.kernels import SquaredExponential
from vvcv.paper import fit_replications
from vvcv.paper.loop import run
from vvcv.paper.marginal_likelihood import MiniBatchMarginalLikelihood, maximise_marginal_likelihood
from vvcv.paper.stochastic import BlockCoordinateDescent
from vvcv.paper.variates import KernelVariate
from vvcv.problems import borehole


def data_set(seed: int, m: int) -> Tasks:
    rng = np.random.default_rng(seed)
    low, high = borehole.sample(rng, m), borehole.sample(rng, m)
    return Tasks(
        [
            Task(low, borehole.score(low), borehole.low(low), name="low"),
            Task(high, borehole.score(high), borehole.high(high), name="high"),
        ]
    )


def tuned(kernel: SquaredExponential, tasks: Tasks, seed: int) -> SquaredExponential:
    return maximise_marginal_likelihood(kernel, tasks, MiniBatchMarginalLikelihood(), seed).kernel


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=400)
    parser.add_argument("--m", type=int, default=150)
    parser.add_argument("--replications", type=int, default=100)
    parser.add_argument("--parametrization", default="paper")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--rates", type=float, nargs="+", default=[0.002, 0.004])
    parser.add_argument(
        "--tune", action="store_true", help="choose nu by mini-batch marginal likelihood, as the authors"
    )
    parser.add_argument("--nu", type=float, default=10.0, help="squared lengthscale of every dimension")
    options = parser.parse_args()
    data = [data_set(seed, options.m) for seed in range(options.replications)]
    kernel = SquaredExponential(np.full(8, np.sqrt(options.nu)))
    kernels = [tuned(kernel, tasks, seed) if options.tune else kernel for seed, tasks in enumerate(data)]
    b = 1.024e-5 * np.eye(2)
    variates = [KernelVariate(k, b, parametrization=options.parametrization, scores="shared") for k in kernels]
    for rate in options.rates:
        selection = BlockCoordinateDescent.as_published(
            epochs=options.epochs, learning_rate=rate, learning_rate_b=2e-5, precision=options.precision
        )
        wall, cpu = time.perf_counter(), cpu_seconds()
        fits = fit_replications(data, variates, selection)
        errors = np.array([abs(fit.mean[1] - borehole.EXACT_HIGH) for fit in fits])
        plain = np.array([abs(tasks[1].values.mean() - borehole.EXACT_HIGH) for tasks in data])
        record = {
            "rate": rate,
            "cpu_s": round(cpu_seconds() - cpu, 1),
            "wall_s": round(time.perf_counter() - wall, 1),
            "error": round(float(errors.mean()), 4),
            "plain_error": round(float(plain.mean()), 4),
            "compilations": run._cached._cache_size(),
        }
        print(json.dumps({**vars(options), **record}), flush=True)


if __name__ == "__main__":
    main()
