"""By what fits are compared: the geometric mean of the error a fit promises and of the residuals it leaves."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def merit_of(promised: Float[np.ndarray, " m"], left_out: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """log sqrt(promised error * left-out error), finite even where both vanish.

    >>> merit_of(np.array([1.0]), np.array([np.exp(2.0)]))
    array([1.])
    """
    return 0.5 * (np.log(np.maximum(promised, 1e-300)) + np.log(np.maximum(left_out, 1e-300)))
