"""Do the points lie in two groups with next to nothing between them?

Stein's identity compares places by what lies between them. Where no point does, no control variate can see how much
weight each group has, however well it fits: only the shares of the sample tell.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

#: Distance of the groups' means over the sum of their spreads, along the line between them. Halves of a Gaussian have
#: 1.3 and halves of an interval 1.7; two modes, each within two of its deviations of nothing, have more than this.
SEPARATE = 2.3

#: A group counts from this share of the points on: fewer may be stragglers.
SMALLEST_SHARE = 0.1

#: Fewer points than this, or than this for every dimension, fall into groups by chance (of samples of one Gaussian, one
#: in a thousand does).
FEWEST, FEWEST_PER_DIMENSION = 40, 10

STEPS = 20


def in_separate_groups(points: Float[np.ndarray, "n d"]) -> bool:
    """Whether two groups (2-means, each axis measured by its spread) hold a tenth of the points each and lie apart.

    >>> x = np.random.default_rng(0).normal(size=(60, 1))
    >>> in_separate_groups(x), in_separate_groups(np.concatenate([x - 4, x + 4]))
    (False, True)
    """
    n, d = points.shape
    if n < max(FEWEST, FEWEST_PER_DIMENSION * d):
        return False
    spread = points.std(axis=0)
    scaled = (points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    first = _two_means(scaled)
    if min(first.sum(), n - first.sum()) < SMALLEST_SHARE * n:
        return False
    line = scaled[first].mean(axis=0) - scaled[~first].mean(axis=0)
    along = scaled @ line / np.linalg.norm(line)
    gap = along[first].mean() - along[~first].mean()
    return bool(gap > SEPARATE * (along[first].std() + along[~first].std()))


def _two_means(scaled: Float[np.ndarray, "n d"]) -> Bool[np.ndarray, " n"]:
    """Members of one of two groups, by Lloyd's steps from the halves along the longest axis of the cloud."""
    first = scaled @ np.linalg.svd(scaled, full_matrices=False)[2][0] > 0
    for _ in range(STEPS):
        if first.all() or not first.any():
            break
        centres = scaled[first].mean(axis=0), scaled[~first].mean(axis=0)
        nearer = ((scaled - centres[0]) ** 2).sum(axis=1) < ((scaled - centres[1]) ** 2).sum(axis=1)
        if (nearer == first).all():
            break
        first = nearer
    return first
