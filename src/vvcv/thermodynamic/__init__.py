"""Model evidence by thermodynamic integration, on top of joint vector-valued control variates."""

from .evidence import evidence
from .result import Comparison, Evidence

__all__ = ["Comparison", "Evidence", "evidence"]
