"""A Gaussian's precision and pull as a sum of squares, whose rows grow along the logarithms of scales.

Parts that grow along an axis each are precisions B_k = F_k'F_k with pulls F_k'f_k, and the rows of all of them

    exp(h_k . v / 2) (F_k y - f_k)

Where some coordinates z are divided by a scale t = exp(h v), those that have data in common with the others a have rows
F_a a - f_a + t (F_z z - f_z), so that growths 1, t and t^2 belong to F_a'F_a and more, F_a'F_z and F_z'F_z.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from .pooled import NO_PRECISION, Pooled
from .terms import Numbers, Places

Matrix = Float[np.ndarray, "r k"]
Precision = Float[np.ndarray, "k k"]

#: What parts of divided groups may be where they are none, in units of the whole: where a scale hardly varies, its
#: growths are told apart to four digits. Whether the law holds, scores tell afterwards.
NO_PART = 1e-3


@dataclass(frozen=True, eq=False)
class Squares:
    """Rows (F, f), what of them grows with a scale besides, and the rates of their squares along all axes."""

    rows: Float[np.ndarray, "r k+1"]
    scaled: Float[np.ndarray, "r k+1"]
    rates: Float[np.ndarray, "r a"]
    speeds: tuple[float, ...]
    divided: int | None

    def weights(self, v: Places) -> Float[np.ndarray, "n r"]:
        """Of all rows."""
        return np.exp(v @ self.rates.T / 2)

    def at(self, v: Places) -> Float[np.ndarray, "n r k+1"]:
        """All rows."""
        return self.weights(v)[:, :, None] * (self.rows + self._scale(v) * self.scaled)

    def slopes(self, v: Places) -> Float[np.ndarray, "n r k+1"]:
        """How they grow with the scale of divided coordinates, beside their weights."""
        return self.weights(v)[:, :, None] * (self._scale(v) * self.scaled) * self.speeds[self.divided or 0]

    def _scale(self, v: Places) -> Float[np.ndarray, "n 1 1"]:
        axis = self.divided or 0
        return np.exp(self.speeds[axis] * v[:, axis])[:, None, None]


def squares_of(pooled: Pooled) -> Squares | None:
    """Those of a law of scales; None where coordinates that are divided by one cannot be told from others."""
    axes = [axis for axis, rates in enumerate(pooled.growth.T) if is_divided(rates)]
    found = _divided(pooled, axes[0]) if axes else _centred(pooled)
    if found is None:
        return None
    blocks, scaled, rates = found
    empty = np.zeros((max(len(pooled.turn) + 1 - len(blocks), 0), blocks.shape[1]))  # as many rows as columns at least
    return Squares(
        np.vstack([blocks, empty]),
        np.vstack([scaled, empty]),
        np.vstack([rates, np.zeros((len(empty), rates.shape[1]))]),
        tuple(map(_speed, pooled.growth.T)),
        axes[0] if axes else None,
    )


def is_divided(rates: Float[np.ndarray, " K"]) -> bool:
    """Whether coordinates are divided by a scale along which precisions grow at these rates.

    >>> is_divided(np.array([0.0, 1.0, 2.0])), is_divided(np.array([0.0, -1.4]))
    (True, False)
    """
    return len(set(np.abs(rates).tolist()) - {0.0}) > 1


def _speed(rates: Float[np.ndarray, " K"]) -> float:
    """The exponent of a scale: groups divided by it have its precisions, all others those of one over its square."""
    least = float(min(rates[rates != 0], key=abs))
    return least if is_divided(rates) else -least / 2


def _centred(pooled: Pooled) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of each part on its own."""
    roots = [_root(part) for part in pooled.parts]
    rows = [np.column_stack([root @ pooled.back, _half(root, p)]) for root, p in zip(roots, pooled.pulls, strict=True)]
    return np.vstack(rows), np.zeros_like(np.vstack(rows)), np.repeat(pooled.growth, [len(r) for r in roots], axis=0)


def _divided(pooled: Pooled, axis: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Rows of what divided coordinates have in common with others, of what others have alone, and of a prior."""
    unit = np.sqrt(np.sum(pooled.back**2, axis=0))  # of the whole precision's diagonal
    back = pooled.back / unit
    *prior, others, both, own = back.T @ pooled.parts @ back
    *fixed, pull, pulled, own_pull = pooled.pulls @ back
    z = np.diagonal(own) > NO_PART
    if not _apart(others if prior else None, both, own, z):
        return None
    root = _root(own[np.ix_(z, z)])
    common, target = np.linalg.lstsq(root.T, both[np.ix_(z, ~z)])[0], _half(root, pulled[z])
    rest, rest_pull = others.copy(), pull.copy()
    rest[np.ix_(~z, ~z)] -= common.T @ common
    rest_pull[~z] -= common.T @ target
    more, noise = _root(rest), pooled.growth[-3]
    lines, grown = np.zeros((len(root), len(z) + 1)), np.zeros((len(root), len(z) + 1))
    lines[:, np.append(~z, True)] = np.column_stack([common, target])
    grown[:, np.append(z, True)] = np.column_stack([root, _half(root, own_pull[z])])
    blocks = [lines, np.column_stack([more, _half(more, rest_pull)])]
    if prior:
        first = _root(prior[0])
        blocks.append(np.column_stack([first, _half(first, fixed[0])]))
    sizes = [len(block) for block in blocks]
    rows, scaled = np.vstack(blocks), np.zeros((sum(sizes), len(z) + 1))
    scaled[: len(root)] = grown
    rates = np.repeat([noise, noise, np.zeros_like(noise)][: len(blocks)], sizes, axis=0)
    return rows * np.append(unit, 1.0), scaled * np.append(unit, 1.0), rates


def _apart(others: Precision | None, both: Precision, own: Precision, z: Float[np.ndarray, " k"]) -> bool:
    """Whether parts are none where the coordinates that they belong to say so."""
    within = [both[np.ix_(z, z)], both[np.ix_(~z, ~z)], own[~z]]
    within += [] if others is None else [others[z]]
    return bool(z.any()) and all(np.abs(part).max(initial=0.0) < NO_PART for part in within)


def _root(part: Precision) -> Matrix:
    """F of a precision F'F."""
    values, vectors = np.linalg.eigh((part + part.T) / 2)
    some = values > NO_PRECISION
    return np.sqrt(values[some])[:, None] * vectors[:, some].T


def _half(root: Matrix, pull: Numbers) -> Numbers:
    """f of a pull F'f."""
    return np.linalg.lstsq(root.T, pull)[0]
