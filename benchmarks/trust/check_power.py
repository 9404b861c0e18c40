"""How often `vvcv.check` flags and names each mistake, and how rarely it alarms without one.

    python benchmarks/trust/check_power.py [--trials 200] [--first-seed 0] [--out benchmarks/trust/check_power.json]

Sizes: n = 500 independent draws, d = 5, for the mistakes; correct scores also on four chains.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path

import numpy as np
from targets import D, Draw, Target, targets

from vvcv.checks import check
from vvcv.data import Task

N = 500
FACTORS = np.array([0.001, 0.01, 0.1, 0.5, 2.0, 10.0, 100.0, 1000.0])


def wrong_sign(rng: np.random.Generator, draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    """Gradient of the potential."""
    x, s, _ = draw
    return x, -s


def missing_jacobian(rng: np.random.Generator, draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    """d log p / d log sigma of the density of sigma: 1 is missing."""
    x, s, _ = draw
    return x, s - np.eye(D)[-1]


def constrained_points(rng: np.random.Generator, draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    """Points hold sigma, scores belong to log sigma."""
    x, s, _ = draw
    return np.column_stack([x[:, :-1], np.exp(x[:, -1])]), s


def constrained_scores(rng: np.random.Generator, draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    """Points hold log sigma, scores are d log p / d sigma of the density of sigma."""
    x, s, _ = draw
    return x, np.column_stack([s[:, :-1], (s[:, -1] - 1) * np.exp(-x[:, -1])])


def shuffled_rows(rng: np.random.Generator, draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the same points in another order."""
    x, s, _ = draw
    return x, rng.permutation(s)


def wrong_units(rng: np.random.Generator, draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    """One to five coordinates in another unit, their scores left as they were."""
    x, s, _ = draw
    changed = rng.permutation(D) < rng.integers(1, D + 1)
    return x * np.where(changed, rng.choice(FACTORS, D), 1.0), s


def wrong_columns(rng: np.random.Generator, draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    """Two or more parameters exchanged."""
    x, s, _ = draw
    order = np.arange(D)
    while np.array_equal(order, np.arange(D)):
        order = rng.permutation(D)
    return x, s[:, order]


def prior_scores(rng: np.random.Generator, draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    """The likelihood forgotten."""
    x, _, prior = draw
    return x, prior


MISTAKES = {
    "wrong sign": (wrong_sign, "sign"),
    "missing Jacobian": (missing_jacobian, "jacobian"),
    "constrained points": (constrained_points, "jacobian"),
    "constrained scores": (constrained_scores, "jacobian"),
    "shuffled rows": (shuffled_rows, "row-order"),
    "wrong units": (wrong_units, "units"),
    "wrong columns": (wrong_columns, "parameter-order"),
    "prior": (prior_scores, "prior"),
}


def run_mistake(target: Target, mistake: str, seeds: range) -> dict:
    """Shares of trials flagged and named rightly."""
    make, code = MISTAKES[mistake]
    flagged, codes = 0, Counter()
    for seed in seeds:
        rng = np.random.default_rng([seed, 1])
        x, s = make(rng, target.independent(rng, N))
        result = check(Task(x, s, x[:, 0]))
        flagged += result.worst == "error"
        codes.update({finding.code for finding in result if finding.severity == "error"})
    return {"flagged": flagged / len(seeds), "named": codes[code] / len(seeds), "codes": dict(codes)}


def run_correct(target: Target, chains: tuple[int, int] | None, seeds: range) -> dict:
    """Share of trials with no finding worse than a note, and what was said otherwise."""
    quiet, codes, correlation = 0, Counter(), []
    for seed in seeds:
        rng = np.random.default_rng([seed, 2])
        x, s, _ = target.independent(rng, N) if chains is None else target.chains(rng, *chains)
        result = check(Task(x, s, x[..., 0]))
        quiet += result.ok
        codes.update(finding.code for finding in result if finding.severity in ("warning", "error"))
        if chains is not None:
            first = x[..., 0] - x[..., 0].mean()
            correlation.append(float((first[:, 1:] * first[:, :-1]).mean() / (first**2).mean()))
    return {
        "no alarm": quiet / len(seeds),
        "codes": dict(codes),
        "autocorrelation": float(np.mean(correlation)) if correlation else 0.0,
    }


def main() -> None:
    """Run everything, print two tables, write one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/trust/check_power.json"))
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.trials)
    results = {"trials": len(seeds), "first_seed": seeds.start, "mistakes": {}, "correct": {}}
    started = time.perf_counter()
    print(f"{'target':<10} {'mistake':<20} {'flagged':>8} {'named':>8}")
    all_targets = targets()
    for target in all_targets:
        for mistake in MISTAKES:
            result = run_mistake(target, mistake, seeds)
            results["mistakes"][f"{target.name}: {mistake}"] = result
            other = {code: count for code, count in result["codes"].items() if code != MISTAKES[mistake][1]}
            print(
                f"{target.name:<10} {mistake:<20} {result['flagged']:>8.1%} {result['named']:>8.1%} {other or ''}",
                flush=True,
            )
    print(f"\n{'target':<10} {'draws':<20} {'no alarm':>8} {'lag 1':>8}")
    for target in all_targets:
        for chains in (None, (4, 125), (4, 250), (4, 1000)):
            result = run_correct(target, chains, seeds)
            draws = f"{N} independent" if chains is None else f"{chains[0]} chains of {chains[1]}"
            results["correct"][f"{target.name}: {draws}"] = result
            said = result["codes"] or ""
            print(
                f"{target.name:<10} {draws:<20} {result['no alarm']:>8.1%} {result['autocorrelation']:>8.2f} {said}",
                flush=True,
            )
    results["seconds"] = time.perf_counter() - started
    arguments.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
