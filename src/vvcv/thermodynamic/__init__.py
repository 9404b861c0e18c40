"""Model evidence by thermodynamic integration, on top of joint vector-valued control variates."""

from .result import Comparison, Evidence
from .run import evidence

__all__ = ["Comparison", "Evidence", "evidence"]
