"""Numbers without their last digits, which an optimisation would magnify."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

#: Standard coordinates are rounded to multiples of this: no simple fraction, or decimal or binary numbers that are nice
#: to begin with would lie half way between two of them, and the last bit would decide.
QUANTUM = 1e-7 * np.pi / 3


def rounded(array: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Numbers of the order of one with their last digits gone.

    >>> x = np.array([0.1, 0.2])
    >>> bool((rounded(x) == rounded(x * (1 + 1e-15))).all()), bool(np.abs(rounded(x) - x).max() < 1e-7)
    (True, True)
    """
    return np.round(np.asarray(array) / QUANTUM) * QUANTUM
