"""Mean flow of water through a borehole, by a low- and a high-fidelity model under independent Gaussian inputs.

    f(x) = a T_u (H_u - H_l) / { log(r / r_w) (b + 2 L T_u / (log(r / r_w) r_w^2 K_w) + T_u / T_l) },

(a, b) = (5, 1.5) for low and (2 pi, 1) for high fidelity, x = (r_w, r, T_u, T_l, H_u, H_l, L, K_w).
Reference: paper, Section 5.1 and Appendix E.4; the models are those of Xiong, Qian and Wu (2013).
"""

import numpy as np
from jaxtyping import Float

Points = Float[np.ndarray, "n 8"]
Scores = Float[np.ndarray, "n 8"]
Values = Float[np.ndarray, "n"]

NAMES = ("r_w", "r", "T_u", "T_l", "H_u", "H_l", "L", "K_w")
MEAN = np.array([0.1, 100.0, 89335.0, 89.55, 1050.0, 760.0, 1400.0, 10950.0])
# Every second parameter of the paper's table is a variance, never a standard deviation.
VARIANCE = np.array([0.0161812**2, 0.01, 20.0, 1.0, 1.0, 1.0, 10.0, 30.0])

# By tensor quadrature, with r_w cut off where the models cease to exist (r_w <= 0 lies 6.2 standard deviations out).
# The paper compares with 72.8904, a Monte Carlo figure whose standard error is 0.033.
EXACT_LOW = 57.994853
EXACT_HIGH = 72.878604


def sample(rng: np.random.Generator, n: int) -> Points:
    """n independent points of the input distribution."""
    return MEAN + np.sqrt(VARIANCE) * rng.standard_normal((n, MEAN.size))


def score(points: Points) -> Scores:
    """Gradient of the log density: -(x - mean) / variance."""
    return (MEAN - points) / VARIANCE


def low(points: Points) -> Values:
    """The low-fidelity flow."""
    return _flow(points, numerator=5.0, offset=1.5)


def high(points: Points) -> Values:
    """The high-fidelity flow."""
    return _flow(points, numerator=2 * np.pi, offset=1.0)


def _flow(points: Points, numerator: float, offset: float) -> Values:
    r_w, r, t_u, t_l, h_u, h_l, length, k_w = np.moveaxis(points, -1, 0)
    log_ratio = np.log(r / r_w)
    resistance = offset + 2 * length * t_u / (log_ratio * r_w**2 * k_w) + t_u / t_l
    return numerator * t_u * (h_u - h_l) / (log_ratio * resistance)
