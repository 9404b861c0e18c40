"""The rows that kernel fits see, made of prepared data once: what is tuned on and what is solved are of one design."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Float

from ..data import Coordinates, Prepared, rounded
from ..data.directions import some_rows
from ..data.facing import facing
from ..data.prepare import MOST_INTEGRANDS
from ..kernels import Side
from ..linear_system.design import Design
from ..runtime.memory import MOST_TUNING_ROWS
from ..stein import Ridge

_DESIGNS: WeakKeyDictionary[Prepared, dict[tuple, Design]] = WeakKeyDictionary()


def build_design(
    prepared: Prepared, members: tuple[int, ...], coordinates: Coordinates, degree: int, pooled: bool
) -> Design:
    """Rows of the members in standard coordinates; pooled members share rows and have a column of values each.

    Where all rows belong to one covariance, of one task or of several on the same points, they have parts.
    What parameters are tuned on and what is solved with them are made of one design.
    """
    designs, key = _DESIGNS.setdefault(prepared, {}), (members, coordinates, degree, pooled)
    if key not in designs:
        designs[key] = _design(*key, prepared)
    return designs[key]


def _design(
    members: tuple[int, ...], coordinates: Coordinates, degree: int, pooled: bool, prepared: Prepared
) -> Design:
    values = [prepared.standard_values(t) for t in members]
    sources = members[:1] if pooled else members
    rows = [prepared.distinct[t] for t in sources]
    side = Side(
        np.concatenate([coordinates.points(r.points) for r in rows]),
        np.concatenate([coordinates.scores(r.scores) for r in rows]),
        np.repeat(np.arange(len(rows)), [len(r.values) for r in rows]),
    )
    stacked = np.column_stack(values) if pooled else np.concatenate(values)
    ridge = ridge_of(prepared, members, rows[0].points, rows[0].scores, Ridge.of) if len(rows) == 1 else None
    multiplicity, block = np.concatenate([r.multiplicity for r in rows]), prepared.blocks(members)
    point, growth = prepared.points_in_common(members), prepared.growth
    weight = None if growth is None else np.concatenate([growth.weight(r.points) for r in rows])
    images = None if growth is None else np.concatenate([growth.images(*r[:2], coordinates) for r in rows])
    return Design.build(side, stacked, multiplicity, len(rows), degree, ridge, block, point, weight, images)


def tuning_design(prepared: Prepared, members, coordinates: Coordinates, degree: int, pooled: bool) -> Design:
    """The rows that parameters are chosen on: without their last digits, and not too many."""
    return build_design(prepared, members, coordinates, degree, pooled).rounded().thinned(MOST_TUNING_ROWS)


def ridge_of(
    prepared: Prepared, members: tuple[int, ...], points: np.ndarray, scores: np.ndarray, build: Callable[..., Ridge]
) -> Ridge:
    """Points and scores in the coordinates of the parts: those that know most of the cloud, and each axis's own."""
    whole = prepared.coordinates(members, prepared.systems(members)[-1])
    own = prepared.coordinates(members, "scaled")
    turn = _facing(prepared, members, own)
    return build(
        whole.points(points),
        whole.scores(scores),
        whole.axes(points),
        whole.axis_scores(scores),
        own.points(points) * turn,
        own.scores(scores) * turn,
    )


def _facing(prepared: Prepared, members: tuple[int, ...], own: Coordinates) -> Float[np.ndarray, " d"]:
    """Which way each axis faces, as some of the rows tell."""
    rows = prepared.distinct[members[0]]
    some = some_rows(len(rows.values))
    values = np.column_stack([rounded(prepared.standard_values(t))[some] for t in members[:MOST_INTEGRANDS]])
    return facing(rounded(own.points(rows.points[some])), rounded(own.scores(rows.scores[some])), values)
