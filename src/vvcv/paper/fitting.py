"""One door to every construction and algorithm of the paper: fit(tasks, variate, selection) -> Fit.

A variate says what control variates may look like (sections 3.2 and C), a selection how one is chosen (section 4 and
appendices A and D), an estimator what is done with it (section 2, "The CV Estimator").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..data import Tasks, as_tasks, require
from ..data.standardize import CoordinateSystem
from ..kernels import Kernel, MatrixKernel
from ..linear_system.model import Model
from ..runtime.device import Device, placed
from .estimators import Estimator, Intercept
from .exact import Exact, ModelSolution
from .objective import kind_of
from .problem import Problem
from .restricted_likelihood import RestrictedLikelihood
from .result import Fit
from .selection import Seed, Selection
from .variates import KernelVariate, ModelVariate, Rung, Variate


def fit(
    tasks: Tasks | Sequence[Any],
    variate: Variate | Model | str,
    selection: Selection | None = None,
    *,
    estimator: Estimator | None = None,
    coordinates: CoordinateSystem | None = None,
    seed: Seed = 0,
    device: Device = None,
) -> Fit:
    """Select a control variate from `variate` by `selection`; the means are beta, or those of `estimator`.

    `estimator` is None (beta, all data), `Split(...)` or `CrossFit(...)`. The variate sees the user's coordinates, or
    standard ones with `coordinates`. A `Model` (Stein kernel and noise) in place of a variate is solved exactly. The
    name of a rung ("zv", "cf", "secf", "vv", "vv-secf") has everything chosen by `RestrictedLikelihood`, as
    `vvcv.estimate` does; `device` is as there.

    >>> import numpy as np
    >>> from vvcv.paper import PolynomialVariate
    >>> x = np.linspace(-2, 2, 9)[:, None]
    >>> result = fit(Tasks.shared(x, -x, x**2), PolynomialVariate(2), Exact(regularization=0))
    >>> result.mean.round(12)
    array([1.])
    """
    whole = as_tasks(tasks)
    require(
        estimator is None or isinstance(estimator, Estimator),
        f"An estimator is None, Intercept(), Split(...) or CrossFit(...), but got {kind_of(estimator)}.",
    )
    chosen, way = _understood(variate, selection)

    def fit_part(part: Tasks) -> Fit:
        return way.select_all([Problem(part, chosen, coordinates)], [seed])[0]

    with placed(device):
        return (estimator or Intercept()).estimate(whole, fit_part)


def fit_replications(
    data_sets: Sequence[Tasks],
    variate: Variate | Model | str | Sequence[Variate | Model | str],
    selection: Selection | None = None,
    *,
    coordinates: CoordinateSystem | None = None,
    seeds: Sequence[Seed] | None = None,
) -> list[Fit]:
    """Fit many data sets of equal shape; stochastic optimisation runs on all of them in one compiled loop.

    >>> import numpy as np
    >>> from vvcv.paper import PolynomialVariate
    >>> x = np.linspace(-2, 2, 9)[:, None]
    >>> sets = [Tasks.shared(x, -x, a * x**2) for a in (1, 2)]
    >>> [fit.mean.round(12).tolist() for fit in fit_replications(sets, PolynomialVariate(2), Exact(0))]
    [[1.0], [2.0]]
    """
    variates = list(variate) if isinstance(variate, list | tuple) else [variate] * len(data_sets)
    pairs = [_understood(each, selection) for each in variates]
    problems = [Problem(as_tasks(tasks), each, coordinates) for tasks, (each, _) in zip(data_sets, pairs, strict=True)]
    return pairs[0][1].select_all(problems, range(len(problems)) if seeds is None else seeds) if pairs else []


def _understood(variate: Any, selection: Selection | None) -> tuple[Variate, Selection]:
    """A variate and a selection from what the user gave: the name of a rung and a Model bring their own selection."""
    default: Selection = Exact()
    if isinstance(variate, str):
        variate, default = Rung(variate), RestrictedLikelihood()
    if isinstance(variate, Model):
        variate, default = ModelVariate(variate), ModelSolution()
    if isinstance(variate, Kernel | MatrixKernel):
        variate = KernelVariate(variate)
    selection = default if selection is None else selection
    require(
        isinstance(variate, Variate),
        "A variate is one of KernelVariate(kernel), PolynomialVariate(degree), BasisVariate(function), "
        f"NeuralVariate(network), a Model or the name of a rung, but got {kind_of(variate)}.",
    )
    if not isinstance(selection, Selection):
        raise ValueError(
            "A selection is one of Exact, Alternation, ConvexSequence, StochasticOptimisation, BlockCoordinateDescent "
            f"or RestrictedLikelihood, with its settings, but got {kind_of(selection)}."
        )
    return variate, selection
