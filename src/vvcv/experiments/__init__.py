"""The paper's tables and figures, one file each, on the public API alone: `vvcv reproduce NAME`."""

from __future__ import annotations

from importlib import import_module

from .experiment import Experiment

#: Where each experiment lives; imported when asked for.
EXPERIMENTS = {
    "stein-kernels": ("stein_kernels", "SteinKernels"),
    "step": ("step", "Step"),
    "synthetic": ("synthetic", "Synthetic"),
    "borehole": ("borehole", "Borehole"),
    "borehole-unbalanced": ("borehole", "UnbalancedBorehole"),
    "evidence": ("evidence", "Evidence"),
    "lotka-volterra": ("lotka_volterra", "LotkaVolterra"),
    "lotka-volterra-additional": ("lotka_volterra", "LotkaVolterraAdditional"),
    "complexity": ("complexity", "Complexity"),
}


def load_experiment(name: str) -> Experiment:
    """An experiment by name.

    >>> load_experiment("step").name
    'step'
    """
    if name not in EXPERIMENTS:
        raise ValueError(f"NAME must be an experiment, {', '.join(EXPERIMENTS)}, or all; found {name!r}.")
    module, experiment = EXPERIMENTS[name]
    return getattr(import_module(f".{module}", __name__), experiment)()
