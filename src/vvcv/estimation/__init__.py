"""5. Estimates: plain average, the ladder of control variates, error bars."""

from ..candidates.plain import average, effective_size
from .control_variate import ControlVariate
from .numbers import MonteCarlo
from .result import Estimate
from .run import METHODS, compare, estimate

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
