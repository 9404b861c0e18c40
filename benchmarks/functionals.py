"""Coverage of intervals for functions of several expectations: variance, correlation and ratio, exact answers known.

Beside it stands the coverage of the expectations themselves: a function cannot be surer than what it is made of.

python benchmarks/functionals.py [--replications 200] [--methods zv auto] [--problems ...] [--first-seed 60000]
    [--jobs 2]

Constants were settled on seeds from 20000; those from 60000 are reported.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import gamma

import vvcv
from vvcv.estimation.common import with_products

ASKED = {"variance": ("a",), "correlation": ("a", "b"), "ratio": ("a", "b")}
PRODUCTS = {"a^2": ("a", "a"), "b^2": ("b", "b"), "a*b": ("a", "b")}


class Problem(NamedTuple):
    """Tasks a and b on one sample, and the means of a, b, a^2, b^2, ab."""

    draw: Callable[[np.random.Generator], vvcv.Tasks]
    means: tuple[float, ...]

    @property
    def exact(self) -> dict[str, float]:
        """Exact answers from the exact means."""
        a, b, aa, bb, ab = self.means
        correlation = (ab - a * b) / np.sqrt((aa - a**2) * (bb - b**2))
        return {"variance": aa - a**2, "correlation": float(correlation), "ratio": a / b}


FACTOR = np.array([[1.0, 0.0], [0.6, 0.8]])  # of a correlation of 0.6


def growths(rng: np.random.Generator, n: int = 100) -> vvcv.Tasks:
    """Exponentials of two correlated normal variables."""
    return _exponentials(rng.normal(size=(n, 2)))


def growths_along_chains(rng: np.random.Generator, chains: int = 4, length: int = 250) -> vvcv.Tasks:
    """The same along autoregressive chains."""
    steps, rho = rng.normal(size=(length, chains, 2)), 0.6
    x = [steps[0]]
    for step in steps[1:]:
        x.append(rho * x[-1] + np.sqrt(1 - rho**2) * step)
    return _exponentials(np.swapaxes(x, 0, 1))


def gammas(rng: np.random.Generator, n: int = 100) -> vvcv.Tasks:
    """Square roots of a gamma variable and of its sum with another, in logarithmic coordinates."""
    x = rng.gamma(SHAPES, size=(n, 2))
    values = np.column_stack([np.sqrt(x[:, 0]), x.sum(axis=1) ** 0.5])
    return vvcv.Tasks.shared(np.log(x), SHAPES - x, values, names=["a", "b"])


SHAPES = np.array([3.0, 5.0])


def gamma_means() -> tuple[float, ...]:
    """x = s t with a gamma sum s and a beta share t, independent: E sqrt(x s) = E s E sqrt(t)."""
    first, total = SHAPES[0], SHAPES.sum()
    root, root_sum = gamma(first + 0.5) / gamma(first), gamma(total + 0.5) / gamma(total)
    return float(root), float(root_sum), first, total, float(root / root_sum * total)


def waves(rng: np.random.Generator, n: int = 100) -> vvcv.Tasks:
    """Waves of two independent normal variables, which no polynomial follows far."""
    x = rng.normal(size=(n, 2))
    return vvcv.Tasks.shared(x, -x, wave_values(x), names=["a", "b"])


def wave_values(x: np.ndarray) -> np.ndarray:
    """A sum of waves, and one that is nearly the same."""
    return np.column_stack([2 + np.cos(2 * x[:, 0]) + np.sin(x.sum(axis=1)), 3 + np.sin(x.sum(axis=1)) + x[:, 1]])


def wave_means() -> tuple[float, ...]:
    """By Gauss-Hermite quadrature, exact to rounding."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    grid = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    mass = np.outer(weights, weights).reshape(-1) / (2 * np.pi)
    a, b = wave_values(grid).T
    return tuple(float(mass @ f) for f in (a, b, a**2, b**2, a * b))


GROWTHS = tuple(float(np.exp(v / 8)) for v in (1, 1, 4, 4, 3.2))  # variances of z1, z2, 2 z1, 2 z2, z1 + z2

