"""Models of several costs that ran at the same points, the dear ones at few of those of the cheap ones.

    python benchmarks/trust/common_points.py [--cases rough ...] [--replications 40] [--jobs 2] [--out FILE]

Of x ~ N(0, I), with u, v, w its first, second and last coordinate:

    smooth  exp(.4 u) cos(v) + .3 w     rough  |u + v / 2| + .2 sin(3 w)     steep  tanh(3 u + v) + w^2 / 2

is what the dearest of three or four models says, and what one that is k steps cheaper says differs by

    close   .1 k g, g = sin(1.3 u + .7 w)     far  .5 k g + .3 k u v     shifted  3 k - .2 k f
    noisy   the close one, and N(0, .1^2) in all of them

with 40, 20 and 10, with 200, 60 and 15, or with 300, 100, 40 and 12 runs, in three and eight dimensions.

Bars: coverage 85 % or more, RMSE at most 1.05 times the plain average's.
Tuned on seeds from 21300 to 21329, reported from 71000.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from study import NO_HARM, Lines, measured, run

import vvcv

Function = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]

RUNS = ((40, 20, 10), (200, 60, 15), (300, 100, 40, 12))
NOISE = 0.1
DEAREST: dict[str, Function] = {
    "smooth": lambda u, v, w: np.exp(0.4 * u) * np.cos(v) + 0.3 * w,
    "rough": lambda u, v, w: np.abs(u + v / 2) + 0.2 * np.sin(3 * w),
    "steep": lambda u, v, w: np.tanh(3 * u + v) + w**2 / 2,
}


def cheaper(function: Function, kind: str, k: int) -> Function:
    """What a model says that is k steps cheaper."""

    def difference(u: np.ndarray, v: np.ndarray, w: np.ndarray) -> np.ndarray:
        if kind == "shifted":
            return 3 - 0.2 * function(u, v, w)
        bend = np.sin(1.3 * u + 0.7 * w)
        return 0.5 * bend + 0.3 * u * v if kind == "far" else 0.1 * bend

    return lambda u, v, w: function(u, v, w) + k * difference(u, v, w)


def models(name: str, kind: str, count: int) -> list[Function]:
    """All models, the cheapest first."""
    return [cheaper(DEAREST[name], kind, k) for k in reversed(range(count))]


@functools.cache
def exact(name: str, kind: str, count: int) -> np.ndarray:
    """Expectations by Simpson's rule on an even grid, on which the kinks lie: to six digits."""
    line = np.linspace(-8, 8, 321)
    weights = np.exp(-(line**2) / 2) * np.where(np.arange(line.size) % 2, 4, 2)
    weights /= weights.sum()
    u, v = np.meshgrid(line, line, indexing="ij")
    plane = np.outer(weights, weights)
    slices = [
        [weight * np.sum(plane * model(u, v, np.full_like(u, w))) for model in models(name, kind, count)]
        for w, weight in zip(line, weights, strict=True)
    ]
    return np.sum(slices, axis=0)


@functools.cache
def cases() -> dict[str, tuple[str, str, tuple[int, ...], int]]:
    """Function, kind of differences, runs and dimension by name."""
    return {
        f"{name}, {kind}, {' + '.join(map(str, runs))} runs, d = {d}": (name, kind, runs, d)
        for name in DEAREST
        for kind in ("close", "far", "shifted", "noisy")
        for runs in RUNS
        for d in (3, 8)
    }


def replicate(case: str, seed: int, methods: list[str]) -> Lines:
    """One sample of the cheapest model's points, of which each other has the first."""
    name, kind, runs, d = cases()[case]
    rng, tasks = np.random.default_rng([seed, 10]), []
    points = rng.normal(size=(runs[0], d))
    for model, count in zip(models(name, kind, len(runs)), runs, strict=True):
        x = points[:count]
        noise = NOISE * rng.normal(size=count) if kind == "noisy" else 0.0
        tasks.append(vvcv.Task(x, -x, model(x[:, 0], x[:, 1], x[:, -1]) + noise))
    return measured(case, seed, vvcv.Tasks(tasks), exact(name, kind, len(runs)), methods)


if __name__ == "__main__":
    run(__doc__, replicate, cases(), NO_HARM, first_seed=71000)
