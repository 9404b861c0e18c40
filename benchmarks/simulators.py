"""Models of three costs: error of the dear mean, against plain averages and against one kind of coordinates alone.

    python benchmarks/simulators.py [--problem borehole] [--seeds 10] [--first-seed 8000] [--compare 10]

    borehole   2 pi Tu (Hu - Hl) / { log(r / rw) (1 + Tu / Tl) + 2 L Tu / (rw^2 Kw) }, inputs of Harper and Gupta
               (1983); cheap is the low fidelity of Xiong, Qian and Wu (2013), middle takes r at its median
    bounded    exp(-a b) + sin(2 c) d + a d, with inputs that all have bounds

Plain averages are those of as many dear runs at independent points. For the first seeds, as many as `--compare` says,
the same runs are also estimated in Gaussian coordinates alone, and in those by logarithms and logits alone
(`vvcv.unconstrain`); inputs look at both.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import vvcv
from vvcv import inputs
from vvcv.inputs.joint import GaussianInputs
from vvcv.report import simple_table
from vvcv.simulators import run_models


class Problem(NamedTuple):
    """Inputs, models from cheap to dear, their runs, and the dear mean."""

    given: GaussianInputs
    models: dict[str, Callable]
    runs: dict[str, int]
    exact: float


def flow(rw, r, Tu, Hu, Tl, Hl, L, Kw, numerator=2 * np.pi, offset=1.0):
    """Water that flows through a borehole, in cubic metres a year."""
    log_ratio = np.log(r / rw)
    return numerator * Tu * (Hu - Hl) / (log_ratio * (offset + Tu / Tl) + 2 * L * Tu / (rw**2 * Kw))


def exact_flow() -> float:
    """Mean flow by tensor quadrature; Hu - Hl is a factor of its own, with mean 290."""
    hermite, hermite_weights = np.polynomial.hermite_e.hermegauss(20)
    legendre, legendre_weights = np.polynomial.legendre.leggauss(6)
    ends = {"Tu": (63070, 115600), "Tl": (63.1, 116), "L": (1120, 1680), "Kw": (9855, 12045)}
    axes = [0.1 + 0.0161812 * hermite, np.exp(7.71 + 1.0056 * hermite)]
    axes += [(low + high) / 2 + (high - low) / 2 * legendre for low, high in ends.values()]
    weights = [hermite_weights / hermite_weights.sum()] * 2 + [legendre_weights / 2] * 4
    keep = axes[0] > 0  # the model has no meaning beyond, 6.2 standard deviations out
    axes[0], weights[0] = axes[0][keep], weights[0][keep] / weights[0][keep].sum()
    values = flow(**dict(zip(["rw", "r", *ends], np.meshgrid(*axes, indexing="ij"), strict=True)), Hu=290.0, Hl=0.0)
    for w in reversed(weights):
        values = values @ w
    return float(values)


def borehole() -> Problem:
    """Normal, lognormal and uniform inputs, eight in all."""
    given = inputs.independent(
        rw=inputs.normal(0.1, 0.0161812),
        r=inputs.lognormal(7.71, 1.0056),
        Tu=inputs.uniform(63070, 115600),
        Hu=inputs.uniform(990, 1110),
        Tl=inputs.uniform(63.1, 116),
        Hl=inputs.uniform(700, 820),
        L=inputs.uniform(1120, 1680),
        Kw=inputs.uniform(9855, 12045),
    )
    models = {
        "cheap": lambda **x: flow(**x, numerator=5.0, offset=1.5),
        "middle": lambda **x: flow(**{**x, "r": np.exp(7.71)}),
        "dear": flow,
    }
    return Problem(given, models, {"cheap": 400, "middle": 80, "dear": 20}, exact_flow())


def bounded() -> Problem:
    """Uniform, triangular, gamma and beta inputs; the mean by 2^20 Sobol points, whose error is about 1e-6."""
    given = inputs.independent(
        a=inputs.uniform(0, 1), b=inputs.triangular(0, 1, 3), c=inputs.gamma(3, 0.5), d=inputs.beta(2, 3)
    )
    models = {
        "cheap": lambda a, b, c, d: 1 / (1 + a * b) + np.sin(2 * c) * d,
        "middle": lambda a, b, c, d: np.exp(-a * b) + 0.9 * np.sin(2 * c) * d,
        "dear": lambda a, b, c, d: np.exp(-a * b) + np.sin(2 * c) * d + a * d,
    }
    exact = float(models["dear"](**given.sample(2**20, design="sobol")).mean())
    return Problem(given, models, {"cheap": 120, "middle": 40, "dear": 15}, exact)


def unconstrained(problem: Problem, seed: int) -> vvcv.Tasks:
    """The same runs, with the inputs moved to the whole line by logarithms and logits."""
    marginals = problem.given.marginals.values()
    lower, upper = np.array([marginal.law.support() for marginal in marginals], dtype=float).T
    tasks = []
    for task in run_models(problem.models, problem.given, problem.runs, store=None, seed=seed):
        x = np.column_stack([m.from_normal(z) for m, z in zip(marginals, task.points.T, strict=True)])
        points, scores = vvcv.unconstrain(x, problem.given.score(x), lower, upper)
        tasks.append(vvcv.Task(points, scores, task.values, name=task.name))
    return vvcv.Tasks(tasks)


def errors(problem: Problem, seed: int, compare: bool) -> dict[str, float]:
    """Error of the estimate and of the plain average, the error bar, and the seconds it took."""
    given, models, runs, exact = problem
    started = time.perf_counter()
    est = vvcv.multifidelity(models, given, runs, store=None, seed=seed)
    row = {"seed": seed, "error": est.mean[2] - exact, "std_error": est.std_error[2]}
    row["seconds"] = time.perf_counter() - started
    row["plain"] = models["dear"](**given.sample(runs["dear"], seed=[seed, 1])).mean() - exact
    if compare:
        tasks = [replace(task, elsewhere=None) for task in run_models(models, given, runs, store=None, seed=seed)]
        row["gaussian"] = vvcv.estimate(tasks).mean[2] - exact
        row["unconstrained"] = vvcv.estimate(unconstrained(problem, seed)).mean[2] - exact
    return {name: float(value) for name, value in row.items()}


def summarise(rows: list[dict[str, float]]) -> dict[str, float]:
    """Mean absolute errors, and their ratio."""

    def error(name: str, among: list[dict[str, float]]) -> float:
        return float(np.mean([abs(row[name]) for row in among]))

    compared = [row for row in rows if "unconstrained" in row]
    ours, plain = error("error", rows), error("plain", rows)
    summary = {"mean absolute error": ours, "plain average": plain, "times better": plain / ours}
    if compared:
        summary["both, where compared"] = error("error", compared)
        summary["Gaussian coordinates alone"] = error("gaussian", compared)
        summary["logarithms and logits alone"] = error("unconstrained", compared)
    return summary


def main() -> None:
    """Print the table and record every seed."""
    problems = {"borehole": borehole, "bounded": bounded}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", choices=problems, default="borehole")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=8000)
    parser.add_argument("--compare", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/simulators.json"))
    arguments = parser.parse_args()
    problem, rows = problems[arguments.problem](), []
    for i in range(arguments.seeds):
        rows.append(errors(problem, arguments.first_seed + i, compare=i < arguments.compare))
        print(rows[-1], flush=True)
    summary = {"exact": problem.exact, **summarise(rows)}
    print(simple_table([arguments.problem, "dear mean"], [[k, f"{v:.6g}"] for k, v in summary.items()]))
    record = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    record[arguments.problem] = {"runs": problem.runs, **summary, "seeds": rows}
    arguments.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
