"""South's example, a quadratic plus a local ripple, and a companion, under centred Gaussians of different width.

    f_1(x) = 1.5 + x + 1.5 x^2 + 1.75 sin(pi x) exp(-x^2),     f_2(x) = 1 + x + x^2 + sin(pi x) exp(-x^2)

The ripple is odd, so under N(0, v) the means are 1.5 + 1.5 v and 1 + v.
Reference: paper, Appendix E.2; f_2 is from South, Karvonen, Nemeth, Girolami and Oates (2022).

The text pairs f_1 with N(0, 1) and f_2 with N(0, v); the program behind the published figure pairs f_1 with N(0, v)
and f_2 with N(0, 1). `variances` gives either; to meet the published numbers use the program's.
"""

from typing import Literal

import numpy as np
from jaxtyping import Float

Points = Float[np.ndarray, "n 1"]
Scores = Float[np.ndarray, "n 1"]
Values = Float[np.ndarray, "n"]

VARIANCES = (1.0, 1.1, 1.15, 1.2, 1.25)


def sample(rng: np.random.Generator, n: int, variance: float = 1.0) -> Points:
    """n independent points of N(0, variance)."""
    return np.sqrt(variance) * rng.standard_normal((n, 1))


def score(points: Points, variance: float = 1.0) -> Scores:
    """Gradient of the log density of N(0, variance)."""
    return -points / variance


def f_1(points: Points) -> Values:
    """The companion integrand."""
    x = points[..., 0]
    return 1.5 + x + 1.5 * x**2 + 1.75 * np.sin(np.pi * x) * np.exp(-(x**2))


def f_2(points: Points) -> Values:
    """South's integrand."""
    x = points[..., 0]
    return 1.0 + x + x**2 + np.sin(np.pi * x) * np.exp(-(x**2))


def exact_1(variance: float = 1.0) -> float:
    """Mean of f_1 under N(0, variance)."""
    return 1.5 + 1.5 * variance


def exact_2(variance: float = 1.0) -> float:
    """Mean of f_2 under N(0, variance)."""
    return 1.0 + variance


def variances(variance: float, pairing: Literal["program", "text"] = "program") -> tuple[float, float]:
    """The variances that f_1 and f_2 are integrated against when the wider target has the given variance."""
    pairs = {"program": (variance, 1.0), "text": (1.0, variance)}
    if pairing not in pairs:
        raise ValueError(f"pairing must be 'program' or 'text'; found {pairing!r}; choose one of the two.")
    return pairs[pairing]
