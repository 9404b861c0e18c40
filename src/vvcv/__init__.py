"""vvcv: many related expectations at once, by vector-valued control variates.

The tower, each floor using only those below it:

    cli            commands
    experiments    the paper's tables and figures              problems   models with exact answers or real samplers
    interop        samplers -> Tasks                           simulators, inputs   input distributions and model runs
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
    from . import inputs, interop, paper, simulators, thermodynamic  # noqa: F401 (there, but not by a star)
    from .checks import AlarmWarning, check
    from .data.unconstrain import unconstrain
    from .estimation.functional import functional
    from .estimation.quantiles import probability, quantile
    from .estimation.storage import load
    from .estimation.summary import summary
    from .interop import Posterior
    from .interop.arviz import from_arviz
    from .interop.blackjax import from_blackjax
    from .interop.logdensity import from_logdensity
    from .interop.numpyro import from_numpyro
    from .interop.nutpie import from_nutpie
    from .interop.pymc import from_pymc
    from .interop.stan import from_stan
    from .paper.fitting import fit
    from .paper.result import Fit
    from .simulators import multifidelity
    from .thermodynamic import Evidence, evidence

#: Rooms that an estimate does not need, imported when first used, as the names below.
_ROOMS = ("inputs", "interop", "paper", "simulators", "thermodynamic")

#: Names that an estimate does not need, imported when first used: optax alone takes as long as everything else.
_LATER = {
    "AlarmWarning": ".checks",
    "Evidence": ".thermodynamic",
    "Fit": ".paper.result",
    "Posterior": ".interop",
    "check": ".checks",
    "evidence": ".thermodynamic",
    "fit": ".paper.fitting",
    "from_arviz": ".interop.arviz",
    "from_blackjax": ".interop.blackjax",
    "from_logdensity": ".interop.logdensity",
    "from_numpyro": ".interop.numpyro",
    "from_nutpie": ".interop.nutpie",
    "from_pymc": ".interop.pymc",
    "from_stan": ".interop.stan",
    "functional": ".estimation.functional",
    "load": ".estimation.storage",
    "multifidelity": ".simulators",
    "probability": ".estimation.quantiles",
    "quantile": ".estimation.quantiles",
    "summary": ".estimation.summary",
    "unconstrain": ".data.unconstrain",
}

__all__ = [
    "AlarmWarning",
    "ControlVariate",
    "Estimate",
    "Evidence",
    "Fit",
    "Posterior",
    "Task",
    "Tasks",
    "__version__",
    "check",
    "compare",
    "estimate",
    "evidence",
    "fit",
    "from_arviz",
    "from_blackjax",
    "from_logdensity",
    "from_numpyro",
    "from_nutpie",
    "from_pymc",
    "from_stan",
    "functional",
    "inputs",
    "load",
    "multifidelity",
    "probability",
    "quantile",
    "summary",
    "unconstrain",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    if name in _LATER:
        return getattr(import_module(_LATER[name], __name__), name)
    raise AttributeError(f"module 'vvcv' has no attribute {name!r}")
