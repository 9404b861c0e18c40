"""Neural control variates (paper, C.2) on a banana-shaped target, n = 1000: error against plain averages.

    x_1 = z_1,  x_2 = z_1^2 - 1 + z_2 / 2,  f(x) = x_1 + x_2,  E f = 0

    python benchmarks/paper/neural_banana.py [--replications 20]

prints one JSON record.
"""

import argparse
import json
import time

import equinox as eqx
import jax
import numpy as np

from vvcv.data import Task, Tasks
from vvcv.paper import fit_replications
from vvcv.paper.stochastic import StochasticOptimisation
from vvcv.paper.variates import NeuralVariate


def banana(seed: int, n: int) -> Tasks:
    z = np.random.default_rng(seed).standard_normal((n, 2))
    points = np.column_stack([z[:, 0], z[:, 0] ** 2 - 1 + 0.5 * z[:, 1]])
    pull = 4 * (points[:, 1] - points[:, 0] ** 2 + 1)
    scores = np.column_stack([-points[:, 0] + 2 * points[:, 0] * pull, -pull])
    return Tasks(Task(points, scores, points.sum(axis=1), name="sum"))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=800)
    parser.add_argument("--regularization", type=float, default=1e-5)
    options = parser.parse_args()
    data = [banana(seed, options.n) for seed in range(options.replications)]
    network = eqx.nn.MLP(2, 2, options.width, 2, activation=jax.nn.silu, key=jax.random.key(0))
    selection = StochasticOptimisation(
        epochs=options.epochs,
        batch_size=100,
        learning_rate=lambda epoch: 5e-3 * (1 + np.cos(np.pi * epoch / options.epochs)),
        regularization=options.regularization,
        precision="float32",
    )
    begin = time.perf_counter()
    fits = fit_replications(data, NeuralVariate(network), selection)
    plain = np.sqrt(np.mean([tasks.values.mean() ** 2 for tasks in data]))
    neural = np.sqrt(np.mean([fit.mean[0] ** 2 for fit in fits]))
    seconds = time.perf_counter() - begin
    record = {"plain_rmse": plain, "neural_rmse": neural, "ratio": plain / neural, "seconds": round(seconds, 1)}
    print(json.dumps({**vars(options), **record}))


if __name__ == "__main__":
    main()
