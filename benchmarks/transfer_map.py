"""What a cheap task is worth to a dear one, by how alike they are and how often the cheap one was run.

    python benchmarks/transfer_map.py [--seeds 6] [--out benchmarks/transfer_map.json]

Ten points of the dear task in two dimensions under N(0, I). The cheap integrand is r f + sqrt(1 - r^2) h, with f the
dear one and h another function, both standardised and uncorrelated. A cell is the mean absolute error, over data
sets, of the dear mean from both tasks ("vv") over that from the dear task alone ("cf").
"""

from __future__ import annotations

import argparse
import json
from functools import cache
from pathlib import Path

import numpy as np

import vvcv

DEAR = 10
CHEAP = (10, 30, 90)
ALIKE = (0.0, 0.7, 0.95, 1.0)
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
GRID = np.stack(np.meshgrid(NODES, NODES), axis=-1).reshape(-1, 2)
MASS = np.outer(WEIGHTS, WEIGHTS).ravel() / (2 * np.pi)


def raw_dear(x: np.ndarray) -> np.ndarray:
    """Smooth, along one direction."""
    return np.sin(1.2 * x[:, 0] - 0.8 * x[:, 1] + 0.3) + 0.5 * np.exp(0.5 * x[:, 0])


def raw_other(x: np.ndarray) -> np.ndarray:
    """Smooth, along another direction."""
    return np.cos(1.5 * x[:, 1] + 0.9 * x[:, 0]) + np.tanh(x[:, 1] - 0.5 * x[:, 0])


def mean(values: np.ndarray) -> float:
    """Mean under N(0, I) of a function's values on the grid."""
    return float(MASS @ values)


def functions() -> tuple:
    """The dear function and the other one, of mean 0 and variance 1, uncorrelated."""
    f, h = raw_dear(GRID), raw_other(GRID)
    shift_f, scale_f = mean(f), np.sqrt(mean(f**2) - mean(f) ** 2)
    along = mean((f - shift_f) / scale_f * h)
    left = h - along * (f - shift_f) / scale_f
    shift_h, scale_h = mean(left), np.sqrt(mean(left**2) - mean(left) ** 2)

    def dear(x: np.ndarray) -> np.ndarray:
        return (raw_dear(x) - shift_f) / scale_f

    return dear, lambda x: (raw_other(x) - along * dear(x) - shift_h) / scale_h


def errors(seed: int, alike: float, cheap: int) -> tuple[float, float]:
    """Absolute errors of the dear mean, whose exact value is 0, from both tasks and from the dear one alone."""
    rng = np.random.default_rng(seed)
    dear, other = functions()
    y, x = rng.normal(size=(DEAR, 2)), rng.normal(size=(cheap, 2))
    values = alike * dear(x) + np.sqrt(1 - alike**2) * other(x)
    both = vvcv.Tasks([vvcv.Task(x, -x, values, name="cheap"), vvcv.Task(y, -y, dear(y), name="dear")])
    return abs(float(vvcv.estimate(both, "vv", check=False).mean[1])), alone(seed)


@cache
def alone(seed: int) -> float:
    """Absolute error of the dear mean from the dear task alone, whose points are the first that a seed gives."""
    y = np.random.default_rng(seed).normal(size=(DEAR, 2))
    return abs(float(vvcv.estimate(vvcv.Task(y, -y, functions()[0](y)), "cf", check=False).mean[0]))


def main() -> None:
    """Run all cells."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--first-seed", type=int, default=9000)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/transfer_map.json"))
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    cells = []
    for alike in ALIKE:
        for cheap in CHEAP:
            found = np.array([errors(seed, alike, cheap) for seed in seeds])
            ratio = float(found[:, 0].mean() / found[:, 1].mean())
            cells.append({"alike": alike, "cheap": cheap, "ratio": ratio, "errors": found.tolist()})
            print(f"alike {alike}, {cheap} cheap points: {ratio:.3g} of the error alone", flush=True)
    record = {"dear points": DEAR, "seeds": [seeds[0], seeds[-1]], "cells": cells}
    arguments.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
