"""Two step functions of different fidelity under N(0, 1), which no smooth kernel can match.

    f_L(x) = 2 if x >= 0, else -1;     f_H(x) = 1 if x >= 0, else 0;     both means are 1/2

Reference: paper, Section 5.1 and Appendix E.3; after Xi, Briol and Girolami (2018).
"""

import numpy as np
from jaxtyping import Float

Points = Float[np.ndarray, "n 1"]
Scores = Float[np.ndarray, "n 1"]
Values = Float[np.ndarray, "n"]

EXACT_LOW = 0.5
EXACT_HIGH = 0.5


def sample(rng: np.random.Generator, n: int) -> Points:
    """n independent points of N(0, 1)."""
    return rng.standard_normal((n, 1))


def score(points: Points) -> Scores:
    """Gradient of the log density of N(0, 1)."""
    return -points


def low(points: Points) -> Values:
    """The low-fidelity step, from -1 to 2."""
    return np.where(points[..., 0] >= 0, 2.0, -1.0)


def high(points: Points) -> Values:
    """The high-fidelity step, from 0 to 1."""
    return np.where(points[..., 0] >= 0, 1.0, 0.0)
