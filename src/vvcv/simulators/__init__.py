"""Models that are run, at several costs: the runs, the file that keeps them, and the estimate from all of them."""

from .multifidelity import multifidelity, run_models

__all__ = ["multifidelity", "run_models"]
