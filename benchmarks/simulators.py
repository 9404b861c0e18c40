"""The borehole under its usual inputs, by models of three costs (400 + 80 + 20 runs): error of the dear mean.

    python benchmarks/simulators.py [--seeds 10] [--first-seed 8000] [--design random] [--compare 4]

    f(x) = 2 pi Tu (Hu - Hl) / { log(r / rw) (1 + Tu / Tl) + 2 L Tu / (rw^2 Kw) }

The inputs are those of Harper and Gupta (1983), the cheap model that of Xiong, Qian and Wu (2013), and the middle one
takes the radius r at its median. Plain averages are those of as many dear runs at independent points. For the first
seeds, as many as `--compare` says, the same runs are also estimated in coordinates by logarithms and logits.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import cache
from pathlib import Path

import numpy as np

import vvcv
from vvcv import inputs
from vvcv.report import simple_table
from vvcv.simulators import run_models

RUNS = {"cheap": 400, "middle": 80, "dear": 20}
GIVEN = inputs.independent(
    rw=inputs.normal(0.1, 0.0161812),
    r=inputs.lognormal(7.71, 1.0056),
    Tu=inputs.uniform(63070, 115600),
    Hu=inputs.uniform(990, 1110),
    Tl=inputs.uniform(63.1, 116),
    Hl=inputs.uniform(700, 820),
    L=inputs.uniform(1120, 1680),
    Kw=inputs.uniform(9855, 12045),
)


def flow(rw, r, Tu, Hu, Tl, Hl, L, Kw, numerator=2 * np.pi, offset=1.0):
    """Water that flows through a borehole, in cubic metres a year."""
    log_ratio = np.log(r / rw)
    return numerator * Tu * (Hu - Hl) / (log_ratio * (offset + Tu / Tl) + 2 * L * Tu / (rw**2 * Kw))


def cheap(**x):
    """The low fidelity of Xiong, Qian and Wu."""
    return flow(**x, numerator=5.0, offset=1.5)


def middle(**x):
    """The radius of influence is taken at its median."""
    return flow(**{**x, "r": np.exp(7.71)})


MODELS = {"cheap": cheap, "middle": middle, "dear": flow}


@cache
def exact() -> float:
    """Mean of the dear model by tensor quadrature; Hu - Hl is a factor of its own, with mean 290."""
    hermite, hermite_weights = np.polynomial.hermite_e.hermegauss(20)
    legendre, legendre_weights = np.polynomial.legendre.leggauss(6)
    middles = {"Tu": (63070, 115600), "Tl": (63.1, 116), "L": (1120, 1680), "Kw": (9855, 12045)}
    axes = [0.1 + 0.0161812 * hermite, np.exp(7.71 + 1.0056 * hermite)]
    axes += [(low + high) / 2 + (high - low) / 2 * legendre for low, high in middles.values()]
    weights = [hermite_weights / hermite_weights.sum()] * 2 + [legendre_weights / 2] * 4
    keep = axes[0] > 0  # the model has no meaning beyond, 6.2 standard deviations out
    axes[0], weights[0] = axes[0][keep], weights[0][keep] / weights[0][keep].sum()
    values = flow(**dict(zip(["rw", "r", *middles], np.meshgrid(*axes, indexing="ij"), strict=True)), Hu=290.0, Hl=0.0)
    for w in reversed(weights):
        values = values @ w
    return float(values)


def unconstrained(seed: int, design: str) -> vvcv.Tasks:
    """The same runs, with the inputs moved to the whole line by logarithms and logits."""
    tasks, ends = [], [marginal.law.support() for marginal in GIVEN.marginals.values()]
    lower, upper = np.array(ends, dtype=float).T
    for task in run_models(MODELS, GIVEN, RUNS, store=None, seed=seed, design=design):
        x = np.column_stack([m.from_normal(z) for m, z in zip(GIVEN.marginals.values(), task.points.T, strict=True)])
        tasks.append(vvcv.Task(*vvcv.unconstrain(x, GIVEN.score(x), lower, upper), task.values, name=task.name))
    return vvcv.Tasks(tasks)


def errors(seed: int, design: str, compare: bool) -> dict[str, float]:
    """Error of the estimate and of the plain average, the error bar, and the seconds it took."""
    started = time.perf_counter()
    est = vvcv.multifidelity(MODELS, GIVEN, RUNS, store=None, seed=seed, design=design)
    row = {"seed": seed, "error": est.mean[2] - exact(), "std_error": est.std_error[2]}
    row |= {"seconds": time.perf_counter() - started}
    row |= {"plain": flow(**GIVEN.sample(RUNS["dear"], seed=[seed, 1])).mean() - exact()}
    if compare:
        row["unconstrained"] = vvcv.estimate(unconstrained(seed, design)).mean[2] - exact()
    return {name: float(value) for name, value in row.items()}


def summarise(rows: list[dict[str, float]]) -> dict[str, float]:
    """Mean absolute errors, and their ratio."""
    ours, plain = (float(np.mean([abs(row[name]) for row in rows])) for name in ("error", "plain"))
    summary = {"exact": exact(), "mean absolute error": ours, "plain average": plain, "times better": plain / ours}
    both = [row for row in rows if "unconstrained" in row]
    for name, key in (("error", "Gaussian map"), ("unconstrained", "logarithms and logits")):
        if both:
            summary[f"{key}, first {len(both)} seeds"] = float(np.mean([abs(row[name]) for row in both]))
    return summary


def main() -> None:
    """Print the table and record every seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=8000)
    parser.add_argument("--design", default="random")
    parser.add_argument("--compare", type=int, default=4)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/simulators.json"))
    arguments = parser.parse_args()
    rows = []
    for i in range(arguments.seeds):
        rows.append(errors(arguments.first_seed + i, arguments.design, compare=i < arguments.compare))
        print(rows[-1], flush=True)
    summary = summarise(rows)
    print(simple_table(["borehole, three fidelities", "dear mean"], [[k, f"{v:.6g}"] for k, v in summary.items()]))
    record = {"design": arguments.design, "runs": RUNS, **summary, "seeds": rows}
    arguments.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
