"""What control variates may be: kernels, polynomials and other bases, neural networks (paper, sections 3.2 and C)."""

from .basis import BasisVariate, PolynomialVariate
from .kernel import KernelVariate, ModelVariate
from .neural import NeuralSpace, NeuralVariate
from .space import Dual, FeatureSpace, LinearSpace, Penalty, ReducedSpace, Space
from .variate import Rung, Variate, task_matrix

__all__ = [
    "BasisVariate",
    "Dual",
    "FeatureSpace",
    "KernelVariate",
    "LinearSpace",
    "ModelVariate",
    "NeuralSpace",
    "NeuralVariate",
    "Penalty",
    "PolynomialVariate",
    "ReducedSpace",
    "Rung",
    "Space",
    "Variate",
    "task_matrix",
]