PROBLEMS = {
    "growths": Problem(growths, GROWTHS),
    "growths along chains": Problem(growths_along_chains, GROWTHS),
    "waves": Problem(waves, wave_means()),
    "gammas": Problem(gammas, gamma_means()),
}


def _exponentials(x: np.ndarray) -> vvcv.Tasks:
    z = x @ FACTOR.T
    return vvcv.Tasks.shared(z, -z @ np.linalg.inv(FACTOR @ FACTOR.T), np.exp(z / 2), names=["a", "b"])


def replicate(name: str, method: str, seed: int) -> dict[str, dict[str, float]]:
    """Per function of a problem: whether its 95 % interval holds the exact answer, its error, and that of averages.

    For the five expectations together: the share of their intervals that hold the exact answers.
    """
    problem = PROBLEMS[name]
    tasks = problem.draw(np.random.default_rng([seed, 20]))
    estimate = vvcv.estimate(with_products(tasks, PRODUCTS), method, check=False)
    low, high = estimate.interval()
    found = {"expectations": {"covered": float(np.mean((low <= problem.means) & (problem.means <= high)))}}
    for kind, names in ASKED.items():
        result, exact = vvcv.functional(estimate, kind, *names), problem.exact[kind]
        low, high = result.interval()
        found[kind] = {
            "covered": float(low <= exact <= high),
            "squared_error": float((result.value - exact) ** 2),
            "squared_plain_error": float((result.plain_value - exact) ** 2),
            "squared_z": float(((result.value - exact) / result.std_error) ** 2),
        }
    return found


def study(name: str, method: str, seeds: range, each: Callable = map) -> dict[str, dict[str, float]]:
    """Coverage, root mean squared errors and z over replications, made by `each` one after the other or at once."""
    runs = list(each(partial(replicate, name, method), seeds))
    own = float(np.mean([run["expectations"]["covered"] for run in runs]))
    results: dict[str, dict[str, float]] = {"expectations": {"coverage": round(own, 4)}}
    for kind in ASKED:
        defined = [
            run[kind] for run in runs if np.isfinite(run[kind]["squared_error"])
        ]  # no root of a negative variance
        mean = {key: np.mean([run[key] for run in defined]) for key in runs[0][kind]}
        results[kind] = {
            "coverage": round(float(np.mean([run[kind]["covered"] for run in runs])), 4),
            "undefined": len(runs) - len(defined),
            "rmse": float(f"{np.sqrt(mean['squared_error']):.3g}"),
            "plain_rmse": float(f"{np.sqrt(mean['squared_plain_error']):.3g}"),
            "rms_z": round(float(np.sqrt(mean["squared_z"])), 2),
        }
    return results


def main() -> None:
    """Run all problems by all methods and record the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--methods", nargs="+", default=["zv", "auto"])
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--first-seed", type=int, default=60_000)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    recorded: dict = json.loads(arguments.out.read_text()) if arguments.out.exists() else {"level": 0.95}
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.replications)
    os.environ["OMP_NUM_THREADS"] = "1"  # one process for each core
    spawn = multiprocessing.get_context("spawn")  # a forked process must not use JAX
    with ProcessPoolExecutor(arguments.jobs, mp_context=spawn) as pool:
        record(arguments, recorded, seeds, pool.map)


def record(arguments: argparse.Namespace, recorded: dict, seeds: range, each: Callable) -> None:
    """Run the problems one after the other, print and keep what comes out."""
    for method in arguments.methods:
        for name in arguments.problems:
            started = time.perf_counter()
            found = study(name, method, seeds, each)
            what = {"replications": arguments.replications, "first_seed": arguments.first_seed}
            recorded.setdefault(method, {})[name] = {**what, **found}
            for kind, numbers in found.items():
                print(method, name, kind, numbers, f"{time.perf_counter() - started:.0f} s", flush=True)
            arguments.out.write_text(json.dumps(recorded, indent=2) + "\n")


if __name__ == "__main__":
    main()
