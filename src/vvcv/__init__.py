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

from importlib.metadata import PackageNotFoundError, version

from .data import Task, Tasks
from .data.check import check
from .estimate import ControlVariate, Estimate, estimate, load
from .selection.fit import Fit, fit

try:
    __version__ = version("vvcv")
except PackageNotFoundError:  # a source tree on the path, not installed
    __version__ = "0"

__all__ = ["ControlVariate", "Estimate", "Fit", "Task", "Tasks", "__version__", "check", "estimate", "fit", "load"]
