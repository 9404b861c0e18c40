"""Every construction and algorithm of the paper, by its own name.

    from vvcv.paper import KernelVariate, BlockCoordinateDescent, CrossFit, fit

    fit(tasks, variate, selection, estimator=...)    selects a control variate and gives a Fit

    variates     what control variates may look like
        KernelVariate              (9), Theorems 3.1 and C.1: scalar kernels with B, matrix-valued kernels
        PolynomialVariate          (12), C.2, C.3: polynomials under both operators
        BasisVariate               (12), C.2: any basis
        NeuralVariate              (13), C.2: networks
    selections   how one is chosen
        Exact                      Theorem 4.1 with beta optimal too
        Alternation                after Theorem 4.1: closed forms in turn, also for B
        ConvexSequence             Theorem D.1: B by convex problems
        StochasticOptimisation     Algorithm 2: B known
        BlockCoordinateDescent     Algorithm 1: B learned
        RestrictedLikelihood       everything from the data (ours)
    objectives   what it is chosen by
        Variance                   (7): any norm on R^T
        MarkovChainVariance        Remark 1, A.1: the variance of MCMC
    estimators   what is done with it
        Intercept                  section 2: beta of all data
        Split                      section 2: fit on one part, average over the rest
        CrossFit                   every row with a variate that has not seen it (ours)
    hyperparameters
        maximise_marginal_likelihood, MarginalLikelihood, MiniBatchMarginalLikelihood    D.2
        cross_validate, median_heuristic                                                 3.2

Kernels and task matrices B are in `vvcv.kernels`; `docs/paper_map.md` has every equation, theorem and section.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .alternation import Alternation
    from .convex import ConvexSequence
    from .cross_validation import Validated, cross_validate, median_heuristic
    from .estimators import CrossFit, Estimator, Intercept, Split
    from .exact import Exact, ModelSolution
    from .fitting import fit, fit_replications
    from .marginal_likelihood import (
        MarginalLikelihood,
        MiniBatchMarginalLikelihood,
        log_marginal_likelihood,
        maximise_marginal_likelihood,
    )
    from .objective import MarkovChainVariance, Objective, Variance
    from .problem import Problem
    from .restricted_likelihood import RestrictedLikelihood
    from .result import Fit, Path
    from .selection import Selection
    from .stochastic import BlockCoordinateDescent, StochasticOptimisation
    from .variates import BasisVariate, KernelVariate, NeuralVariate, PolynomialVariate, Variate

#: The module of each name, imported when the name is first used: optax alone takes as long as everything else.
_MODULES = {
    "alternation": ("Alternation",),
    "convex": ("ConvexSequence",),
    "cross_validation": ("Validated", "cross_validate", "median_heuristic"),
    "estimators": ("CrossFit", "Estimator", "Intercept", "Split"),
    "exact": ("Exact", "ModelSolution"),
    "fitting": ("fit", "fit_replications"),
    "marginal_likelihood": (
        "MarginalLikelihood",
        "MiniBatchMarginalLikelihood",
        "log_marginal_likelihood",
        "maximise_marginal_likelihood",
    ),
    "objective": ("MarkovChainVariance", "Objective", "Variance"),
    "problem": ("Problem",),
    "restricted_likelihood": ("RestrictedLikelihood",),
    "result": ("Fit", "Path"),
    "selection": ("Selection",),
    "stochastic": ("BlockCoordinateDescent", "StochasticOptimisation"),
    "variates": ("BasisVariate", "KernelVariate", "NeuralVariate", "PolynomialVariate", "Variate"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Alternation",
    "BasisVariate",
    "BlockCoordinateDescent",
    "ConvexSequence",
    "CrossFit",
    "Estimator",
    "Exact",
    "Fit",
    "Intercept",
    "KernelVariate",
    "MarginalLikelihood",
    "MarkovChainVariance",
    "MiniBatchMarginalLikelihood",
    "ModelSolution",
    "NeuralVariate",
    "Objective",
    "Path",
    "PolynomialVariate",
    "Problem",
    "RestrictedLikelihood",
    "Selection",
    "Split",
    "StochasticOptimisation",
    "Validated",
    "Variance",
    "Variate",
    "cross_validate",
    "fit",
    "fit_replications",
    "log_marginal_likelihood",
    "maximise_marginal_likelihood",
    "median_heuristic",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'vvcv.paper' has no attribute {name!r}")
    return getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
