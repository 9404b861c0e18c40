"""Long runs sharpened by polynomial control variates whose coefficients come from the other chains.

    residual_c = values_c - Phi_c gamma_(-c),   gamma_(-c) = least squares of values on (1, Phi) over all chains but c

Phi are Stein images of monomials, of mean zero under the target, so a chain's residuals have the expectations of its
values whatever gamma is. A chain's own noise never reaches its gamma: the residuals' spread is an honest error.
Normal equations are summed over blocks of rows, so a run of any length fits in memory.
Reference: paper, C.2 (polynomials) and A.1 (splitting the data).
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float
from scipy.linalg import solve

from vvcv.data import Coordinates
from vvcv.stein import polynomial_features

ChainVectors = Float[np.ndarray, "chains draws d"]
ChainValues = Float[np.ndarray, "chains draws T"]
ChainBlock = Float[np.ndarray, "draws d"]
Columns = Float[np.ndarray, "rows q"]

_BLOCK = 5000


def cross_fitted(points: ChainVectors, scores: ChainVectors, values: ChainValues, degree: int) -> ChainValues:
    """Values less the control variate of total degree `degree` fitted to the other chains.

    >>> x = np.random.default_rng(0).normal(size=(2, 50, 1))
    >>> residual = cross_fitted(x, -x, x**2, degree=2)
    >>> np.allclose(residual, 1.0)
    True
    """
    if len(points) < 2:
        raise ValueError(f"points must hold at least two chains; found {len(points)}; cut one long chain into parts.")
    # Polynomials span the same space in any affine coordinates: these are for the sake of rounding.
    coordinates = Coordinates.fit(points.reshape(-1, points.shape[-1]), "whitened")
    normal, moment = zip(
        *(_normal_equations(*chain, coordinates, degree) for chain in zip(points, scores, values, strict=True)),
        strict=True,
    )
    residual = np.empty_like(values)
    for chain in range(len(points)):
        others, target = sum(normal) - normal[chain], sum(moment) - moment[chain]
        gamma = _solve_scaled(others, target)[1:]
        for rows, columns in _blocks(points[chain], scores[chain], coordinates, degree):
            residual[chain, rows] = values[chain, rows] - columns[:, 1:] @ gamma
    return residual


def _normal_equations(
    points: ChainBlock, scores: ChainBlock, values: ChainBlock, coordinates: Coordinates, degree: int
):
    """A'A and A'f of one chain, A = (1, Phi)."""
    parts = [
        (columns.T @ columns, columns.T @ values[rows])
        for rows, columns in _blocks(points, scores, coordinates, degree)
    ]
    normal, moment = zip(*parts, strict=True)
    return sum(normal), sum(moment)


def _blocks(
    points: ChainBlock, scores: ChainBlock, coordinates: Coordinates, degree: int
) -> Iterator[tuple[slice, Columns]]:
    for first in range(0, len(points), _BLOCK):
        rows = slice(first, first + _BLOCK)
        features = polynomial_features(coordinates.points(points[rows]), coordinates.scores(scores[rows]), degree)
        yield rows, np.hstack([np.ones((len(features), 1)), features])


def _solve_scaled(normal: Columns, moment: Columns) -> Columns:
    """normal^-1 moment with columns of like size, whose squares span many powers of ten otherwise."""
    scale = 1 / np.sqrt(np.diag(normal))
    return scale[:, None] * solve(scale[:, None] * normal * scale, scale[:, None] * moment, assume_a="pos")
