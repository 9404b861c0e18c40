"""The rungs of the ladder, and those that `auto` asks."""

from __future__ import annotations

from collections.abc import Sequence

from ..candidates.rungs import KernelFits
from ..report.explanation import RUNGS

#: Rungs of the ladder, from simple to rich, those that solve for all rows exactly, and those of them with kernels.
METHODS = tuple(RUNGS)
EXACT_METHODS = METHODS[:-1]
KERNEL_METHODS = EXACT_METHODS[2:]

#: Rows up to which `auto` asks every rung. Beyond, kernels have parts of their own, which cost nothing more,
#: and one set of parameters serves all integrands on the same points.
MODEST_ROWS = 600

#: Values (rows times integrands on the same points) up to which integrands are fitted one by one as well: each takes a
#: search, and so few rows tell the parameters of many integrands together better than those of each.
MODEST_VALUES = 3000


def worth_asking(fits: KernelFits) -> Sequence[str]:
    """The rungs that pay for so many rows and tasks: no kernels where none is fitted to."""
    if not fits.eligible:
        return METHODS[:2]
    if len(fits.eligible) < 2:
        modest = all(len(rows.values) <= MODEST_ROWS for rows in fits.prepared.distinct)
        return METHODS[:4] if modest else METHODS[:3]
    rows = fits.rows("vv", fits.eligible[0])
    if fits.pooled:
        one_by_one = rows <= MODEST_ROWS and rows * len(fits.eligible) <= MODEST_VALUES
        return EXACT_METHODS if one_by_one else ("mc", "zv", "vv")
    return EXACT_METHODS if rows <= MODEST_ROWS else ("mc", "zv", "cf", "vv")
