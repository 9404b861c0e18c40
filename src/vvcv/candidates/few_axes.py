"""Kernels of one task that see nothing but the few axes its values hang on: a problem of few dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from ..data import Prepared
from ..tuning.search import MORE_ROWS, search
from .fits import KernelFit
from .kernel import Options, scalar_start, tuning_design


def on_few_axes(
    prepared: Prepared, task: int, options: Options, neighbours: Sequence[KernelFit] = ()
) -> list[KernelFit]:
    """Scalar kernel control variates of one task on few axes, perhaps like another's; none where it hangs on many."""
    coordinates = prepared.on_few_axes(task)
    if coordinates is None:
        return []
    design = tuning_design(prepared, (task,), coordinates, 0, False).thinned(MORE_ROWS)  # there are few parameters
    near = [fit.found for fit in neighbours if fit.design.side.points.shape[1] == design.side.points.shape[1]]
    start, near = scalar_start(options), [each for each in near if each.system == coordinates.system]
    found = search({coordinates.system: design}, start, options.families, options.criterion, near)
    return [KernelFit(prepared, (task,), coordinates, f, 0, False) for f in found]
