"""Exact kernel control variates of one task or of several alike: search on rounded rows, solution on the data as given.

Each returns the candidates that were worth solving, as `KernelFit`s in the user's units; `weights` weighs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..data import LEADING, Prepared, Tasks
from ..kernels import Kernel
from ..linear_system.evaluation import Criterion
from ..tuning.attempts import those_that_work
from ..tuning.found import Found
from ..tuning.refit import refit
from ..tuning.search import FAR_BEHIND, Start, refit_from_few_rows, search
from ..tuning.starts import CANDIDATES, scalar_model
from .designs import tuning_design
from .fits import KernelFit

#: Evaluations for one task's own parameters from those of all on the same points, for the fit of one task to other
#: data, and beside polynomial columns. Starts are optima of neighbours: a few evaluations for each parameter more.
FROM_POOLED, ON_OTHER_DATA, WITH_COLUMNS = 25, 30, 14


@dataclass(frozen=True)
class Options:
    """How hyperparameters are chosen; `named`: a rung was asked for by name, and so answers for every task."""

    families: tuple[str | Kernel, ...] = CANDIDATES
    criterion: Criterion = "reml"
    order: int = 1
    named: bool = False

    @property
    def own_kernel(self) -> bool:
        """Whether a kernel of the user's own is among the families: it alone may tell axes by their places."""
        return any(isinstance(family, Kernel) for family in self.families)

    def prepared(self, tasks: Tasks) -> Prepared:
        """Tasks as fits see them."""
        prepared = Prepared.of(tasks)
        return prepared if self.own_kernel else prepared.with_axes_sorted()


def independent(
    prepared: Prepared, task: int, options: Options, neighbours: Sequence[KernelFit] = ()
) -> list[KernelFit]:
    """Scalar kernel control variates of one task (control functionals, paper section 2), perhaps like another's."""
    near = [fit.found for fit in neighbours]
    return searched(prepared, (task,), options, pooled=False, neighbours=near)


def own_parameters(fits: Sequence[KernelFit], task: int, options: Options) -> list[KernelFit]:
    """One task of fits on shared points by itself, its parameters tuned from each that suits it.

    What suits all best may suit one badly: of six integrands of one sample, each from up to two starts, errors are .96,
    interval scores .93 times those from the best for all (260 random problems, seeds 13300 to 13559).
    """
    return those_that_work((partial(_own, fit, task, options) for fit in _suiting(fits, task)), required=False)


def _own(fit: KernelFit, task: int, options: Options) -> KernelFit:
    prepared, start = fit.prepared, replace(fit, members=(task,), pooled=False)
    design = tuning_design(prepared, start.members, fit.coordinates, fit.degree, False)
    return replace(start, found=refit(fit.found, design, fit.found.model, options.criterion, FROM_POOLED))


def _suiting(fits: Sequence[KernelFit], task: int) -> list[KernelFit]:
    """Those of fits to several tasks that do not fall far behind the best for one of them."""
    known = those_that_work((partial(_merit_for, fit, task) for fit in fits), required=False)
    limit = min((merit for merit, _ in known), default=np.inf) + FAR_BEHIND
    return [fit for merit, fit in known if merit <= limit]


def _merit_for(fit: KernelFit, task: int) -> tuple[float, KernelFit]:
    return float(fit.merits[fit.members.index(task)]), fit


def on_other_data(fit: KernelFit, prepared: Prepared, options: Options) -> KernelFit:
    """The fit of one task to the only task of another data set, its parameters tuned from there."""
    coordinates = prepared.coordinates((0,), fit.found.system)
    design = tuning_design(prepared, (0,), coordinates, fit.degree, False)
    found = refit_from_few_rows(fit.found, design, fit.found.model, options.criterion, ON_OTHER_DATA)
    return KernelFit(prepared, (0,), coordinates, found, fit.degree, False)


def best_of(fits: Sequence[KernelFit]) -> KernelFit:
    """The fit with the best merit, what it has credit for set aside."""
    return min(fits, key=lambda fit: fit.found.merit - len(fit.members) * fit.found.credit)


def smoothest(fits: Sequence[KernelFit], options: Options) -> Sequence[KernelFit]:
    """Those of the smoothest family, or all where it was dropped."""
    return [fit for fit in fits if fit.found.family is options.families[0]] or fits


def searched(
    prepared: Prepared,
    members: tuple[int, ...],
    options: Options,
    pooled: bool,
    neighbours: Sequence[Found] = (),
    start: Start | None = None,
) -> list[KernelFit]:
    """What a search finds from such starts, or from a scalar kernel's."""
    weights = None if options.own_kernel else prepared.led(members)
    led = {} if weights is None else {LEADING: weights}
    coordinates = {s: prepared.coordinates(members, s) for s in [*prepared.systems(members), *led]}
    designs = {s: tuning_design(prepared, members, c, 0, pooled) for s, c in coordinates.items()}
    scalar = partial(scalar_model, order=options.order)
    found = search(designs, start or scalar, options.families, options.criterion, neighbours, led)
    return [KernelFit(prepared, members, coordinates[f.system], f, 0, pooled) for f in found]
