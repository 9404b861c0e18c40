"""How often `vvcv.check` raises the alarms that flattened chains, separate modes and heavy tails deserve, and others.

    python benchmarks/trust/alarms.py [--trials 40] [--first-seed 70000] [--out benchmarks/trust/alarms.json]

Power is the share of samples with the alarm's code among warnings; a false alarm is any warning or error.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from distributions import Banana, Funnel, Gaussian, Logistic, Student, autoregressive

from vvcv.checks import check
from vvcv.data import Task

Draw = Callable[[np.random.Generator], Task]


def task_of(target, values: Callable[[np.ndarray], np.ndarray], n: int) -> Draw:
    """Independent draws of a target."""

    def draw(rng: np.random.Generator) -> Task:
        x = target.sample(rng, n)
        return Task(x, target.score(x), values(x))

    return draw


def chain(rho: float, n: int, d: int) -> Draw:
    """A Gaussian chain handed over as rows."""

    def draw(rng: np.random.Generator) -> Task:
        x = autoregressive(rng, Gaussian.standard(d), 1, n, rho)[0]
        return Task(x, -x, x[:, 0] ** 2)

    return draw


def modes(d: int, distance: float, share: float, n: int = 200) -> Draw:
    """Two Gaussian modes along the first axis, the second with exactly this share of the points."""

    def draw(rng: np.random.Generator) -> Task:
        x = rng.normal(size=(n, d))
        x[: round(share * n), 0] += distance
        x = rng.permutation(x)
        odds = share / (1 - share) * np.exp(distance * x[:, 0] - distance**2 / 2)
        scores = -x
        scores[:, 0] += distance * odds / (1 + odds)
        return Task(x, scores, x[:, 0])

    return draw


def log_gamma(shape: float, n: int, d: int) -> Draw:
    """Logarithms of gamma variables, a skewed target."""

    def draw(rng: np.random.Generator) -> Task:
        g = rng.gamma(shape, size=(n, d))
        return Task(np.log(g), shape - g, np.log(g).sum(axis=1))

    return draw


def linear(x: np.ndarray) -> np.ndarray:
    return np.abs(x[:, 0]) + x[:, -1]


def square(x: np.ndarray) -> np.ndarray:
    return x[:, 0] ** 2


def wide(x: np.ndarray) -> np.ndarray:
    return np.exp(2 * x[:, 0])


def cases() -> Iterator[tuple[str, str, Draw]]:
    """Name, the code that is due (or none), and the data."""
    for n, rho in ((200, 0.5), (500, 0.5), (100, 0.95), (400, 0.95)):
        for d in (1, 8):
            yield f"chain of autocorrelation {rho}, n={n}, d={d}", "chain", chain(rho, n, d)
    for d in (1, 2, 5, 10):
        for distance in (6.0, 10.0):
            for share in (0.5, 0.2, 0.05):
                yield (
                    f"modes {distance:g} apart, share {share}, d={d}, n=200",
                    "separate-modes",
                    modes(d, distance, share),
                )
    for freedom, d, n in ((3, 1, 100), (3, 4, 50), (3, 4, 100), (3, 8, 400), (5, 1, 100), (5, 4, 100), (5, 8, 400)):
        yield f"Student {freedom}, |x_1| + x_d, d={d}, n={n}", "heavy-tails", task_of(Student(freedom, d), linear, n)
    for n in (50, 100, 400):
        yield f"exp(2x), n={n}", "heavy-values", task_of(Gaussian.standard(1), wide, n)
    for n in (20, 50, 200, 1000):
        for d in (1, 8):
            yield f"normal, x_1^2, d={d}, n={n}", "", task_of(Gaussian.standard(d), square, n)
    for n in (50, 200, 1000):
        correlated = Gaussian((0.0,) * 5, tuple(map(tuple, (0.01 * np.eye(5) + 0.99).tolist())))
        yield f"normal, correlation .99, d=5, n={n}", "", task_of(correlated, linear, n)
        yield f"logistic, n={n}", "", task_of(Logistic(), linear, n)
        yield f"log-gamma of shape 3, d=4, n={n}", "", log_gamma(3.0, n, 4)
        yield f"log-gamma of shape 1, d=2, n={n}", "", log_gamma(1.0, n, 2)
        yield f"banana, n={n}", "", task_of(Banana(1.0, 0.5), linear, n)
        yield f"funnel of width 1, d=4, n={n}", "", task_of(Funnel(1.0, 4), square, n)


def main() -> None:
    """Run everything, print one line for each case, write one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--first-seed", type=int, default=70000)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/trust/alarms.json"))
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.trials)
    results, started = {"trials": len(seeds), "first_seed": seeds.start, "cases": {}}, time.perf_counter()
    for name, due, draw in cases():
        codes: Counter[str] = Counter()
        loud = 0
        for seed in seeds:
            found = check(draw(np.random.default_rng(seed)))
            alarms = {finding.code for finding in found if finding.severity in ("warning", "error")}
            codes.update(alarms)
            loud += bool(alarms)
        rate = (codes[due] if due else loud) / len(seeds)
        results["cases"][name] = {"due": due or None, "rate": rate, "codes": dict(codes)}
        print(f"{name:<48} {due or 'no alarm due':<16} {rate:>7.1%} {dict(codes)}", flush=True)
    results["seconds"] = time.perf_counter() - started
    arguments.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
