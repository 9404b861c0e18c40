"""Kernel fits with polynomial columns beside the kernel (semi-exact control functionals), tuned from fits without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ..data import Prepared
from ..kernels import Kernel
from ..runtime.memory import MOST_TUNING_ROWS
from ..runtime.threads import worth_a_thread
from ..stein import count_features
from ..tuning.attempts import those_that_work
from ..tuning.search import refit_from_few_rows
from ..tuning.starts import change_family, without_noise
from .designs import tuning_design
from .fits import KernelFit
from .kernel import WITH_COLUMNS, Options, best_of, smoothest

#: Total degrees of the columns, and of those on few axes, where there are few of any degree: a fourth power among five
#: to 25 axes then has no error, instead of .02 to .04 of the plain average's.
DEGREES, ON_FEW_AXES = (1, 2), (2, 4)


def semi_exact(fits: Sequence[KernelFit], degrees: Sequence[int], options: Options) -> list[KernelFit]:
    """The best fits with polynomial columns of each total degree for every task, tuned again from there.

    What the polynomials take away may leave a smoother rest, so the smoothest family is tried as well.
    """
    best, smooth = best_of(fits), best_of(smoothest(fits, options))
    if smooth.found.family is not options.families[0]:  # it was dropped
        smooth = _of_family(best, options.families[0])
    chosen = {id(fit): fit for fit in (best, smooth)}
    attempts = [partial(_with_columns, fit, degree, options) for degree in degrees for fit in chosen.values()]
    return those_that_work(attempts, False, worth_a_thread(fits[0].design.size))


def semi_exact_degrees(prepared: Prepared, members: Sequence[int], dimension: int, pooled: bool = False) -> list[int]:
    """Degrees whose columns leave at least two thirds of every task's tuning rows to the kernel.

    With more columns a task of few points hardly learns from others, and its few residuals claim too much.
    """
    sizes = [len(prepared.distinct[t].values) for t in members]
    rows = sizes[0] if pooled else sum(sizes)
    smallest = min(sizes) * min(1.0, MOST_TUNING_ROWS / rows)
    degrees = DEGREES if dimension == prepared.tasks.dimension else ON_FEW_AXES
    return [degree for degree in degrees if count_features(dimension, degree) + 1 <= smallest / 3]


def _with_columns(fit: KernelFit, degree: int, options: Options) -> KernelFit:
    design = tuning_design(fit.prepared, fit.members, fit.coordinates, degree, fit.pooled)
    found = refit_from_few_rows(fit.found, design, fit.found.model, options.criterion, WITH_COLUMNS)
    return replace(fit, found=found, degree=degree)


def _of_family(fit: KernelFit, family: str | Kernel) -> KernelFit:
    """The same with kernels of another family and hardly any noise, not yet tuned."""
    tuned = fit.found.tuned._replace(model=without_noise(change_family(fit.found.model, family)))
    return replace(fit, found=replace(fit.found, tuned=tuned, family=family))
