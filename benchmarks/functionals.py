"""Coverage of intervals for functions of several expectations: variance, correlation and ratio, exact answers known.

    python benchmarks/functionals.py [--replications 200] [--methods zv vv] [--out benchmarks/functionals.json]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import gamma

import vvcv
from vvcv.estimation.functional import with_products

ASKED = {"variance": ("a",), "correlation": ("a", "b"), "ratio": ("a", "b")}
PRODUCTS = {"a^2": ("a", "a"), "b^2": ("b", "b"), "a*b": ("a", "b")}


class Problem(NamedTuple):
    """Tasks a and b on one sample, and the means of a, b, a^2, b^2, ab."""

    draw: Callable[[np.random.Generator], vvcv.Tasks]
    means: tuple[float, float, float, float, float]

    @property
    def exact(self) -> dict[str, float]:
        """Exact answers from the exact means."""
        a, b, aa, bb, ab = self.means
        correlation = (ab - a * b) / np.sqrt((aa - a**2) * (bb - b**2))
        return {"variance": aa - a**2, "correlation": float(correlation), "ratio": a / b}


FACTOR = np.array([[1.0, 0.0], [0.6, 0.8]])  # of a correlation of 0.6


def growths(rng: np.random.Generator, n: int = 60) -> vvcv.Tasks:
    """Exponentials of two correlated normal variables."""
    return _exponentials(rng.normal(size=(n, 2)))


def growths_along_chains(rng: np.random.Generator, chains: int = 4, length: int = 100) -> vvcv.Tasks:
    """The same along autoregressive chains."""
    steps, rho = rng.normal(size=(length, chains, 2)), 0.6
    x = [steps[0]]
    for step in steps[1:]:
        x.append(rho * x[-1] + np.sqrt(1 - rho**2) * step)
    return _exponentials(np.swapaxes(x, 0, 1))


def gammas(rng: np.random.Generator, n: int = 60) -> vvcv.Tasks:
    """Square roots of a gamma variable and of its sum with another, in logarithmic coordinates."""
    x = rng.gamma(SHAPES, size=(n, 2))
    values = np.column_stack([np.sqrt(x[:, 0]), x.sum(axis=1) ** 0.5])
    return vvcv.Tasks.shared(np.log(x), SHAPES - x, values, names=["a", "b"])


SHAPES = np.array([3.0, 5.0])


def gamma_means() -> tuple[float, float, float, float, float]:
    """x = s t with a gamma sum s and a beta share t, independent: E sqrt(x s) = E s E sqrt(t)."""
    first, total = SHAPES[0], SHAPES.sum()
    root, root_sum = gamma(first + 0.5) / gamma(first), gamma(total + 0.5) / gamma(total)
    return float(root), float(root_sum), first, total, float(root / root_sum * total)


GROWTHS = tuple(float(np.exp(v / 8)) for v in (1, 1, 4, 4, 3.2))  # variances of z1, z2, 2 z1, 2 z2, z1 + z2

PROBLEMS = {
    "growths": Problem(growths, GROWTHS),
    "growths along chains": Problem(growths_along_chains, GROWTHS),
    "gammas": Problem(gammas, gamma_means()),
}


def _exponentials(x: np.ndarray) -> vvcv.Tasks:
    z = x @ FACTOR.T
    return vvcv.Tasks.shared(z, -z @ np.linalg.inv(FACTOR @ FACTOR.T), np.exp(z / 2), names=["a", "b"])


def replicate(problem: Problem, method: str, seed: int) -> dict[str, dict[str, float]]:
    """Per function: whether the 95 % interval holds the exact answer, the error, and that of plain averages."""
    tasks = problem.draw(np.random.default_rng([seed, 20]))
    estimate = vvcv.estimate(with_products(tasks, PRODUCTS), method, check=False)
    found = {}
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


def study(problem: Problem, method: str, replications: int) -> dict[str, dict[str, float]]:
    """Coverage, root mean squared errors and z over replications."""
    runs = [replicate(problem, method, seed) for seed in range(replications)]
    results = {}
    for kind in ASKED:
        mean = {key: np.mean([run[kind][key] for run in runs]) for key in runs[0][kind]}
        results[kind] = {
            "coverage": round(float(mean["covered"]), 4),
            "rmse": float(f"{np.sqrt(mean['squared_error']):.3g}"),
            "plain_rmse": float(f"{np.sqrt(mean['squared_plain_error']):.3g}"),
            "rms_z": round(float(np.sqrt(mean["squared_z"])), 2),
        }
    return results


def main() -> None:
    """Run all problems by all methods and record the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--methods", nargs="+", default=["zv", "vv"])
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    recorded: dict = {"level": 0.95, "replications": arguments.replications}
    for method in arguments.methods:
        for name, problem in PROBLEMS.items():
            started = time.perf_counter()
            found = study(problem, method, arguments.replications)
            recorded.setdefault(method, {})[name] = found
            for kind, numbers in found.items():
                print(method, name, kind, numbers, f"{time.perf_counter() - started:.0f} s", flush=True)
            arguments.out.write_text(json.dumps(recorded, indent=2) + "\n")


if __name__ == "__main__":
    main()
