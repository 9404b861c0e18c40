"""No negative transfer: a cheap task with 120 points and a dear one with 30 (d = 5), related or unrelated.

    python benchmarks/transfer.py [--seeds 40] [--first-seed 6000]

Mean absolute error of the dear mean: plain average, scalar kernel ("cf"), default vector-valued ("vv").
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import vvcv
from vvcv.report import simple_table

DIMENSION, CHEAP, DEAR = 5, 120, 30


def dear(x: np.ndarray) -> np.ndarray:
    """A smooth function of all coordinates under N(0, I)."""
    a = np.array([0.9, -0.7, 0.5, 0.4, -0.3])
    return np.sin(x @ a + 0.3) + 0.5 * np.exp(0.4 * x[:, 0] - 0.3 * x[:, 2])


def related(x: np.ndarray) -> np.ndarray:
    """A cheap approximation: the dear function scaled, shifted and a little off."""
    return 1.5 * dear(x) - 1 + 0.05 * np.cos(x[:, 1]) + 0.03 * x[:, 3]


def unrelated(x: np.ndarray) -> np.ndarray:
    """Another smooth function, other directions, other scales."""
    b = np.array([0.2, 0.8, -1.2, 0.6, 1.0])
    return np.cos(1.5 * (x @ b)) * 2 + np.tanh(2 * x[:, 4])


def exact_dear() -> float:
    """E sin(a'x + c) = sin(c) exp(-|a|^2 / 2); E exp(b'x) = exp(|b|^2 / 2)."""
    norm = 0.9**2 + 0.7**2 + 0.5**2 + 0.4**2 + 0.3**2
    return np.sin(0.3) * np.exp(-norm / 2) + 0.5 * np.exp((0.4**2 + 0.3**2) / 2)


def tasks(seed: int, cheap) -> vvcv.Tasks:
    """Both tasks at points of their own."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(CHEAP, DIMENSION)), rng.normal(size=(DEAR, DIMENSION))
    return vvcv.Tasks([vvcv.Task(x, -x, cheap(x), name="cheap"), vvcv.Task(y, -y, dear(y), name="dear")])


def main() -> None:
    """Print the table and the two ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--first-seed", type=int, default=8000)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/transfer.json"))
    arguments = parser.parse_args()
    rows, record = [], {}
    for name, cheap in (("related", related), ("unrelated", unrelated)):
        errors = {method: [] for method in ("mc", "cf", "vv")}
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
            data = tasks(seed, cheap)
            for method, estimate in vvcv.compare(data, list(errors)).items():
                errors[method].append(abs(float(estimate.mean[1]) - exact_dear()))
        means = {method: float(np.mean(values)) for method, values in errors.items()}
        ratio = means["vv"] / means["cf"]
        rows.append(
            [name, *(f"{means[m]:.3g}" for m in errors), f"{ratio:.3f}", "0.5" if name == "related" else "1.15"]
        )
        record[name] = {
            **means,
            "vv over cf": ratio,
            "seeds": [arguments.first_seed, arguments.first_seed + arguments.seeds - 1],
        }
        print(simple_table(["tasks", *errors, "vv / cf", "at most"], rows[-1:]), flush=True)
    arguments.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
