"""Does more data ever mean more error? Nested samples of 40 to 1,000 points from twelve targets.

    python benchmarks/trust/nested.py [--cases banana ...] [--replications 20] [--jobs 2] [--out FILE]

Every replication draws 1,000 points once and estimates from the first 40, 80, 150, 400 and all of them; tasks are
E[x_1 x_2] (x_1^2 in one dimension) and E[exp(-x_1^2 / 8) + sin(x_d)]. The error of a size is the mean over
replications and tasks of |estimate - exact| in units of the integrand's standard deviation, and errors below 1e-9 of
it count as 1e-9. Bar: it grows by at most 1.3 from one size to the next.
Tuned on seeds from 20000, reported from 50000.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from distributions import Banana, Funnel, Gaussian, Logistic, Modes, Student
from scipy import integrate, special, stats
from study import Column, Lines, chosen, collect, grouped, measured, options, record, show

import vvcv

SIZES = (40, 80, 150, 400, 1000)
GROWTH, ROUNDING = 1.3, 1e-9

COLUMNS = (
    Column("runs", "replications", "{:d}"),
    *(Column(f"n = {n}", f"error {n}", "{:.2g}") for n in SIZES),
    Column("worst growth", "worst growth", "{:.2f}", high=GROWTH),
    Column("(se)", "its standard error", "{:.2f}"),
    Column("from", "at", "{}"),
)


class LogGamma(NamedTuple):
    """Logarithms of independent gamma variables: skewed, with one light and one heavier tail."""

    shape: float
    d: int

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return np.log(rng.gamma(self.shape, size=(n, self.d)))

    def score(self, x: np.ndarray) -> np.ndarray:
        return self.shape - np.exp(x)


class Nested(NamedTuple):
    """A target, the density of its first coordinate, and the means of x_1 x_2 and sin(x_d)."""

    target: object
    first: Callable[[float], float]
    product: float
    sine: float = 0.0

    def exact(self) -> np.ndarray:
        """Means of both integrands."""
        hump = integrate.quad(lambda x: np.exp(-(x**2) / 8) * self.first(x), -30, 30, epsabs=1e-12, limit=500)[0]
        return np.array([self.product, hump + self.sine])


@functools.cache
def cases() -> dict[str, Nested]:
    """The twelve."""
    normal = stats.norm.pdf
    near = Modes((1.5, 0.5), 0.8, 0.6)
    return {
        "normal, d = 1": Nested(Gaussian.standard(1), normal, 1.0),
        "normal, d = 4": Nested(Gaussian.standard(4), normal, 0.0),
        "normal, d = 10": Nested(Gaussian.standard(10), normal, 0.0),
        "normal, correlation .95": Nested(Gaussian((0.0, 0.0), ((1.0, 0.95), (0.95, 1.0))), normal, 0.95),
        "logistic": Nested(Logistic(), stats.logistic.pdf, np.pi**2 / 3),
        "Student 8, d = 2": Nested(Student(8, 2), stats.t(8).pdf, 0.0),
        "near modes": Nested(
            near,
            lambda x: 0.6 * normal(x, 1.5, 0.8) + 0.4 * normal(x, -1.5, 0.8),
            0.75,
            0.2 * np.sin(0.5) * np.exp(-0.32),
        ),
        "banana": Nested(Banana(1.0, 0.5), normal, 0.0, _bent_sine(1.0, 0.5)),
        "narrow banana": Nested(Banana(1.5, 0.25), normal, 0.0, _bent_sine(1.5, 0.25)),
        "funnel of width .7": Nested(Funnel(0.7, 3), stats.norm(0, 0.7).pdf, 0.0),
        "log-gamma of shape 3": _log_gamma(3.0, 2),
        "log-gamma of shape 1": _log_gamma(1.0, 3),
    }


def _bent_sine(bend: float, width: float) -> float:
    """E sin(bend (x^2 - 1) + width z)."""
    f = integrate.quad(lambda x: np.sin(bend * (x**2 - 1)) * stats.norm.pdf(x), -12, 12, limit=500, epsabs=1e-13)[0]
    return float(f * np.exp(-(width**2) / 2))


def _log_gamma(shape: float, d: int) -> Nested:
    """E g^i = Gamma(shape + i) / Gamma(shape) has the mean of sin(log g) as its imaginary part."""
    sine = float((special.gamma(shape + 1j) / special.gamma(shape)).imag)
    return Nested(LogGamma(shape, d), stats.loggamma(shape).pdf, float(special.digamma(shape) ** 2), sine)


def values(x: np.ndarray) -> np.ndarray:
    """Both integrands."""
    return np.column_stack([x[:, 0] * x[:, min(1, x.shape[1] - 1)], np.exp(-(x[:, 0] ** 2) / 8) + np.sin(x[:, -1])])


def replicate(case: str, seed: int, methods: list[str]) -> Lines:
    """Estimates from the first points of one sample, as cases "name, n"."""
    nested = cases()[case]
    x = nested.target.sample(np.random.default_rng(seed), SIZES[-1])
    tasks = [vvcv.Tasks.shared(x[:n], nested.target.score(x[:n]), values(x[:n])) for n in SIZES]
    parts = [measured(f"{case}|{n}", seed, t, nested.exact(), methods) for n, t in zip(SIZES, tasks, strict=True)]
    return [line for part in parts for line in part]


def summary(found: dict[tuple[str, str], Lines], case: str, method: str) -> dict:
    """Mean errors of each size, and the worst growth from one to the next with its standard error (delta method)."""
    largest = found[f"{case}|{SIZES[-1]}", method]
    unit = np.median([line["plain_std_error"] for line in largest], axis=0) * np.sqrt(SIZES[-1])
    errors = np.array([[np.mean(np.abs(line["error"]) / unit) for line in found[f"{case}|{n}", method]] for n in SIZES])
    mean = np.maximum(errors.mean(axis=1), ROUNDING)
    growth = mean[1:] / mean[:-1]
    worst = int(np.argmax(growth))
    relative = errors[worst + 1] / mean[worst + 1] - errors[worst] / mean[worst]
    return {
        "replications": errors.shape[1],
        **{f"error {n}": float(value) for n, value in zip(SIZES, mean, strict=True)},
        "worst growth": float(growth[worst]),
        "its standard error": float(growth[worst] * np.std(relative) / np.sqrt(errors.shape[1])),
        "at": f"{SIZES[worst]} to {SIZES[worst + 1]}",
    }


def main() -> None:
    """Run, print and record."""
    given = options(__doc__).parse_args()
    names = chosen(cases(), given.cases)
    found = grouped(collect(replicate, names, given))
    rows = {f"{name}: {m}": summary(found, name, m) for name in names for m in given.methods if _there(found, name, m)}
    show("nested samples", rows, COLUMNS)
    record(given, rows=rows)


def _there(found: dict[tuple[str, str], Lines], name: str, method: str) -> bool:
    return (f"{name}|{SIZES[0]}", method) in found


if __name__ == "__main__":
    main()
