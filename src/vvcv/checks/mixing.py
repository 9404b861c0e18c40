"""Have the chains mixed? Rank-normalised split r_hat and effective sample size, the diagnostics that ArviZ shows.

Draws are replaced by normal quantiles of their ranks, so that heavy tails do not hide what they should show; each chain
is cut in half, so that a drift shows within it. Reference: Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import fdtri, ndtri

from ..data.chains import effective_size
from ..data.task import Task, Tasks
from .findings import in_short

#: Chains that have mixed stay below this r_hat, and have at least so many effective draws together: with fewer neither
#: r_hat nor the error bar is known to a tenth (Vehtari et al. 2021 ask for 100 a chain).
LARGEST_R_HAT, FEWEST_DRAWS = 1.05, 100

#: Of few draws r_hat is larger by chance: by as much as one in a thousand is. Three draws in ten are enough of few.
CHANCE, ENOUGH = 1e-3, 0.3


@dataclass(frozen=True, eq=False)
class Mixing:
    """For each task the largest r_hat of its values and coordinates, and the effective draws of its values.

    Beside them stand how large r_hat may be by chance, and how few effective draws there may be of so many; and r_hat
    of the values alone, where it is known. All are nan for tasks without chains.
    """

    r_hat: Float[np.ndarray, " T"]
    ess: Float[np.ndarray, " T"]
    largest: Float[np.ndarray, " T"]
    fewest: Float[np.ndarray, " T"]
    own_r_hat: Float[np.ndarray, " T"] | None = None

    @property
    def poor(self) -> list[int]:
        """Tasks whose chains have not mixed."""
        return np.flatnonzero((self.r_hat > self.largest) | (self.ess < self.fewest)).tolist()

    def alarms(self, names: Sequence[str], sizes: Sequence[int]) -> list[str]:
        """A line for each task whose chains have not mixed, one for all whose points alone tell, which they share."""
        return [self._alarm(members, names, sizes) for members in self._accused_together(sizes)]

    def _accused_together(self, sizes: Sequence[int]) -> list[list[int]]:
        groups: dict[tuple[float, ...], list[int]] = {}
        for t in self.poor:
            by_itself = self.own_r_hat is None or self.own_r_hat[t] > self.largest[t] or self.ess[t] < self.fewest[t]
            groups.setdefault((t,) if by_itself else (self.r_hat[t], sizes[t]), []).append(t)
        return list(groups.values())

    def _alarm(self, members: list[int], names: Sequence[str], sizes: Sequence[int]) -> str:
        first, least, most = members[0], self.ess[members].min(), self.ess[members].max()
        named = f"task{'s' if len(members) > 1 else ''} {in_short([names[t] for t in members])}"
        draws = f"{least:.0f}" + (f" to {most:.0f}" if round(most) > round(least) else "")
        return (
            f"warning: the chains of {named} have not mixed (r_hat {self.r_hat[first]:.2f}{self._whose(first)}, "
            f"{draws} effective draws of {sizes[first]}): error bars may be too narrow. Run longer chains."
        )

    def _whose(self, t: int) -> str:
        """Of what r_hat is, where it is not that of the values, which tables show."""
        if self.own_r_hat is None:
            return " of its values or points"
        return " of a coordinate of its points" if self.own_r_hat[t] < self.r_hat[t] else ""


def mixing(tasks: Tasks) -> Mixing | None:
    """Diagnostics of all tasks, or None where none has chains.

    >>> stuck = np.random.default_rng(0).normal(size=(2, 100)) + np.array([[0.0], [5.0]])
    >>> mixing(Tasks([Task(stuck[..., None], -stuck[..., None], stuck)])).poor
    [0]
    """
    found: dict[bytes, float] = {}
    numbers = [_of_task(task, found) for task in tasks]
    if np.isnan(numbers).all():
        return None
    return Mixing(*np.array(numbers).T)


def _of_task(task: Task, found: dict[bytes, float]) -> tuple[float, ...]:
    """What `Mixing` says of one task; r_hat of its coordinates is looked up in `found` where points are shared."""
    if task.chains is None or task.chains[1] < 4:
        return (np.nan,) * 5
    values = task.values.reshape(task.chains)
    key = repr(task.chains).encode() + task.points.tobytes()
    if key not in found:
        coordinates = task.points.reshape(*task.chains, -1)
        found[key] = max(r_hat(draws) for draws in np.moveaxis(coordinates, -1, 0))
    own = r_hat(values)
    limits = largest_by_chance(2 * task.chains[0], task.chains[1] // 2), fewest_of(task.size)
    return max(own, found[key]), effective_draws(values), *limits, own


def largest_by_chance(parts: int, draws: int) -> float:
    """The r_hat up to which chains that have mixed go, in so many parts of so many draws each.

    >>> round(largest_by_chance(8, 500), 2), round(largest_by_chance(8, 12), 2)
    (1.05, 1.17)
    """
    ratio = fdtri(parts - 1, parts * (draws - 1), 1 - CHANCE) if parts > 1 else 1.0
    return LARGEST_R_HAT * float(np.sqrt((draws - 1 + ratio) / draws))


def fewest_of(draws: float) -> float:
    """Of so many draws the effective ones below which error bars may be too narrow."""
    return min(FEWEST_DRAWS, ENOUGH * draws)


def r_hat(draws: Float[np.ndarray, "chain draw"]) -> float:
    """The larger of the rank-normalised split r_hat of the draws and of their distances from the median.

    >>> round(r_hat(np.random.default_rng(0).normal(size=(4, 500))), 2)
    1.0
    """
    return r_hat_of_parts(_halves(draws))


def r_hat_of_parts(parts: Float[np.ndarray, "part draw"]) -> float:
    """The same of parts of chains, as many draws of each; in which order does not matter."""
    folded = np.abs(parts - np.median(parts))
    return max(_ratio(_normal_scores(parts)), _ratio(_normal_scores(folded)))


def effective_draws(draws: Float[np.ndarray, "chain draw"]) -> float:
    """Effective sample size of the rank-normalised draws, split in halves: above n where draws repel each other."""
    scores = _normal_scores(_halves(draws))
    return effective_size(scores.ravel(), scores.shape)


def _halves(draws: Float[np.ndarray, "chain draw"]) -> Float[np.ndarray, "half draw"]:
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _normal_scores(draws: Float[np.ndarray, "half draw"]) -> Float[np.ndarray, "half draw"]:
    _, place, counts = np.unique(draws, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place].reshape(draws.shape)  # equal draws share a rank
    return ndtri((ranks - 0.375) / (draws.size + 0.25))


def _ratio(draws: Float[np.ndarray, "half draw"]) -> float:
    """sqrt of (variance over all draws / variance within chains), 1 where nothing varies."""
    n = draws.shape[1]
    within = float(draws.var(axis=1, ddof=1).mean())
    between = float(draws.mean(axis=1).var(ddof=1))
    if within == 0:
        return 1.0 if between == 0 else np.inf
    return float(np.sqrt((n - 1) / n + between / within))
