"""Integrands that grow outwards, in samples beyond an exact fit: coverage of fits by inducing points.

    python benchmarks/trust/streamed.py [--cases normal ...] [--replications 40] [--jobs 2] [--out FILE]

    normal      N(0, I), d = 4 and 10: exp(x_1), exp(1.5 x_1), exp(x_1 + x_2 / 2), max(x_1, 0)^3, cos(x_1 + x_2)
    log-gamma   logarithms of independent gamma variables u of shape 4, d = 4 and 10: u_1^2, u_1^3, 1 / u_1, u_1^1.5,
                u_1 u_2

12,000 rows each, read as larger samples are, with as many inducing points as 10^6 rows have (400).

Bars: coverage 85 % or more, RMSE at most 1.05 times the plain average's.
Tuned on seeds from 24800 to 24999, reported from 88400.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gamma
from study import NO_HARM, Column, Lines, measured, run

import vvcv
from vvcv.large import inducing

ROWS, SHAPE = 12_000, 4.0

COLUMNS = (*NO_HARM, Column("s", "seconds", "{:.1f}"))


def normal(rng: np.random.Generator, d: int) -> tuple[vvcv.Tasks, np.ndarray]:
    """Exponentials, a hinge and a wave."""
    x = rng.normal(size=(ROWS, d))
    a, b = x[:, 0], x[:, 1]
    values = [np.exp(a), np.exp(1.5 * a), np.exp(a + b / 2), np.maximum(a, 0) ** 3, np.cos(a + b)]
    exact = [np.exp(0.5), np.exp(1.125), np.exp(0.625), np.sqrt(2 / np.pi), np.exp(-1.0)]
    return vvcv.Tasks.shared(x, -x, np.column_stack(values)), np.array(exact)


def log_gamma(rng: np.random.Generator, d: int) -> tuple[vvcv.Tasks, np.ndarray]:
    """Powers and a product of the gamma variables."""
    u = rng.gamma(SHAPE, size=(ROWS, d))
    powers = np.array([2.0, 3.0, -1.0, 1.5])
    values = np.column_stack([u[:, :1] ** powers, u[:, 0] * u[:, 1]])
    return vvcv.Tasks.shared(np.log(u), SHAPE - u, values), np.append(gamma(SHAPE + powers) / gamma(SHAPE), SHAPE**2)


TARGETS = {"normal": normal, "log-gamma": log_gamma}
CASES = {f"{name}, d = {d}": (draw, d) for name, draw in TARGETS.items() for d in (4, 10)}


def replicate(case: str, seed: int, methods: list[str]) -> Lines:
    """One sample by inducing points, whatever else the study is asked for."""
    inducing.MOST_POINTS = inducing.MANY_POINTS
    draw, d = CASES[case]
    tasks, exact = draw(np.random.default_rng([seed, 41]), d)
    return [line | {"method": methods[0]} for line in measured(case, seed, tasks, exact, ["inducing"])]


if __name__ == "__main__":
    run(__doc__, replicate, CASES, COLUMNS, first_seed=88400)
