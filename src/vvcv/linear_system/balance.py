"""Where a fit takes the middle of its target to be, beside where the sample has it.

A mean is a weighted sum of values, mean = sum_i c_i y_i, and the same weights give the mean of each coordinate:

    apart_r = sum_i c_i x_ir - average_i x_ir,   own_r = sqrt(cov beta x_r' P x_r / (N - q))

Scores tell the shape of every mode and hardly how much of the target is in it. Near modes that are joined by a few
points a fit may follow a function through all of them to many digits, whatever weights it takes them to have: no value
left out questions those. Coordinates do, and better than values, which differ less from one mode to the next.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .design import Design
from .system import System


class Balance(NamedTuple):
    """How far apart the two are, how well the fit knows the middle, the covariance of a row, and how many rows."""

    apart: Float[np.ndarray, " d"]
    own: Float[np.ndarray, " d"]
    covariance: Float[np.ndarray, "d d"]
    rows: int

    @classmethod
    def of(cls, system: System, design: Design) -> Balance | None:
        """That of a solved system whose rows have one mean each: the weights of one task on several do not sum to 1."""
        if design.tasks > 1:
            return None
        points, share = design.side.points, design.multiplicity / np.sum(design.multiplicity)
        middle = share @ points
        off = points - middle
        seen = off if design.weight is None else off / design.weight[:, None]  # as values are
        freedom = max(len(points) - design.columns.shape[1], 1)
        own = np.sqrt(system.covariance[0, 0] * system.squares(seen) / freedom)
        return cls(system.influence[0] @ seen, own, (off.T * share) @ off, len(points))

    def distance(self, size: float) -> tuple[float, int]:
        """Twice the log likelihood ratio of the two being one, of so many independent rows, and along how many axes.

        (n - (k + 2) / 2) log(1 + T^2 / (n - 1)),   T^2 = a' (S / (n - 1) + diag(own^2))^-1 a

        T^2 is Hotelling's, with Bartlett's factor, over the k axes of which the fit knows more than the sample does.

        >>> squared, axes = Balance(np.array([0.5, 9.0]), np.array([0.0, 8.0]), np.eye(2), 100).distance(100.0)
        >>> round(squared, 2), axes
        (21.98, 1)
        """
        size = min(size, float(self.rows))
        freedom = max(size - 1, 1.0)
        known = np.flatnonzero(self.own**2 < np.diagonal(self.covariance) / freedom)
        if not known.size:
            return 0.0, 0
        spread = self.covariance[np.ix_(known, known)] / freedom + np.diag(self.own[known] ** 2)
        scale = np.sqrt(np.diagonal(spread))
        apart = self.apart[known] / scale
        squared = float(apart @ np.linalg.pinv(spread / np.outer(scale, scale), hermitian=True) @ apart)
        return max(size - (known.size + 2) / 2, 1.0) * float(np.log1p(squared / freedom)), known.size
