"""vvcv: many related expectations at once, by vector-valued control variates.

The tower, each floor using only those below it:

    cli            commands
    experiments    the paper's tables and figures              problems   models with exact answers or real samplers
    paper          every construction of the paper, by `fit`   thermodynamic   model evidence
    estimation     `estimate`: rungs, weights, result
    candidates     what each rung offers for a task
    tuning         finding good parameters
    linear_system  one exact solution and what it says of itself
    stein          functions of mean zero    checks   is the data what it claims to be?    report   table, plots, page
    files          files -> tasks and back
    kernels        what functions look like                    data   what is known
    runtime        precision, threads, memory

>>> import numpy as np, vvcv
>>> x = np.random.default_rng(0).normal(size=(40, 2))
>>> tasks = vvcv.Tasks.shared(x, -x, np.column_stack([x[:, 0] ** 2, np.cos(x).sum(axis=1)]), names=["a", "b"])
>>> est = vvcv.estimate(tasks)
>>> bool(abs(est.mean[0] - 1) < 1e-3)
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .data import Task, Tasks
from .estimation import ControlVariate, Estimate, compare, estimate
from .runtime.version import __version__

if TYPE_CHECKING:
    from .checks import check
    from .data.unconstrain import unconstrain
    from .estimation.functional import functional
    from .estimation.quantiles import probability, quantile
    from .estimation.storage import load
    from .estimation.summary import summary
    from .paper.fit import Fit, fit
    from .thermodynamic import Evidence, evidence

#: Names that an estimate does not need, imported when first used: optax alone takes as long as everything else.
_LATER = {
    "Evidence": ".thermodynamic",
    "Fit": ".paper.fit",
    "check": ".checks",
    "evidence": ".thermodynamic",
    "fit": ".paper.fit",
    "functional": ".estimation.functional",
    "load": ".estimation.storage",
    "probability": ".estimation.quantiles",
    "quantile": ".estimation.quantiles",
    "summary": ".estimation.summary",
    "unconstrain": ".data.unconstrain",
}

__all__ = [
    "ControlVariate",
    "Estimate",
    "Evidence",
    "Fit",
    "Task",
    "Tasks",
    "__version__",
    "check",
    "compare",
    "estimate",
    "evidence",
    "fit",
    "functional",
    "load",
    "probability",
    "quantile",
    "summary",
    "unconstrain",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'vvcv' has no attribute {name!r}")
    return getattr(import_module(_LATER[name], __name__), name)
