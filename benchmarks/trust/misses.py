"""Rare misses: is the root mean square error of a mean carried by a few replications that are far off?

    python benchmarks/trust/misses.py [--cases borehole ...] [--replications 200] [--jobs 2] [--out FILE]

    borehole   the paper's pair of models, m = 10 and 20 runs of each; error of the dear mean
    synthetic  the paper's f_1 under N(0, 1.25) and f_2 under N(0, 1), 50 points each; both errors
    currin     1 - exp(-1 / 2y) times a ratio of cubics in x (Currin et al. 1991), and its average over four points .05
               around (Xiong, Qian and Wu 2013), x and y uniform; 40 cheap and 15 dear runs
    epidemic   share ever infected by day 30 in a susceptible-infected-recovered model with three uncertain inputs, by
               40 Runge-Kutta steps and by 20 Euler steps; 40 cheap and 12 dear runs

Bar: the root mean square error is at most 3 times the median absolute error (5 for the borehole at m = 10); a normal
error has 1.5. Tuned on seeds from 20000 and from 97000 to 97999, reported from 107300.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats
from study import Column, Lines, chosen, collect, grouped, measured, only, options, record, show

import vvcv
from problems import separate
from vvcv import inputs
from vvcv.problems import borehole, synthetic
from vvcv.simulators import run_models

COLUMNS = (
    Column("runs", "replications", "{:d}"),
    Column("RMSE", "rmse", "{:.3g}"),
    Column("median error", "median", "{:.3g}"),
    Column("largest", "largest", "{:.3g}"),
    Column("its seed", "its seed", "{:d}"),
    Column("RMSE / median", "ratio", "{:.2f}"),
    Column("at most", "bar", "{:g}"),
    Column("held", "held", "{:d}", low=1),
    Column("covers", "coverage", "{:.1%}"),
    Column("plain RMSE", "plain", "{:.3g}"),
)


class Pair(NamedTuple):
    """Data of a seed, their means, which of them count, and the bar."""

    draw: Callable[[int], vvcv.Tasks]
    exact: np.ndarray
    counted: tuple[int, ...] = (1,)
    bar: float = 3.0


@functools.cache
def cases() -> dict[str, Pair]:
    """All by name."""
    exact = np.array([borehole.EXACT_LOW, borehole.EXACT_HIGH])
    wide, normal = _Synthetic(1.25), _Synthetic(1.0)
    return {
        "borehole, m = 10": Pair(_borehole(10), exact, bar=5.0),
        "borehole, m = 20": Pair(_borehole(20), exact),
        "synthetic": Pair(
            separate([(wide, 50, synthetic.f_1), (normal, 50, synthetic.f_2)]),
            np.array([synthetic.exact_1(1.25), synthetic.exact_2(1.0)]),
            (0, 1),
        ),
        "currin": _pair({"cheap": coarse_currin, "dear": currin}, _square(), {"cheap": 40, "dear": 15}),
        "epidemic": _pair({"cheap": euler, "dear": runge_kutta}, _disease(), {"cheap": 40, "dear": 12}),
    }


class _Synthetic(NamedTuple):
    """N(0, variance)."""

    variance: float

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return synthetic.sample(rng, n, self.variance)

    def score(self, x: np.ndarray) -> np.ndarray:
        return synthetic.score(x, self.variance)


def _borehole(m: int) -> Callable[[int], vvcv.Tasks]:
    return separate([(borehole, m, borehole.low), (borehole, m, borehole.high)])


def currin(x, y):
    """The dear model; 1 at y = 0, where the exponential vanishes."""
    decay = 1 - np.exp(-0.5 / np.maximum(y, 1e-12))
    return decay * (2300 * x**3 + 1900 * x**2 + 2092 * x + 60) / (100 * x**3 + 500 * x**2 + 4 * x + 20)


def coarse_currin(x, y):
    """The cheap model: an average around the point, within the square from below."""
    heights = (y + 0.05, np.maximum(y - 0.05, 0.0))
    return sum(currin(x + shift, height) for shift in (-0.05, 0.05) for height in heights) / 4


def _square():
    return inputs.independent(x=inputs.uniform(0, 1), y=inputs.uniform(0, 1))


def _disease():
    return inputs.independent(
        contact=inputs.normal(0.5, 0.05), recovery=inputs.normal(0.2, 0.02), log_start=inputs.normal(-5.0, 0.5)
    )


def _flow(state: np.ndarray, contact, recovery) -> np.ndarray:
    infections, recoveries = contact * state[0] * state[1], recovery * state[1]
    return np.stack([-infections, infections - recoveries])


def _start(log_start) -> np.ndarray:
    return np.stack([1 - np.exp(log_start), np.exp(log_start)])


def euler(contact, recovery, log_start, steps: int = 20, days: float = 30.0):
    """The cheap model: Euler steps."""
    state, h = _start(log_start), days / steps
    for _ in range(steps):
        state = state + h * _flow(state, contact, recovery)
    return 1 - state[0]


def runge_kutta(contact, recovery, log_start, steps: int = 40, days: float = 30.0):
    """The dear model: classical Runge-Kutta steps."""
    state, h = _start(log_start), days / steps
    for _ in range(steps):
        a = _flow(state, contact, recovery)
        b = _flow(state + h / 2 * a, contact, recovery)
        c = _flow(state + h / 2 * b, contact, recovery)
        state = state + h / 6 * (a + 2 * b + 2 * c + _flow(state + h * c, contact, recovery))
    return 1 - state[0]


def _pair(models: dict, given, runs: dict[str, int]) -> Pair:
    """Runs at points of their own; means by quadrature over normal coordinates of the inputs."""
    z, mass = _normal_nodes(panels=100 if len(given.marginals) == 2 else 8)
    grid = np.meshgrid(*[marginal.from_normal(z) for marginal in given.marginals.values()], indexing="ij")
    weights = functools.reduce(np.multiply.outer, [mass] * len(grid))
    exact = [float(np.sum(weights * f(**dict(zip(given.marginals, grid, strict=True))))) for f in models.values()]
    return Pair(lambda seed: run_models(models, given, runs, store=None, seed=seed), np.array(exact))


def _normal_nodes(panels: int, order: int = 5, end: float = 7.0) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre panels under the normal density, for functions that are smooth but no polynomials."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    edges = np.linspace(-end, end, panels + 1)
    z = (edges[:-1, None] + (nodes + 1) * end / panels).ravel()
    mass = np.tile(weights, panels) * stats.norm.pdf(z)
    return z, mass / mass.sum()


def replicate(case: str, seed: int, methods: list[str]) -> Lines:
    """One data set, the tasks that count."""
    pair = cases()[case]
    return only(measured(case, seed, pair.draw(seed), pair.exact, methods), pair.counted)


def summary(lines: Lines, bar: float) -> dict:
    """The worst task counts: root mean square and median of its errors, and the replication that is furthest off."""
    error, low, high, plain = (np.array([line[key] for line in lines]) for key in ("error", "low", "high", "plain"))
    rmse, median = np.sqrt(np.mean(error**2, axis=0)), np.median(np.abs(error), axis=0)
    task = int(np.argmax(rmse / median))
    furthest = int(np.argmax(np.abs(error[:, task])))
    ratio = float(rmse[task] / median[task])
    return {
        "replications": len(lines),
        "rmse": float(rmse[task]),
        "median": float(median[task]),
        "largest": float(abs(error[furthest, task])),
        "its seed": lines[furthest]["seed"],
        "ratio": ratio,
        "bar": bar,
        "held": int(ratio <= bar),
        "coverage": float(np.mean((low <= 0) & (high >= 0))),
        "plain": float(np.sqrt(np.mean(plain[:, task] ** 2))),
    }


def main() -> None:
    """Run, print and record."""
    parser = options(__doc__)
    parser.set_defaults(replications=200)
    given = parser.parse_args()
    names = chosen(cases(), given.cases)
    groups = grouped(collect(replicate, names, given))
    rows = {f"{name}: {m}": summary(groups[name, m], cases()[name].bar) for name in names for m in given.methods}
    show("rare misses", rows, COLUMNS)
    record(given, rows=rows)


if __name__ == "__main__":
    main()
