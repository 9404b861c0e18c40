"""What control variates may be: kernels, polynomials and other bases, neural networks (paper, sections 3.2 and C)."""

from .basis import BasisVariate, PolynomialVariate
from .kernel import KernelVariate, task_matrix
from .neural import NeuralSpace, NeuralVariate
from .space import FeatureSpace, LinearSpace, Penalty, ReducedSpace, Space

Variate = KernelVariate | PolynomialVariate | BasisVariate | NeuralVariate

__all__ = [
    "BasisVariate",
    "FeatureSpace",
    "KernelVariate",
    "LinearSpace",
    "NeuralSpace",
    "NeuralVariate",
    "Penalty",
    "PolynomialVariate",
    "ReducedSpace",
    "Space",
    "Variate",
    "task_matrix",
]
