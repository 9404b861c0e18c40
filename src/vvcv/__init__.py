"""vvcv: many related expectations at once, by vector-valued control variates.

The path of the data, one way:

    data  ->  kernels  ->  stein  ->  selection  ->  estimate  ->  report
    what is   what          functions  which         beta and      tables,
    known     functions     of mean    variate       its error     plots
              look like     zero

>>> import numpy as np, vvcv
>>> x = np.random.default_rng(0).normal(size=(40, 2))
>>> tasks = vvcv.Tasks.shared(x, -x, np.column_stack([x[:, 0] ** 2, np.cos(x).sum(axis=1)]), names=["a", "b"])
>>> est = vvcv.estimate(tasks)
>>> bool(abs(est.mean[0] - 1) < 1e-3)
True
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from .data import Task, Tasks
from .estimate import ControlVariate, Estimate, compare, estimate

if TYPE_CHECKING:
    from .data.check import check
    from .data.unconstrain import unconstrain
    from .estimate.storage import load
    from .interop import Posterior
    from .interop.arviz import from_arviz
    from .interop.blackjax import from_blackjax
    from .interop.logdensity import from_logdensity
    from .interop.numpyro import from_numpyro
    from .interop.nutpie import from_nutpie
    from .interop.pymc import from_pymc
    from .interop.stan import from_stan
    from .selection.fit import Fit, fit
    from .thermodynamic import Evidence, evidence

try:
    __version__ = version("vvcv")
except PackageNotFoundError:  # a source tree on the path, not installed
    __version__ = "0"

#: Names that an estimate does not need, imported when first used: optax alone takes as long as everything else.
_LATER = {
    "Evidence": ".thermodynamic",
    "Fit": ".selection.fit",
    "Posterior": ".interop",
    "check": ".data.check",
    "evidence": ".thermodynamic",
    "fit": ".selection.fit",
    "from_arviz": ".interop.arviz",
    "from_blackjax": ".interop.blackjax",
    "from_logdensity": ".interop.logdensity",
    "from_numpyro": ".interop.numpyro",
    "from_nutpie": ".interop.nutpie",
    "from_pymc": ".interop.pymc",
    "from_stan": ".interop.stan",
    "load": ".estimate.storage",
    "unconstrain": ".data.unconstrain",
}

__all__ = [
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
    "load",
    "unconstrain",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'vvcv' has no attribute {name!r}")
    return getattr(import_module(_LATER[name], __name__), name)
