"""Which first looks are followed: the best, and one more that may lead elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..linear_system.design import Design
from .found import Found

#: First looks that are followed: the best look may lead to the worse optimum, so the second goes on too.
MOST_FOLLOWED = 2

#: Correlation of two axes, in standard errors of independent ones, from which coordinate systems are not alike: so
#: large is none of 28 by chance in 600 samples. The second look followed is then the best in another system (errors
#: under correlated targets .56 to .92 times as large; followed everywhere, those of waves were 1.14 times: 16 samples).
CLEARLY_CORRELATED = 4.0

#: The system that turns the cloud by its sample covariance: of axes that are not correlated, by chance. One of the two
#: looks is then another's (one of three samples of 150 points in ten dimensions was off ten times as far).
TURNED = "whitened"


def worth_following(looks: Sequence[Found], designs: Mapping[Any, Design]) -> list[Found]:
    """The best of sorted looks, and the next or, where it may lead elsewhere, the best in another coordinate system."""
    best, *others = looks
    if best.system == TURNED or _correlated(next(iter(designs.values())).side.points):
        elsewhere = [look for look in others if look.system != best.system]
        others = elsewhere or others
    return [best, *others[: MOST_FOLLOWED - 1]]


def _correlated(points: np.ndarray) -> bool:
    deviations = np.std(points, axis=0)
    varying = points[:, deviations > 0]
    if varying.shape[1] < 2:
        return False
    apart = np.corrcoef(varying.T) - np.eye(varying.shape[1])
    return bool(np.abs(apart).max() > CLEARLY_CORRELATED / np.sqrt(len(points)))
