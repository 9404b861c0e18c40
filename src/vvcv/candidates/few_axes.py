"""Kernels of one task that see nothing but the few axes its values hang on: a problem of few dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..data import Prepared
from ..tuning.search import MORE_ROWS, search
from ..tuning.starts import scalar_model
from .designs import tuning_design
from .fits import KernelFit
from .kernel import Options


def on_few_axes(
    prepared: Prepared, task: int, options: Options, neighbours: Sequence[KernelFit] = ()
) -> list[KernelFit]:
    """Scalar kernel control variates of one task on few axes, perhaps like another's; none where it hangs on many."""
    coordinates = prepared.on_few_axes(task)
    if coordinates is None:
        return []
    design = tuning_design(prepared, (task,), coordinates, 0, False).thinned(MORE_ROWS)  # there are few parameters
    near = [fit.found for fit in neighbours if fit.design.side.points.shape[1] == design.side.points.shape[1]]
    designs, start = {coordinates.system: design}, partial(scalar_model, order=options.order)
    found = search(designs, start, options.families, options.criterion, near)
    return [KernelFit(prepared, (task,), coordinates, f, 0, False) for f in found]
