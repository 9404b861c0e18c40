"""5. Estimates: plain average, the ladder of control variates, error bars."""

from ..selection.average import average, effective_size
from .ladder import METHODS, compare, estimate
from .result import ControlVariate, Estimate, MonteCarlo

__all__ = [
    "METHODS",
    "ControlVariate",
    "Estimate",
    "MonteCarlo",
    "average",
    "compare",
    "effective_size",
    "estimate",
]
