"""What inputs of a simulator tell of a task beside points and scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class HeavyInput(NamedTuple):
    """An input whose density falls no faster than a power of it, and that power."""

    name: str
    power: float


#: From points and scores to those in other coordinates.
Elsewhere = Callable[[Float[np.ndarray, "n d"], Float[np.ndarray, "n d"]], tuple[np.ndarray, np.ndarray]]
