"""What a simulator is given: distributions of inputs, their draws, their scores, and coordinates for the estimate.

families      normal, lognormal, uniform, triangular, beta, gamma, exponential, student, truncated, SciPy's
joint         independent inputs by name, or linked by a Gaussian copula
log_density   inputs of which only a log density is known
"""

from .distribution import Distribution
from .families import (
    beta,
    exponential,
    from_scipy,
    gamma,
    lognormal,
    normal,
    student,
    triangular,
    truncated,
    uniform,
)
from .joint import Inputs, correlated, independent
from .log_density import from_log_density

__all__ = [
    "Distribution",
    "Inputs",
    "beta",
    "correlated",
    "exponential",
    "from_log_density",
    "from_scipy",
    "gamma",
    "independent",
    "lognormal",
    "normal",
    "student",
    "triangular",
    "truncated",
    "uniform",
]
