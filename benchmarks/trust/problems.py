"""Problems with exact answers on which an estimate can be trusted or not: easy ones, hard ones, and traps.

Each draws a fresh data set from a seed and knows its means, by formula or by quadrature to 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from distributions import Banana, Funnel, Gaussian, Logistic, Modes, Student, autoregressive, metropolis
from jaxtyping import Float
from scipy import integrate, stats

import vvcv
from vvcv.problems import step

Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Problem:
    """`draw(seed)` gives tasks whose means are `exact`; `smooth`: integrand and target are, with 50 points or more."""

    name: str
    draw: Callable[[int], vvcv.Tasks]
    exact: Float[np.ndarray, " T"]
    smooth: bool = False
    chains: bool = False


def problems() -> dict[str, Problem]:
    """All problems by name."""
    return {
        problem.name: problem for problem in [*_smooth(), *_rough(), *_tails(), *_targets(), *_sizes(), *_several()]
    }


ONE, TWO = Gaussian.standard(1), Gaussian.standard(2)


def _smooth() -> list[Problem]:
    slope = np.array([0.5, 0.3, 0.2, 0.1])
    wave = np.array([0.8, -0.5, 0.6])
    correlated = Gaussian((1.0, 0.0, -1.0), ((1.0, 0.8, 0.0), (0.8, 1.0, 0.3), (0.0, 0.3, 2.0)))
    covariance, mean = np.array(correlated.covariance), np.array(correlated.mean)
    return [
        one("smooth, 1-d", ONE, 50, lambda x: np.sin(x[:, 0]) + np.exp(x[:, 0] / 2), np.exp(1 / 8), smooth=True),
        one(
            "smooth, 4-d",
            Gaussian.standard(4),
            80,
            lambda x: np.exp(x @ slope),
            np.exp(slope @ slope / 2),
            smooth=True,
        ),
        one(
            "smooth, correlated 3-d",
            correlated,
            80,
            lambda x: np.cos(x @ wave) + x[:, 0] * x[:, 1],
            np.cos(mean @ wave) * np.exp(-wave @ covariance @ wave / 2) + covariance[0, 1],
            smooth=True,
        ),
        one("smooth, logistic target", Logistic(), 60, lambda x: np.cos(x[:, 0]), np.pi / np.sinh(np.pi), smooth=True),
        Problem(
            "smooth, shared points", _shared, np.array([np.exp(0.125), np.exp(-0.5), 2.0, _gauss(_bump) ** 2]), True
        ),
    ]


def _rough() -> list[Problem]:
    return [
        Problem("discontinuous, step", separate([(step, 40, step.low), (step, 40, step.high)]), np.array([0.5, 0.5])),
        one(
            "discontinuous, 2-d corner",
            TWO,
            80,
            lambda x: np.where(x[:, 0] + x[:, 1] > 0.5, 1 + x[:, 0], 0.0),
            stats.norm.sf(0.5 / np.sqrt(2)) + stats.norm.pdf(0.5 / np.sqrt(2)) / np.sqrt(2),
        ),
        one("rare event", ONE, 100, lambda x: (x[:, 0] > 2).astype(float), stats.norm.sf(2)),
        one(
            "misspecified, kinks",
            TWO,
            60,
            lambda x: np.sqrt(np.abs(x[:, 0] - 0.3)) + np.abs(x[:, 1]),
            _gauss(lambda x: np.sqrt(np.abs(x - 0.3)), 0.3) + np.sqrt(2 / np.pi),
        ),
        one("misspecified, fast wave", ONE, 60, lambda x: np.cos(25 * x[:, 0]) + x[:, 0], np.exp(-(25**2) / 2)),
    ]


def _tails() -> list[Problem]:
    return [
        one("student target, bounded", Student(3, 2), 80, lambda x: 1 / (1 + x[:, 0] ** 2), _student_mean()),
        one("student target, unbounded", Student(5, 2), 80, lambda x: x[:, 0] ** 2 + x[:, 1], 5 / 3),
        one("unbounded integrand", ONE, 60, lambda x: np.exp(1.5 * x[:, 0]), np.exp(1.125)),
    ]


def _targets() -> list[Problem]:
    wide = Gaussian((0.0, 0.0), ((1.0, 0.5), (0.5, 1.0)))
    modes = Modes((2.0, 1.0), 0.7, 0.6)
    return [
        one("multimodal target", modes, 80, lambda x: x[:, 0] + x[:, 1] ** 2, 0.2 * 2.0 + 1.0 + 0.7**2),
        one("banana target", Banana(1.0, 0.5), 80, lambda x: x[:, 1] ** 2 + x[:, 0], 2.0 + 0.5**2),
        one("funnel target", Funnel(1.5, 3), 80, lambda x: x[:, 0] ** 2 + np.tanh(x[:, 1]), 1.5**2),
        _chains("chains, autoregressive", wide, lambda rng: autoregressive(rng, wide, 4, 50, 0.9), 1),
        _chains("chains, Metropolis", wide, lambda rng: metropolis(rng, wide, 4, 50, 1.5), 2),
    ]


def _sizes() -> list[Problem]:
    d = 50
    return [
        one(
            "d = 50, n = 60",
            Gaussian.standard(d),
            60,
            lambda x: np.sum(x**2, axis=1) / d + np.sin(x[:, 0]) + x @ np.linspace(0, 1, d) / 5,
            1.0,
        ),
        one("n = 5", ONE, 5, lambda x: np.exp(0.7 * x[:, 0]), np.exp(0.245)),
        one("nearly constant", TWO, 40, lambda x: 1000 + 1e-6 * np.cos(x[:, 0] + x[:, 1]), 1000 + 1e-6 * np.exp(-1)),
        Problem(
            "very unequal sizes",
            separate([(TWO, 80, _hill), (TWO, 8, lambda x: 1.2 * _hill(x) + 0.1 * x[:, 1])]),
            np.array([1.0, 1.2]) * HILL,
        ),
    ]


def _several() -> list[Problem]:
    shifted = Gaussian((0.5, -0.5), ((1.5, 0.3), (0.3, 0.8)))
    return [
        Problem(
            "unrelated tasks",
            separate([(TWO, 60, lambda x: np.cos(4 * x[:, 0])), (shifted, 20, lambda x: np.exp(0.4 * x[:, 1]))]),
            np.array([np.exp(-8), np.exp(0.4 * -0.5 + 0.4**2 * 0.8 / 2)]),
        ),
        Problem("identical tasks", separate([(TWO, 25, _hill), (TWO, 25, _hill)]), np.array([HILL, HILL])),
        Problem(
            "different scales",
            separate(
                [
                    (TWO, 25, lambda x: 1e6 * _hill(x)),
                    (TWO, 25, lambda x: 1e-4 * _hill(x) + 5.0),
                    (TWO, 25, lambda x: 3.0 * _hill(x) - 1e3),
                ]
            ),
            np.array([1e6 * HILL, 1e-4 * HILL + 5.0, 3.0 * HILL - 1e3]),
        ),
    ]


#: Mean of `_hill` under N(0, I): E exp(-|x|^2/8) = 1 / (1 + 1/4), E sin x = 0.
HILL = 0.8


def _hill(x: np.ndarray) -> np.ndarray:
    return np.exp(-np.sum(x**2, axis=-1) / 8) + np.sin(x[..., 0])


def _bump(x: np.ndarray) -> np.ndarray:
    return 1 / (4 + x**2)


def _shared(seed: int) -> vvcv.Tasks:
    x = TWO.sample(np.random.default_rng(seed), 60)
    a, b = x.T
    values = np.column_stack([np.exp(a / 2), np.cos(a) + np.sin(b), a**2 + b**2 + a * b, _bump(a) * _bump(b)])
    return vvcv.Tasks.shared(x, TWO.score(x), values)


def one(name: str, target, n: int, f: Function, exact: float, smooth: bool = False) -> Problem:
    """One integrand, independent draws."""
    return Problem(name, separate([(target, n, f)]), np.array([exact]), smooth)


def _chains(name: str, target: Gaussian, sample: Callable[[np.random.Generator], np.ndarray], count: int) -> Problem:
    """One or two integrands on the same chains."""

    def draw(seed: int) -> vvcv.Tasks:
        x = sample(np.random.default_rng(seed))
        values = np.stack([np.exp(x[..., 0] / 2) + x[..., 1], x[..., 0] ** 2 * np.sin(x[..., 1])], axis=-1)
        return vvcv.Tasks.shared(x, target.score(x), values[..., :count])

    return Problem(name, draw, np.array([np.exp(1 / 8), 0.0])[:count], chains=True)


def separate(parts: Sequence[tuple]) -> Callable[[int], vvcv.Tasks]:
    """Each task with points of its own: (target, n, integrand)."""

    def draw(seed: int) -> vvcv.Tasks:
        rng = np.random.default_rng(seed)
        samples = [(target, target.sample(rng, n), f) for target, n, f in parts]
        return vvcv.Tasks([vvcv.Task(x, target.score(x), f(x)) for target, x, f in samples])

    return draw


def _gauss(f: Function, corner: float = 0.0) -> float:
    """E f under N(0, 1); quadrature on either side of `corner`, where f may be rough."""
    sides = [integrate.quad(lambda x: f(x) * stats.norm.pdf(x), *ends, limit=500) for ends in _sides(corner)]
    return sum(side[0] for side in sides)


def _student_mean() -> float:
    """E 1/(1 + x^2) under Student's t with three degrees of freedom."""
    return 2 * integrate.quad(lambda x: stats.t.pdf(x, 3) / (1 + x**2), 0, np.inf, epsabs=1e-13)[0]


def _sides(corner: float) -> list[tuple[float, float]]:
    return [(-12.0, corner), (corner, 12.0)]
