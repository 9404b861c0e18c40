"""The simplest shared + own model of several tasks: all axes alike, found from nothing.

A few dear runs cannot choose a weight and a lengthscale for each axis of what is their own, and need not: what is
left of them once the cheap ones are known is often as simple as it is small.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..kernels import Kernel
from ..linear_system.design import Design
from ..linear_system.model import Model
from ..tuning.found import Found
from ..tuning.refit import refit
from ..tuning.search import race
from ..tuning.starts import scalar_model, separable_model, shared_and_own
from .designs import tuning_design
from .fits import KernelFit
from .kernel import Options
from .linear_parts import start_covariance
from .several import MOSTLY

#: Evaluations in every coordinate system, and of the best if it keeps up: there are few parameters.
ALIKE_RACE = (30, 30)

#: By how many times one task has to have more points than another. With 80 and 8, errors of the few are .15 times as
#: large (24 samples); with as many for each task nothing changes (ten problems), and the search is spared.
UNEQUAL = 2.0


def all_alike(joint: KernelFit, options: Options) -> list[KernelFit]:
    """B k_0 + diag(k_t) with all axes alike, almost all of it shared at first; none where tasks have as many points."""
    prepared, members = joint.prepared, joint.members
    sizes = [len(prepared.distinct[task].values) for task in members]
    if max(sizes) < UNEQUAL * min(sizes):
        return []
    coordinates = {s: prepared.coordinates(members, s) for s in prepared.systems(members)}
    designs = {s: tuning_design(prepared, members, c, 0, False) for s, c in coordinates.items()}
    family, covariance, attempts = options.families[0], start_covariance(prepared, members), []
    for system, design in designs.items():
        own = [tuning_design(prepared, (task,), coordinates[system], 0, False) for task in members]
        model = _start(family, design, own, covariance, options.order)
        frame = Found(joint.found.tuned, np.inf, system, family, 0)
        attempts.append(partial(refit, frame, design, model, options.criterion))
    found = race(attempts, ALIKE_RACE, designs, options.criterion, required=False, rivals=[joint.found])
    return [KernelFit(prepared, members, coordinates[f.system], f, 0, False) for f in found]


def _start(family: str | Kernel, design: Design, own: list[Design], covariance: np.ndarray, order: int) -> Model:
    scale = float(np.sqrt(design.side.points.shape[1]))
    shared = separable_model(family, design, scale, covariance, order=order)
    alone = {task: scalar_model(family, each, scale, order=order) for task, each in enumerate(own)}
    return shared_and_own(shared, alone, MOSTLY)
