"""Inducing points: the kernel of a fit on some rows, seen from few points z (Nystrom; Williams and Seeger, 2001).

    k_0(x, y) ~ phi(x)' phi(y),   phi(x) = L^-1 k_0(z, x),   L L' = k_0(z, z)

The points are the pivots of a Cholesky factorisation of the Gram matrix of the pilot rows and of the outermost of all,
each the one whose value the others leave most open (Fine and Scheinberg, 2001). They are as many as leave a part of the
noise's variance open at the pilot rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Float, Int

from ..candidates.fits import KernelFit
from ..candidates.kernel import Options, best_of, independent
from ..candidates.several import joint
from ..data import Coordinates, Prepared
from ..kernels import Side
from ..stein import SteinKernel, gram
from ..tuning.attempts import those_that_work
from .look import Outer
from .passes import end_if_stopped

#: What the points may leave open of a value's variance, in units of the noise: more points would narrow what is left by
#: a twentieth at most.
LEFT_OPEN = 0.1

#: Noise at least, relative to the kernel's mean variance: sums over rows know leverages to about as many digits. Where
#: blocks begin moves means by at most .002 of a standard error (d = 2, 6 samples), at 5e-13 by .018, with errors no
#: larger in d = 4 (N = 20,000).
LEAST_NOISE = 2e-11

#: Inducing points at most and, where rows are many, at least: rows times points squared is the work of a pass.
MOST_POINTS, MANY_POINTS, WORK = 2000, 400, 4e10

#: Rows to choose from for each inducing point: where all are chosen none was. At two, the outermost rows would take the
#: places of others where rows are few.
ROWS_PER_POINT = 1.5


@dataclass(frozen=True, eq=False)
class Inducing:
    """A Stein kernel seen from few points, in the coordinates it was tuned in."""

    coordinates: Coordinates
    kernel: SteinKernel
    side: Side
    factor: Float[np.ndarray, "m m"]
    noise: float
    left_open: float

    def rows(self, points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "m n"]:
        """k_0(z, x) for all inducing points z, each in one piece."""
        x, s = self.coordinates.points(points), self.coordinates.scores(scores)
        return gram(self.kernel, self.side, Side(x, s, np.zeros(len(x), dtype=int)))

    @property
    def count(self) -> int:
        """Number of inducing points."""
        return len(self.factor)


def tuned_kernel(prepared: Prepared, members: tuple[int, ...], options: Options) -> KernelFit | None:
    """The best kernel for the pilot rows of some tasks on the same points, by the search of the exact rungs."""
    if not members:
        return None

    def search() -> list[KernelFit]:
        if len(members) == 1:
            return independent(prepared, members[0], options)
        return joint(prepared, members, {}, options)

    fits = [fit for fits in those_that_work([search], required=False) for fit in fits]
    return best_of(fits) if fits else None


def inducing_points(fit: KernelFit, outer: Outer, rows: int) -> Inducing | None:
    """As many of the pilot rows and outer ones as leave little open, within what so many rows can be compared with.

    None comes back where the kernel vanishes at all of them.
    """
    pilot = fit.prepared.distinct[fit.members[0]]
    drawn = len(pilot.points)
    z = fit.coordinates.points(np.concatenate([pilot.points, outer.points]))
    s = fit.coordinates.scores(np.concatenate([pilot.scores, outer.scores]))
    side = Side(z, s, np.zeros(len(z), dtype=int))
    # Parameters as NumPy's: JAX's would lose half their digits in a worker that is not in double precision.
    kernel = jax.tree.map(np.asarray, fit.found.model.kernel)
    covariance = gram(kernel, side)
    variance = float(np.mean(np.diag(covariance)[:drawn]))
    noise = max(float(np.exp(fit.found.model.log_noise[0])), LEAST_NOISE) * variance
    room = max(1, int(len(z) / ROWS_PER_POINT) - 1 - z.shape[1])  # beside a constant and the axes
    factor, order = pivoted_cholesky(covariance, min(largest_number(rows), room))
    if not order.size:
        return None
    open_part = variance - np.append(0.0, np.cumsum(np.mean(factor[:drawn] ** 2, axis=0)))
    enough = np.flatnonzero(open_part <= LEFT_OPEN * noise)
    count = max(1, int(enough[0]) if enough.size else len(order))
    chosen = order[:count]
    points = Side(z[chosen], s[chosen], np.zeros(count, dtype=int))
    square = np.tril(factor[chosen, :count])
    return Inducing(fit.coordinates, kernel, points, square, noise, float(max(open_part[count], 0.0)))


def largest_number(rows: int) -> int:
    """Inducing points that so many rows can be compared with in minutes.

    >>> largest_number(20_000), largest_number(10**5), largest_number(10**8)
    (1414, 632, 400)
    """
    return int(np.clip(np.sqrt(WORK / rows), MANY_POINTS, MOST_POINTS))


def pivoted_cholesky(
    matrix: Float[np.ndarray, "n n"], most: int
) -> tuple[Float[np.ndarray, "n r"], Int[np.ndarray, " r"]]:
    """L of at most so many columns with L L' close to the matrix, and the pivots, the largest first.

    LAPACK would factorise all of the matrix, where few columns are needed.

    >>> factor, order = pivoted_cholesky(np.array([[1.0, 0.5], [0.5, 4.0]]), 2)
    >>> order.tolist(), (factor @ factor.T).round(12).tolist()
    ([1, 0], [[1.0, 0.5], [0.5, 4.0]])
    """
    left = np.diag(matrix).copy()
    least = len(left) * np.finfo(float).eps * left.max()  # what is left of a diagonal entry below this is rounding
    factor, order = np.zeros((len(left), most), order="F"), np.zeros(most, dtype=int)
    for k in range(most):
        end_if_stopped()
        pivot = int(np.argmax(left))
        if not left[pivot] > max(least, 0.0):
            return factor[:, :k], order[:k]
        factor[:, k] = (matrix[pivot] - factor[:, :k] @ factor[pivot, :k]) / np.sqrt(left[pivot])
        left -= factor[:, k] ** 2
        left[pivot], order[k] = -np.inf, pivot
    return factor, order
