"""Targets that are Student's t: what is learned of squares, products, waves and kinks from few points.

    python benchmarks/trust/student.py [--cases "nu=8" ...] [--replications 20] [--jobs 2] [--out FILE]

Targets are t with nu = 4, 6, 8, 12 degrees of freedom in d = 1, 2, 4, 8 dimensions, n = 40, 100; tasks are the means of
x_1^2, x_1 x_d + x_1, cos(x_1) + x_d^2 / 2 and |x_1| + x_d.

Bars: coverage 85 % or more, RMSE at most 1.05 times the plain average's.
Tuned on seeds from 98600 to 98799, reported from 99000.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from distributions import Student
from scipy import integrate, stats
from study import NO_HARM, Lines, measured, run

import vvcv


class Case(NamedTuple):
    """Degrees of freedom, dimensions, points."""

    freedom: int
    d: int
    n: int

    def draw(self, rng: np.random.Generator) -> vvcv.Tasks:
        """Four integrands at shared points."""
        target = Student(self.freedom, self.d)
        x = target.sample(rng, self.n)
        first, last = x[:, 0], x[:, -1]
        values = [first**2, first * last + first, np.cos(first) + last**2 / 2, np.abs(first) + last]
        return vvcv.Tasks.shared(x, target.score(x), np.stack(values, axis=1))

    def exact(self) -> np.ndarray:
        """Their means."""
        square, density = self.freedom / (self.freedom - 2), stats.t(self.freedom).pdf
        wave = 2 * integrate.quad(density, 0, np.inf, weight="cos", wvar=1.0)[0]
        kink = 2 * integrate.quad(lambda x: x * density(x), 0, np.inf)[0]
        return np.array([square, square if self.d == 1 else 0.0, wave + square / 2, kink])


@functools.cache
def cases() -> dict[str, Case]:
    """All of them by name."""
    sizes = ((nu, d, n) for nu in (4, 6, 8, 12) for d in (1, 2, 4, 8) for n in (40, 100))
    return {f"nu={nu}, d={d}, n={n}": Case(nu, d, n) for nu, d, n in sizes}


def replicate(case: str, seed: int, methods: list[str]) -> Lines:
    """Estimates of one sample."""
    known = cases()[case]
    return measured(case, seed, known.draw(np.random.default_rng(seed)), known.exact(), methods)


if __name__ == "__main__":
    run(__doc__, replicate, cases(), NO_HARM, first_seed=99000)
