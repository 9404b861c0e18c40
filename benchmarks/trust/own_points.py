"""Several tasks on points of their own, in many dimensions: functions of two axes or directions, alike or not.

    python benchmarks/trust/own_points.py [--cases five ...] [--replications 40] [--jobs 2] [--out FILE]

Of x ~ N(0, I) with u, v its first two coordinates (`axes`) or along two orthogonal directions drawn anew (`turned`):

    smooth  sin(1.5 u) + v^2 / 2     wave  cos(2 u + v)     growing  exp(.8 u) + .3 v
    kink    |u| + v / 2              noisy  the smooth one and N(0, .1^2)

    pair       f on many points and 1.2 f + .3 cos(u + v) on few
    strangers  a wave on many points and f on few
    five       (1 + k / 10) f + .15 k cos(u + v), k = 0 .. 4, each on few

with 100 and 40 points in ten dimensions, 150 and 80 in twenty.

Bars: coverage 85 % or more, RMSE at most 1.05 times the plain average's.
Tuned on seeds from 21000 to 21299 and from 97000 to 97399, reported from 107600.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from study import NO_HARM, Lines, measured, run

import vvcv

Function = Callable[[np.ndarray, np.ndarray], np.ndarray]

SIZES = {10: (100, 40), 20: (150, 80)}
NOISE = 0.1


def _smooth(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.sin(1.5 * u) + v**2 / 2


def _wave(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.cos(2 * u + v)


FUNCTIONS: dict[str, Function] = {
    "smooth": _smooth,
    "wave": _wave,
    "growing": lambda u, v: np.exp(0.8 * u) + 0.3 * v,
    "kink": lambda u, v: np.abs(u) + v / 2,
    "noisy": _smooth,
}


def _like(function: Function, factor: float, other: float) -> Function:
    return lambda u, v: factor * function(u, v) + other * np.cos(u + v)


def _pair(function: Function, many: int, few: int) -> list[tuple[Function, int]]:
    return [(function, many), (_like(function, 1.2, 0.3), few)]


def _strangers(function: Function, many: int, few: int) -> list[tuple[Function, int]]:
    return [(_wave, many), (function, few)]


def _five(function: Function, many: int, few: int) -> list[tuple[Function, int]]:
    return [(_like(function, 1 + k / 10, 0.15 * k), few) for k in range(5)]


RELATIONS = {"pair": _pair, "strangers": _strangers, "five": _five}


@functools.cache
def _grid() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both coordinates and Simpson's weights of an even grid, on which the kink lies: exact to nine digits."""
    line = np.linspace(-8, 8, 1601)
    weights = np.exp(-(line**2) / 2) * np.where(np.arange(line.size) % 2, 4, 2)
    u, v = np.meshgrid(line, line, indexing="ij")
    return u, v, np.outer(weights, weights) / weights.sum() ** 2


def exact(function: Function) -> float:
    """The expectation."""
    u, v, weights = _grid()
    return float(np.sum(weights * function(u, v)))


@functools.cache
def cases() -> dict[str, tuple[str, str, int, str]]:
    """Function, axes or turned, dimension and relation by name."""
    return {
        f"{name}, {along}, d = {d}, {relation}": (name, along, d, relation)
        for name in FUNCTIONS
        for along in ("axes", "turned")
        for d in SIZES
        for relation in RELATIONS
        if not (name == "wave" and relation == "strangers")  # a pair without a difference
    }


def replicate(name: str, seed: int, methods: list[str]) -> Lines:
    """One sample of all tasks, in directions of its own where they are turned."""
    kind, along, d, relation = cases()[name]
    rng = np.random.default_rng([seed, 9])
    directions = np.eye(d)[:2] if along == "axes" else np.linalg.qr(rng.normal(size=(d, 2)))[0].T
    given, tasks = RELATIONS[relation](FUNCTIONS[kind], *SIZES[d]), []
    for function, count in given:
        x = rng.normal(size=(count, d))
        noise = NOISE * rng.normal(size=count) if kind == "noisy" else 0.0
        tasks.append(vvcv.Task(x, -x, function(*directions @ x.T) + noise))
    return measured(name, seed, vvcv.Tasks(tasks), np.array([exact(f) for f, _ in given]), methods)


if __name__ == "__main__":
    run(__doc__, replicate, cases(), NO_HARM, first_seed=70000)
