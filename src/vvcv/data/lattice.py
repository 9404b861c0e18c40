"""The logarithms of several scales, by the law of all that hangs on them (`law.py`), on a lattice of places.

Densities of such logarithms are smooth and fall off on all sides, so that a sum over a lattice is an integral to all
digits as soon as its step is below their width. Places are added at the rim as long as the density there counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.interpolate import PchipInterpolator
from scipy.special import ndtri

from .conditional import Conditional
from .law import Law, likeliest
from .lines import Rows
from .terms import Numbers, Places

#: Steps that are tried, in standard deviations of the draws: the second where a density is narrower far away from its
#: mode, as that of a walk whose noise is nearly none. By how much less likely places are than the mode (in logarithms)
#: that are left out; and how many there may be: 30,000 of 23 coordinates take .8 s to find.
STEPS, FAR_BELOW, MOST_PLACES = (0.25, 0.125), 23.0, 30_000

#: What means of places and of their squares may change by if every other place is left out: with all of them the
#: error is less than its third power. (Of a walk of 12 coordinates, .28, .0035 and 1e-8 at steps of .25, .125 and
#: .0625, and so .0035 and 1e-8 with all places of the first two.)
COARSE = 1e-2


@dataclass(frozen=True, eq=False)
class Lattice:
    """Axes, the law of their density, places and their masses, whose sum is one."""

    axes: tuple[int, ...]
    law: Law
    places: Places
    masses: Numbers

    @classmethod
    def of(cls, axes: tuple[int, ...], rest: Conditional, v: Places, s: Rows) -> Lattice | None:
        """That of places and scores along axes, given which all else is Gaussian; None where no density has such."""
        for law in likeliest(rest, v, s):
            for step in STEPS:
                found = _filled(law, v, step)
                if found is not None:
                    return cls(axes, law, *found)
        return None

    def integrated(
        self, v: Places, functions: Callable[[Places], Float[np.ndarray, "n p"]]
    ) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, "1 p a"]]:
        """Means of functions under the law, and a constant field that is right where they and scores are lines."""
        at = functions(self.places)
        mean = self.masses @ at
        return mean, -((at - mean).T * self.masses @ self.places)[None]

    def as_normal(self, v: Places, s: Places) -> tuple[Places, Places]:
        """Places and scores as they are: to see each axis as a normal's does not make several one."""
        return v, s

    @property
    def mixture(self) -> tuple[Places, Numbers]:
        """Places that the law is a mixture over, and their masses."""
        return self.places, self.masses

    def drawn(self, v: Places) -> Places:
        """The places of each coordinate of v in a standard normal."""
        return np.column_stack([self._course(axis)(v[:, axis]) for axis in range(v.shape[1])])

    def _course(self, axis: int) -> Callable[[Numbers], Numbers]:
        """z along an axis, by the masses on both sides of half a step beyond each place."""
        places, at = np.unique(self.places[:, axis], return_inverse=True)
        share = np.bincount(at, self.masses)
        below, above = np.cumsum(share)[:-1], np.cumsum(share[::-1])[-2::-1]
        edges, z = (places[1:] + places[:-1]) / 2, np.where(below < above, ndtri(below), -ndtri(above))
        course = PchipInterpolator(edges, z)
        return lambda v: course(np.clip(v, edges[0], edges[-1]))


def _filled(law: Law, v: Places, step: float) -> tuple[Places, Numbers] | None:
    """Places of a lattice wherever the density counts, from the highest draw on, and their masses.

    None where there are too many, or where every other one says something else.
    """
    start, rim = v[np.argmax(law.height(v))], np.zeros((1, v.shape[1]), int)
    steps, heights, seen, most = list[np.ndarray](), list[np.ndarray](), set[tuple[int, ...]](), -np.inf
    while len(rim):
        height = law.height(start + step * rim)
        if np.isnan(height).any() or len(seen) + len(rim) > MOST_PLACES:
            return None
        steps, heights, most = [*steps, rim], [*heights, height], max(most, float(height.max()))
        seen.update(map(tuple, rim.tolist()))
        rim = _around(rim[height > most - FAR_BELOW], seen)
    at, height = np.concatenate(steps), np.concatenate(heights)
    counts = height > most - FAR_BELOW
    at, masses = at[counts], np.exp(height[counts] - most)
    places = start + step * at
    some = np.where((at % 2 == 0).all(axis=1), masses, 0.0)
    means = [mass @ np.hstack([places, places**2]) / mass.sum() for mass in (masses, some)]
    return (places, masses / masses.sum()) if np.abs(np.subtract(*means)).max() < COARSE else None


def _around(steps: Float[np.ndarray, "m a"], seen: set[tuple[int, ...]]) -> Float[np.ndarray, "k a"]:
    """Neighbours of places that nobody has looked at.

    >>> _around(np.array([[0, 0]]), {(0, 1), (0, 0)}).tolist()
    [[-1, 0], [0, -1], [1, 0]]
    """
    moves = np.concatenate([np.eye(steps.shape[1], dtype=int), -np.eye(steps.shape[1], dtype=int)])
    near = sorted({tuple(each) for each in (steps[:, None] + moves).reshape(-1, steps.shape[1]).tolist()} - seen)
    return np.array(near, int).reshape(-1, steps.shape[1])
